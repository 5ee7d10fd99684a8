package shop

import (
	"context"

	"gorm.io/gorm"
)

// Repository stores and lists orders.
type Repository struct{ db *gorm.DB }

// New returns a repository over db.
func New(db *gorm.DB) *Repository { return &Repository{db: db} }

// Place stores an order and sets its ID.
func (r *Repository) Place(ctx context.Context, o *Order) error {
	return r.db.WithContext(ctx).Create(o).Error
}

// PlaceAndCount stores an order and counts the book as sold, both or neither.
func (r *Repository) PlaceAndCount(ctx context.Context, o *Order) error {
	return r.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(o).Error; err != nil {
			return err
		}
		return tx.Model(&Book{ID: o.BookID}).UpdateColumn("sold", gorm.Expr("sold + ?", o.Quantity)).Error
	})
}

// PlaceBySQL stores an order with SQL text of its own. What returns rows looks
// like a read to GORM, and it commits only when its rows are closed.
func (r *Repository) PlaceBySQL(ctx context.Context, o *Order) error {
	return r.db.WithContext(ctx).Raw(
		"INSERT INTO orders (customer_id, book_id, quantity) VALUES (?, ?, ?) RETURNING id, created_at",
		o.CustomerID, o.BookID, o.Quantity,
	).Scan(o).Error
}

// PlaceQuickly stores an order without a transaction around the single INSERT.
func (r *Repository) PlaceQuickly(ctx context.Context, o *Order) error {
	return r.db.Session(&gorm.Session{SkipDefaultTransaction: true, Context: ctx}).Create(o).Error
}

// Orders returns the newest orders of a customer, at most [PageSize], the newest
// first.
func (r *Repository) Orders(ctx context.Context, customer int64) (lines []Line, err error) {
	err = r.db.WithContext(ctx).Table("orders").
		Select("orders.id AS order_id, books.title, orders.quantity, orders.created_at, current_setting('cluster_name') AS served_by").
		Joins("JOIN books ON books.id = orders.book_id").
		Where("orders.customer_id = ?", customer).
		Order("orders.id DESC").Limit(PageSize).
		Find(&lines).Error
	return lines, err
}

// Correct overwrites an order.
func (r *Repository) Correct(ctx context.Context, o *Order) error {
	return r.db.WithContext(ctx).Save(o).Error
}

// Cancel removes an order.
func (r *Repository) Cancel(ctx context.Context, id int64) error {
	return r.db.WithContext(ctx).Delete(&Order{}, id).Error
}

// Recount sets how often each book was sold.
func (r *Repository) Recount(ctx context.Context) error {
	return r.db.WithContext(ctx).Exec(
		"UPDATE books SET sold = (SELECT coalesce(sum(quantity), 0) FROM orders WHERE book_id = books.id)").Error
}
