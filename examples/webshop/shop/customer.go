package shop

import (
	"context"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Customers are those who signed in.
type Customers struct{ db *gorm.DB }

// NewCustomers returns the customers in db.
func NewCustomers(db *gorm.DB) *Customers { return &Customers{db} }

// SignIn returns the customer of this name, who is a new one if need be.
func (c *Customers) SignIn(ctx context.Context, name string) (customer Customer, err error) {
	customer.Name = name
	// An upsert that changes nothing, so that the row's id comes back also when the
	// customer was there.
	err = c.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "name"}},
		DoUpdates: clause.AssignmentColumns([]string{"name"}),
	}).Create(&customer).Error
	return customer, err
}
