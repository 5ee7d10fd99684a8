// Package shop is the service code of a bookstore, as any application has it. It
// knows one *gorm.DB and nothing of replicas, sessions or routing: which server
// runs a statement is decided where the DB was opened, and whose statement it is
// stands in the context.
package shop

import "time"

// Book is what the shop sells.
type Book struct {
	ID    int64
	Title string
	Sold  int64
}

// Order is one book that a customer ordered.
type Order struct {
	ID         int64
	CustomerID int64
	BookID     int64
	Quantity   int
	CreatedAt  time.Time
}

// Line is one line of the page "my orders".
type Line struct {
	OrderID   int64
	Title     string
	Quantity  int
	CreatedAt time.Time
	// ServedBy is the name that the server gives itself (its cluster_name). It is
	// a column of the list query, so that no router can claim another.
	ServedBy string
}

// PageSize is how many orders the page "my orders" shows.
const PageSize = 20
