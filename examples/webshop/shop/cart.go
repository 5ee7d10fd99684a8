package shop

import (
	"context"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Carts are what customers mean to buy.
type Carts struct{ db *gorm.DB }

// NewCarts returns the carts in db.
func NewCarts(db *gorm.DB) *Carts { return &Carts{db} }

// Add puts packets of a product into the customer's cart.
func (c *Carts) Add(ctx context.Context, customer, product, quantity int64) error {
	line := CartLine{CustomerID: customer, ProductID: product, Quantity: quantity}
	return c.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "customer_id"}, {Name: "product_id"}},
		DoUpdates: clause.Assignments(map[string]any{"quantity": gorm.Expr("cart_lines.quantity + excluded.quantity")}),
	}).Omit("Product").Create(&line).Error
}

// Remove takes a product out of the customer's cart.
func (c *Carts) Remove(ctx context.Context, customer, product int64) error {
	return c.db.WithContext(ctx).Delete(&CartLine{}, "customer_id = ? AND product_id = ?", customer, product).Error
}

// Lines returns the customer's cart, with the products as they are now.
func (c *Carts) Lines(ctx context.Context, customer int64) (lines []CartLine, err error) {
	err = c.db.WithContext(ctx).Joins("Product").
		Where("cart_lines.customer_id = ?", customer).Order("cart_lines.product_id").Find(&lines).Error
	return lines, err
}
