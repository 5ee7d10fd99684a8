package matrix

import (
	"database/sql"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// finders are the methods of the classic API that return models.
func finders() []*cell {
	return area("Find",
		read("First", func(p *probe) { p.rows(1, p.db.First(&author{})) }),
		read("First by key", func(p *probe) { p.rows(1, p.db.First(&author{}, 2)) }),
		read("First by a key of text", func(p *probe) { p.rows(1, p.db.First(&author{}, "id = ?", 2)) }),
		read("First, nothing there", func(p *probe) {
			require.ErrorIs(p, p.db.First(&author{}, 999).Error, gorm.ErrRecordNotFound)
		}),
		read("First of a table into a map", func(p *probe) {
			m := map[string]any{}
			p.rows(1, p.db.Model(&author{}).First(&m))
			require.Equal(p, "Ann", m["name"])
		}),
		read("Take", func(p *probe) { p.rows(1, p.db.Take(&author{})) }),
		read("Take from a Table", func(p *probe) { p.rows(1, p.db.Table("authors").Take(&map[string]any{})) }),
		read("Last", func(p *probe) { p.rows(1, p.db.Last(&author{})) }),
		read("Find", func(p *probe) { p.rows(3, p.db.Find(&[]author{})) }),
		read("Find with inline conditions", func(p *probe) { p.rows(2, p.db.Find(&[]author{}, "age > ?", 45)) }),
		read("Find by keys", func(p *probe) { p.rows(2, p.db.Find(&[]author{}, []int64{1, 3})) }),
		read("Find by the key of the model", func(p *probe) { p.rows(1, p.db.Find(&author{ID: 2})) }),
		read("Find one with Limit", func(p *probe) { p.rows(1, p.db.Limit(1).Find(&author{})) }),
		read("Find into a map", func(p *probe) { p.rows(3, p.db.Model(&author{}).Find(&[]map[string]any{})) }),
		read("Find into a smaller struct", func(p *probe) {
			p.rows(3, p.db.Model(&author{}).Find(&[]struct{ Name string }{}))
		}),
		read("Where a struct", func(p *probe) { p.rows(1, p.db.Where(&author{Name: "Ann"}).Find(&[]author{})) }),
		read("Where a map", func(p *probe) { p.rows(1, p.db.Where(map[string]any{"name": "Ann"}).Find(&[]author{})) }),
		read("Where with a named argument", func(p *probe) {
			p.rows(1, p.db.Where("name = @n", sql.Named("n", "Ann")).Find(&[]author{}))
		}),
		read("Where with a group of conditions", func(p *probe) {
			p.rows(2, p.db.Where(p.db.Where("age = 40").Or("age = 50")).Find(&[]author{}))
		}),
		read("Not, Or", func(p *probe) { p.rows(2, p.db.Not("name = ?", "Ann").Or("age > ?", 50).Find(&[]author{})) }),
		read("Order, Limit, Offset", func(p *probe) {
			p.rows(1, p.db.Order("age desc").Limit(1).Offset(1).Find(&[]author{}))
		}),
		read("Select columns", func(p *probe) { p.rows(3, p.db.Select("name", "age").Find(&[]author{})) }),
		read("Select an expression", func(p *probe) {
			p.rows(3, p.db.Select("name, coalesce(age, ?) as age", 1).Find(&[]author{}))
		}),
		read("Omit", func(p *probe) { p.rows(3, p.db.Omit("age").Find(&[]author{})) }),
		read("Distinct", func(p *probe) { p.rows(2, p.db.Model(&book{}).Distinct("author_id").Find(&[]map[string]any{})) }),
		read("Group and Having", func(p *probe) {
			p.rows(1, p.db.Model(&book{}).Select("author_id, sum(price) as total").Group("author_id").
				Having("count(*) > ?", 1).Find(&[]map[string]any{}))
		}),
		read("a sub-query in Where", func(p *probe) {
			p.rows(2, p.db.Where("price > (?)", p.db.Model(&book{}).Select("min(price)")).Find(&[]book{}))
		}),
		read("a sub-query in Table", func(p *probe) {
			p.rows(3, p.db.Table("(?) as b", p.db.Model(&book{}).Select("title")).Find(&[]map[string]any{}))
		}),
		read("Table with an alias", func(p *probe) { p.rows(3, p.db.Table("books AS b").Where("b.price > 0").Find(&[]book{})) }),
		read("Table with a schema", func(p *probe) { p.rows(3, p.db.Table("public.books").Find(&[]map[string]any{})) }),
		read("a view", func(p *probe) { p.rows(3, p.db.Table("book_list").Find(&[]map[string]any{})) }),
		read("MapColumns", func(p *probe) {
			var found []struct{ Nickname string }
			p.rows(3, p.db.Table("authors").Select("name").MapColumns(map[string]string{"name": "nickname"}).Find(&found))
			require.Equal(p, "Ann", found[0].Nickname)
		}),
		read("Scopes", func(p *probe) {
			old := func(db *gorm.DB) *gorm.DB { return db.Where("age > ?", 45) }
			p.rows(2, p.db.Scopes(old).Find(&[]author{}))
		}),
		read("a clause as condition", func(p *probe) {
			p.rows(1, p.db.Clauses(clause.Eq{Column: "name", Value: "Ann"}).Find(&[]author{}))
		}),
		read("Find what is deleted softly", func(p *probe) { p.rows(1, p.db.Find(&[]article{})) }),
		read("Unscoped", func(p *probe) { p.rows(2, p.db.Unscoped().Find(&[]article{})) }),
		read("FindInBatches", func(p *probe) {
			var batch []author
			seen := 0
			p.rows(3, p.db.FindInBatches(&batch, 2, func(*gorm.DB, int) error { seen += len(batch); return nil }))
			require.Equal(p, 3, seen)
		}).with(independent),
		read("FindInBatches with Limit and Where", func(p *probe) {
			p.rows(2, p.db.Where("age > 0").Limit(2).FindInBatches(&[]author{}, 1, func(*gorm.DB, int) error { return nil }))
		}).with(independent),
		read("FindInBatches that reads", func(p *probe) {
			p.ok(p.db.FindInBatches(&[]author{}, 2, func(tx *gorm.DB, _ int) error { return tx.Find(&[]book{}).Error }).Error)
		}).with(independent),
		write("FirstOrInit, found", func(p *probe) { p.rows(1, p.db.Where(author{Name: "Ann"}).FirstOrInit(&author{})) }).with(likelyWrite),
		write("FirstOrInit, not found, with Attrs and Assign", func(p *probe) {
			var a author
			p.ok(p.db.Where(author{Name: "Dee"}).Attrs(author{Age: 1}).Assign(author{Age: 2}).FirstOrInit(&a).Error)
			require.Equal(p, 2, a.Age)
		}).with(likelyWrite),
		mixed("First again into what it has found", `RP`, func(p *probe) {
			var a author
			p.rows(1, p.db.First(&a))
			p.rows(1, p.db.First(&a))
		}),
		read("one handle used twice", func(p *probe) {
			q := p.db.Model(&author{}).Where("age > ?", 45).Session(&gorm.Session{})
			var n int64
			p.ok(q.Count(&n).Error)
			p.rows(n, q.Find(&[]author{}))
		}).with(independent),
		read("a result handle used again", func(p *probe) {
			found := p.db.Find(&[]author{})
			p.rows(3, found)
			p.rows(3, found.Session(&gorm.Session{NewDB: true}).Find(&[]book{}))
		}).with(independent),
	)
}

// independent: the cell has several reads that have nothing to do with each other.
func independent(c *cell) { c.apart = true }

// scans are the methods that return values.
func scans() []*cell {
	return area("Count, Pluck, Scan, Row, Rows",
		read("Count", func(p *probe) {
			var n int64
			p.ok(p.db.Model(&author{}).Where("age > ?", 45).Count(&n).Error)
			require.EqualValues(p, 2, n)
		}),
		read("Count of a Table", func(p *probe) {
			var n int64
			p.ok(p.db.Table("books").Count(&n).Error)
		}),
		read("Count with Distinct", func(p *probe) {
			var n int64
			p.ok(p.db.Model(&book{}).Distinct("author_id").Count(&n).Error)
			require.EqualValues(p, 2, n)
		}),
		read("Count with Group", func(p *probe) {
			var n int64
			p.ok(p.db.Model(&book{}).Group("author_id").Count(&n).Error)
			require.EqualValues(p, 2, n)
		}),
		read("Pluck", func(p *probe) { p.rows(3, p.db.Model(&author{}).Pluck("name", &[]string{})) }),
		read("Pluck with Distinct", func(p *probe) { p.rows(2, p.db.Model(&book{}).Distinct().Pluck("author_id", &[]int64{})) }),
		read("Scan", func(p *probe) { p.rows(3, p.db.Model(&author{}).Select("name").Scan(&[]struct{ Name string }{})) }),
		read("Scan a value", func(p *probe) {
			var oldest int
			p.rows(1, p.db.Model(&author{}).Select("max(age)").Scan(&oldest))
			require.Equal(p, 60, oldest)
		}),
		read("Scan into a map", func(p *probe) { p.rows(3, p.db.Table("authors").Scan(&[]map[string]any{})) }),
		read("whether there is one", func(p *probe) {
			var there bool
			p.ok(p.db.Model(&author{}).Select("count(*) > 0").Where("name = ?", "Ann").Find(&there).Error)
			require.True(p, there)
		}),
		read("Row", func(p *probe) {
			var name string
			p.ok(p.db.Model(&author{}).Where("id = ?", 1).Select("name").Row().Scan(&name))
			require.Equal(p, "Ann", name)
		}),
		read("Row, nothing there", func(p *probe) {
			require.ErrorIs(p, p.db.Model(&author{}).Where("id = ?", 999).Select("name").Row().Scan(new(string)), sql.ErrNoRows)
		}),
		read("Rows and ScanRows", func(p *probe) {
			rows, err := p.db.Model(&author{}).Rows()
			p.ok(err)
			seen := 0
			for rows.Next() {
				p.ok(p.db.ScanRows(rows, &author{}))
				seen++
			}
			p.ok(rows.Err())
			p.ok(rows.Close())
			require.Equal(p, 3, seen)
		}),
		read("Rows, closed before their end", func(p *probe) {
			rows, err := p.db.Model(&author{}).Rows()
			p.ok(err)
			require.True(p, rows.Next())
			p.ok(rows.Close())
		}),
		read("Rows, and a read while they are open", func(p *probe) {
			rows, err := p.db.Model(&author{}).Rows()
			p.ok(err)
			require.True(p, rows.Next())
			p.rows(3, p.db.Find(&[]book{}))
			p.ok(rows.Close())
		}).with(independent),
	)
}
