package shop

import (
	"context"

	"gorm.io/gorm"
)

// Catalogue is what the shop sells.
type Catalogue struct{ db *gorm.DB }

// NewCatalogue returns the catalogue in db.
func NewCatalogue(db *gorm.DB) *Catalogue { return &Catalogue{db} }

// Products returns all products by name.
func (c *Catalogue) Products(ctx context.Context) (products []Product, err error) {
	err = c.db.WithContext(ctx).Order("name").Find(&products).Error
	return products, err
}

// Product returns one product; gorm.ErrRecordNotFound: there is none.
func (c *Catalogue) Product(ctx context.Context, id int64) (p Product, err error) {
	err = c.db.WithContext(ctx).Take(&p, id).Error
	return p, err
}
