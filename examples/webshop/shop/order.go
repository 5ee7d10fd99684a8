package shop

import (
	"context"

	"gorm.io/gorm"
)

// PageSize is how many orders a customer's list shows.
const PageSize = 10

// Orders are what customers have bought.
type Orders struct{ db *gorm.DB }

// NewOrders returns the orders in db.
func NewOrders(db *gorm.DB) *Orders { return &Orders{db} }

// Of returns the customer's newest orders, at most [PageSize], the newest first.
func (o *Orders) Of(ctx context.Context, customer int64) (orders []Order, err error) {
	err = o.db.WithContext(ctx).Preload("Lines", func(db *gorm.DB) *gorm.DB { return db.Joins("Product") }).
		Where("customer_id = ?", customer).Order("id DESC").Limit(PageSize).Find(&orders).Error
	return orders, err
}
