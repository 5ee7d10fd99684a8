// Package shop is the service code of a tea shop: catalogue, customers, carts,
// checkout, orders and a report. It is written as any application with GORM is. Each
// method takes the context of a request, and each repository has one *gorm.DB: which
// server runs a statement, and whose statement it is, are not its business.
package shop

import (
	"errors"
	"fmt"
	"time"
)

// Customer is somebody who signed in.
type Customer struct {
	ID   int64
	Name string `gorm:"not null;uniqueIndex"`
}

// Product is a tea, by the packet.
type Product struct {
	ID    int64
	Name  string `gorm:"not null"`
	Kind  string `gorm:"not null"` // black, green, oolong, white or herbal
	Blurb string `gorm:"not null"`
	Cents int64  `gorm:"not null"`
	Stock int64  `gorm:"not null;check:stock >= 0"`
}

// CartLine is a product in a customer's cart.
type CartLine struct {
	CustomerID int64 `gorm:"primaryKey;autoIncrement:false"`
	ProductID  int64 `gorm:"primaryKey;autoIncrement:false"`
	Quantity   int64 `gorm:"not null;check:quantity > 0"`
	Product    Product
}

// Cents is what the line costs.
func (l CartLine) Cents() int64 { return l.Quantity * l.Product.Cents }

// Order is what a customer has bought.
type Order struct {
	ID         int64
	CustomerID int64 `gorm:"not null;index:orders_of_customer"`
	// Key is chosen by the form that was sent. A form that is sent twice, because its
	// answer was lost, is one order.
	Key      string    `gorm:"not null;uniqueIndex"`
	Cents    int64     `gorm:"not null"`
	PlacedAt time.Time `gorm:"not null;autoCreateTime"`
	Lines    []OrderLine
}

// OrderLine is one product of an order, at the price of that day.
type OrderLine struct {
	OrderID   int64 `gorm:"primaryKey;autoIncrement:false"`
	ProductID int64 `gorm:"primaryKey;autoIncrement:false"`
	Quantity  int64 `gorm:"not null"`
	Cents     int64 `gorm:"not null"` // of all of them
	Product   Product
}

// ErrCartEmpty is the end of a checkout with nothing to buy.
var ErrCartEmpty = errors.New("shop: the cart is empty")

// SoldOutError is the end of a checkout that asks for more than there is.
type SoldOutError struct {
	Product string
	Left    int64
}

func (e *SoldOutError) Error() string {
	return fmt.Sprintf("shop: %d packets of %s are left", e.Left, e.Product)
}
