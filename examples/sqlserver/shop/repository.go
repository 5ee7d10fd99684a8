package shop

import (
	"context"
	"time"

	"gorm.io/gorm"
)

// Repository stores and lists orders.
type Repository struct{ db *gorm.DB }

// New returns a repository over db.
func New(db *gorm.DB) *Repository { return &Repository{db: db} }

// Place stores an order and sets its ID: GORM reads it from OUTPUT.
func (r *Repository) Place(ctx context.Context, o *Order) error {
	o.PlacedAt = time.Now().UTC()
	return r.db.WithContext(ctx).Create(o).Error
}

// PlaceAndCount stores an order and counts the book as sold, both or neither.
func (r *Repository) PlaceAndCount(ctx context.Context, o *Order) error {
	o.PlacedAt = time.Now().UTC()
	return r.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(o).Error; err != nil {
			return err
		}
		return tx.Model(&Book{ID: o.BookID}).UpdateColumns(map[string]any{
			"sold": gorm.Expr("sold + ?", o.Quantity), "stock": gorm.Expr("stock - ?", o.Quantity),
		}).Error
	})
}

// PlaceBySQL stores an order with SQL text of its own. What returns rows looks like a
// read to GORM, and to anybody who tells reads from writes by how they are sent.
func (r *Repository) PlaceBySQL(ctx context.Context, o *Order) error {
	return r.db.WithContext(ctx).Raw(
		"INSERT INTO orders (customer_id, book_id, quantity, placed_at) OUTPUT INSERTED.id, INSERTED.placed_at VALUES (?, ?, ?, ?)",
		o.CustomerID, o.BookID, o.Quantity, time.Now().UTC(),
	).Scan(o).Error
}

// PlaceQuickly stores an order without a transaction around the single INSERT.
func (r *Repository) PlaceQuickly(ctx context.Context, o *Order) error {
	o.PlacedAt = time.Now().UTC()
	return r.db.Session(&gorm.Session{SkipDefaultTransaction: true, Context: ctx}).Create(o).Error
}

// by are the columns of [Server]. DATABASEPROPERTYEX returns a sql_variant.
const by = ", @@SERVERNAME AS served_by, CONVERT(varchar(20), DATABASEPROPERTYEX(DB_NAME(), 'Updateability')) AS updateability"

// Orders returns the newest orders of a customer, at most [PageSize], the newest
// first.
func (r *Repository) Orders(ctx context.Context, customer int64) (lines []Line, err error) {
	err = r.db.WithContext(ctx).Table("orders").
		Select("orders.id AS order_id, books.title, orders.quantity"+by).
		Joins("JOIN books ON books.id = orders.book_id").
		Where("orders.customer_id = ?", customer).
		Order("orders.id DESC").Limit(PageSize).
		Find(&lines).Error
	return lines, err
}

// Book returns a book as it is on the server that is asked.
func (r *Repository) Book(ctx context.Context, id int64) (b Book, err error) {
	err = r.db.WithContext(ctx).Take(&b, id).Error
	return b, err
}

// Report returns the books that sold best.
func (r *Repository) Report(ctx context.Context) (sales []Sales, err error) {
	err = r.db.WithContext(ctx).Table("books").Select("title, sold" + by).
		Where("sold > 0").Order("sold DESC, id").Limit(10).Find(&sales).Error
	return sales, err
}
