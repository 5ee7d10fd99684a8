package overhead

import (
	"fmt"

	"gorm.io/gorm"
)

// Case is one thing that an application does.
type Case struct {
	Name string
	Op   func(db *gorm.DB) error
}

// Cases are what is measured.
var Cases = []Case{
	{"First", func(db *gorm.DB) error { return db.First(&Order{}, 7).Error }},
	{"Find10", func(db *gorm.DB) error {
		var orders []Order
		return db.Where("customer_id = ?", 7).Limit(10).Find(&orders).Error
	}},
	{"RawScan", func(db *gorm.DB) error {
		var order Order
		return db.Raw("SELECT id, customer_id, note FROM orders WHERE id = ?", 7).Scan(&order).Error
	}},
	{"Create", func(db *gorm.DB) error { return db.Create(&Order{CustomerID: 7, Note: "blue"}).Error }},
	{"Transaction", func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			if err := tx.First(&Order{}, 7).Error; err != nil {
				return err
			}
			return tx.Create(&Order{CustomerID: 7, Note: "blue"}).Error
		})
	}},
}

// ShortText and LongText are the same but for their texts: what the longer one takes more
// is what it takes to find out that it is a read. It calls functions of the server and,
// [OwnFunction], of the application.
var (
	ShortText = raw("ShortText", "SELECT id, customer_id, note FROM orders WHERE id = ?")
	LongText  = raw("LongText", longText)
)

const longText = "SELECT id, customer_id, note FROM orders WHERE id = ? AND upper(note) <> lower(note) AND " + OwnFunction + "(customer_id) >= 0 " +
	"AND date_trunc('day', now()) <= now() + interval '30 days' AND coalesce(note, '') LIKE 'two%' ORDER BY coalesce(id, 0)"

// OwnFunction is what CreateOwnFunction makes.
const OwnFunction = "bench_total"

// CreateOwnFunction makes a function that only reads, as the database's catalogue says.
const CreateOwnFunction = "CREATE OR REPLACE FUNCTION " + OwnFunction + "(bigint) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT $1'"

func raw(name, text string) Case {
	return Case{name, func(db *gorm.DB) error {
		var order Order
		return db.Raw(text, 7).Scan(&order).Error
	}}
}

// ReadAfterWrite is a write and a read of what was written.
var ReadAfterWrite = Case{"ReadAfterWrite", func(db *gorm.DB) error {
	if err := db.Create(&Order{CustomerID: 7, Note: "blue"}).Error; err != nil {
		return err
	}
	return db.First(&Order{}, 7).Error
}}

// Times returns an operation that runs c on o n times.
func (c Case) Times(o *Opened) func(n int) {
	return func(n int) {
		for range n {
			if err := c.Op(o.DB); err != nil {
				panic(fmt.Sprintf("%s by %s: %s", c.Name, o.Name(), err))
			}
		}
	}
}
