package shop

import (
	"context"

	"gorm.io/gorm"
)

// Report is what the shop's owner looks at.
type Report struct {
	Orders, Packets, Cents int64
	Best                   []Sold `gorm:"-"`
}

// Sold is how much of a product was sold.
type Sold struct {
	Name           string
	Kind           string
	Packets, Cents int64
}

// Reports are made from all orders.
type Reports struct{ db *gorm.DB }

// NewReports returns the reports over db.
func NewReports(db *gorm.DB) *Reports { return &Reports{db} }

// Sales adds up all orders and names the ten products that brought most.
func (r *Reports) Sales(ctx context.Context) (report Report, err error) {
	db := r.db.WithContext(ctx)
	err = db.Model(&Order{}).Select("count(*) AS orders, coalesce(sum(cents), 0) AS cents").Scan(&report).Error
	if err != nil {
		return Report{}, err
	}
	err = db.Model(&OrderLine{}).Select("products.name, products.kind, sum(order_lines.quantity) AS packets, sum(order_lines.cents) AS cents").
		Joins("JOIN products ON products.id = order_lines.product_id").
		Group("products.id").Order("cents DESC, products.name").Limit(10).Scan(&report.Best).Error
	if err != nil {
		return Report{}, err
	}
	err = db.Model(&OrderLine{}).Select("coalesce(sum(quantity), 0)").Scan(&report.Packets).Error
	return report, err
}
