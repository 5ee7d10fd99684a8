package shop

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// batch keeps a statement below the 2,100 parameters that SQL Server takes.
const batch = 400

// Stock is how much a new shop is filled with.
type Stock struct {
	Books, Customers int
}

// Create makes the tables where they are not, and fills them where they are empty. Each
// customer has one order already.
func Create(ctx context.Context, db *gorm.DB, s Stock) error {
	db = db.WithContext(ctx)
	if err := db.AutoMigrate(&Book{}, &Order{}); err != nil {
		return fmt.Errorf("shop: make the tables: %w", err)
	}
	var found int64
	if err := db.Model(&Order{}).Count(&found).Error; err != nil || found > 0 {
		return err
	}
	books := make([]Book, s.Books)
	for i := range books {
		books[i] = Book{Title: fmt.Sprintf("Book %d", i+1), Stock: 1_000_000}
	}
	orders := make([]Order, s.Customers)
	for i := range orders {
		orders[i] = Order{CustomerID: int64(i + 1), BookID: int64(1 + i%s.Books), Quantity: 1, PlacedAt: time.Now().UTC()}
	}
	if err := db.CreateInBatches(books, batch).Error; err != nil {
		return fmt.Errorf("shop: fill it with books: %w", err)
	}
	if err := db.CreateInBatches(orders, batch).Error; err != nil {
		return fmt.Errorf("shop: fill it with orders: %w", err)
	}
	return nil
}
