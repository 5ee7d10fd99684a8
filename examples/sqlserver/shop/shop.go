// Package shop is the service code of a book shop on SQL Server, as any application with
// GORM has it. It knows one *gorm.DB and nothing of replicas, sessions or routing: which
// server runs a statement is decided where the DB was opened, and whose statement it is
// stands in the context.
package shop

import "time"

// Book is what the shop sells.
type Book struct {
	ID    int64
	Title string `gorm:"size:100;not null"`
	Stock int64  `gorm:"not null"`
	Sold  int64  `gorm:"not null"`
}

// Order is one book that a customer ordered.
type Order struct {
	ID         int64
	CustomerID int64     `gorm:"not null;index:orders_of_customer"`
	BookID     int64     `gorm:"not null"`
	Quantity   int       `gorm:"not null"`
	PlacedAt   time.Time `gorm:"not null"`
}

// Line is one line of the page "my orders".
type Line struct {
	OrderID  int64
	Title    string
	Quantity int
	Server
}

// Sales is one line of the report.
type Sales struct {
	Title string
	Sold  int64
	Server
}

// Server is who answered, as columns of the query itself: a shop that has no wish to
// show what its plugin does has no need of them.
type Server struct {
	// ServedBy is the name that the server gives itself.
	ServedBy string
	// Updateability is READ_WRITE on a primary and READ_ONLY on a secondary.
	Updateability string
}

// PageSize is how many orders the page "my orders" shows.
const PageSize = 20
