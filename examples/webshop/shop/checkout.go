package shop

import (
	"context"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Checkout turns what somebody means to buy into an order.
type Checkout struct {
	db    *gorm.DB
	carts *Carts
}

// NewCheckout returns the checkout of db.
func NewCheckout(db *gorm.DB) *Checkout { return &Checkout{db, NewCarts(db)} }

// Cart orders what is in the customer's cart, and empties it. A key that was there
// before returns the order that it belongs to.
func (c *Checkout) Cart(ctx context.Context, customer int64, key string) (Order, error) {
	lines, err := c.carts.Lines(ctx, customer)
	if err != nil {
		return Order{}, err
	}
	return c.place(ctx, customer, key, lines, func(tx *gorm.DB) error {
		return tx.Delete(&CartLine{}, "customer_id = ?", customer).Error
	})
}

// One orders packets of one product, whatever is in the cart.
func (c *Checkout) One(ctx context.Context, customer int64, key string, product, quantity int64) (Order, error) {
	var p Product
	if err := c.db.WithContext(ctx).Take(&p, product).Error; err != nil {
		return Order{}, err
	}
	lines := []CartLine{{CustomerID: customer, ProductID: product, Quantity: quantity, Product: p}}
	return c.place(ctx, customer, key, lines, func(*gorm.DB) error { return nil })
}

// place looks at the stock, and books the order in one transaction.
func (c *Checkout) place(ctx context.Context, customer int64, key string, lines []CartLine, then func(tx *gorm.DB) error) (Order, error) {
	order := Order{CustomerID: customer, Key: key}
	for _, line := range lines {
		if line.Quantity > line.Product.Stock {
			return Order{}, &SoldOutError{line.Product.Name, line.Product.Stock}
		}
		order.Cents += line.Cents()
		order.Lines = append(order.Lines, OrderLine{ProductID: line.ProductID, Quantity: line.Quantity, Cents: line.Cents()})
	}
	err := c.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		inserted := tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "key"}}, DoNothing: true}).
			Omit("Lines").Create(&order)
		switch {
		case inserted.Error != nil:
			return inserted.Error
		case inserted.RowsAffected == 0: // the form was sent before
			order = Order{}
			return tx.Preload("Lines").Take(&order, "key = ? AND customer_id = ?", key, customer).Error
		case len(order.Lines) == 0:
			return ErrCartEmpty
		}
		for i := range order.Lines {
			line := &order.Lines[i]
			line.OrderID = order.ID
			// Somebody may have been faster since the stock was looked at.
			took := tx.Model(&Product{}).Where("id = ? AND stock >= ?", line.ProductID, line.Quantity).
				UpdateColumn("stock", gorm.Expr("stock - ?", line.Quantity))
			if took.Error != nil {
				return took.Error
			}
			if took.RowsAffected == 0 {
				return &SoldOutError{lines[i].Product.Name, 0}
			}
		}
		if err := tx.Omit("Product").Create(&order.Lines).Error; err != nil {
			return err
		}
		return then(tx)
	})
	if err != nil {
		return Order{}, err
	}
	return order, nil
}
