package matrix

import (
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// updates change rows.
func updates() []*cell {
	return area("Update",
		write("Update", func(p *probe) { p.rows(1, p.db.Model(&author{ID: 1}).Update("age", 41)) }),
		write("Update by conditions", func(p *probe) { p.rows(2, p.db.Model(&author{}).Where("age > ?", 45).Update("age", 99)) }),
		write("Updates of a struct", func(p *probe) { p.rows(1, p.db.Model(&author{ID: 1}).Updates(author{Name: "Anna", Age: 41})) }),
		write("Updates of a map", func(p *probe) { p.rows(1, p.db.Model(&author{ID: 1}).Updates(map[string]any{"name": "Anna"})) }),
		write("Updates with Select", func(p *probe) {
			p.rows(1, p.db.Model(&author{ID: 1}).Select("Name", "Age").Updates(author{Name: "Anna"}))
		}),
		write("Updates with Omit", func(p *probe) {
			p.rows(1, p.db.Model(&author{ID: 1}).Omit("Age").Updates(author{Name: "Anna", Age: 1}))
		}),
		write("UpdateColumn", func(p *probe) { p.rows(1, p.db.Model(&author{ID: 1}).UpdateColumn("age", 41)) }),
		write("UpdateColumns", func(p *probe) { p.rows(1, p.db.Model(&author{ID: 1}).UpdateColumns(author{Age: 41})) }),
		write("Update with an expression", func(p *probe) { p.rows(1, p.db.Model(&author{ID: 1}).Update("age", gorm.Expr("age + ?", 1))) }),
		write("Update with a sub-query", func(p *probe) {
			p.rows(1, p.db.Model(&book{ID: 1}).Update("title", p.db.Model(&author{}).Select("name").Where("id = 1")))
		}),
		write("Update with Returning", func(p *probe) {
			var changed []author
			p.rows(3, p.db.Model(&changed).Clauses(clause.Returning{}).Where("age > 0").Update("age", gorm.Expr("age + 1")))
			require.Len(p, changed, 3)
		}),
		write("Update in a Table", func(p *probe) { p.rows(3, p.db.Table("authors").Where("id > 0").Update("age", 1)) }),
		write("Update of all", func(p *probe) {
			p.rows(3, p.db.Session(&gorm.Session{AllowGlobalUpdate: true}).Model(&author{}).Update("age", 1))
		}),
		write("Update with a clause.Set", func(p *probe) {
			p.rows(1, p.db.Model(&author{}).Where("id = 1").Clauses(clause.Set{{Column: clause.Column{Name: "age"}, Value: 1}}).Updates(map[string]any{}))
		}),
		write("Updates with an association", func(p *probe) { p.rows(1, p.db.Updates(&author{ID: 1, Age: 41, Books: []book{{Title: "x"}}})) }),
		none("Update of all, forbidden", func(p *probe) {
			require.ErrorIs(p, p.db.Session(&gorm.Session{SkipDefaultTransaction: true}).Model(&author{}).Update("age", 1).Error, gorm.ErrMissingWhereClause)
		}).with(func(c *cell) { c.unseen = true }),
		mixed("Update, then Find", `PR`, func(p *probe) {
			p.rows(1, p.db.Model(&author{ID: 1}).Update("age", 77))
			var a author
			p.rows(1, p.db.First(&a, 1))
			require.Equal(p, 77, a.Age)
		}),
	)
}

// deletes delete, softly too.
func deletes() []*cell {
	return area("Delete",
		write("Delete", func(p *probe) { p.rows(1, p.db.Delete(&book{ID: 1})) }),
		write("Delete by key", func(p *probe) { p.rows(1, p.db.Delete(&book{}, 1)) }),
		write("Delete by conditions", func(p *probe) { p.rows(2, p.db.Where("price > ?", 15).Delete(&book{})) }),
		write("Delete a slice", func(p *probe) { p.rows(2, p.db.Delete(&[]book{{ID: 1}, {ID: 2}})) }),
		write("Delete with Returning", func(p *probe) {
			var gone []book
			p.rows(2, p.db.Clauses(clause.Returning{}).Where("price > ?", 15).Delete(&gone))
			require.Len(p, gone, 2)
		}),
		write("Delete softly", func(p *probe) { p.rows(1, p.db.Delete(&article{ID: 1})) }),
		write("Delete what is deleted softly, Unscoped", func(p *probe) { p.rows(1, p.db.Unscoped().Delete(&article{ID: 2})) }),
		write("Delete with its has one and has many", func(p *probe) { p.rows(1, p.db.Select("Profile", "Books").Delete(&author{ID: 1})) }).with(unordered),
		write("Delete with its many to many", func(p *probe) { p.rows(1, p.db.Select("Tags").Delete(&book{ID: 1})) }),
		write("Delete with all associations", func(p *probe) { p.rows(1, p.db.Select(clause.Associations).Delete(&author{ID: 1})) }).with(unordered),
		write("Delete from a Table", func(p *probe) { p.rows(1, p.db.Table("books").Where("id = 1").Delete(nil)) }),
		mixed("Delete, then Find", `PR`, func(p *probe) {
			p.rows(1, p.db.Delete(&book{ID: 1}))
			p.rows(2, p.db.Find(&[]book{}))
		}),
	)
}

// unordered: GORM keeps in a map what Select names.
func unordered(c *cell) { c.anyOrder = true }

// readThenWrite are helpers that look before they write: on a replica they would act on what is stale.
func readThenWrite() []*cell {
	return area("Read, then write",
		write("FirstOrCreate, found", func(p *probe) { p.rows(0, p.db.Where(author{Name: "Ann"}).FirstOrCreate(&author{})) }),
		write("FirstOrCreate, not found", func(p *probe) { p.rows(1, p.db.Where(author{Name: "Dee"}).FirstOrCreate(&author{})) }),
		write("FirstOrCreate with Attrs", func(p *probe) {
			p.rows(1, p.db.Where(author{Name: "Dee"}).Attrs(author{Age: 1}).FirstOrCreate(&author{}))
		}),
		write("FirstOrCreate with Assign, found", func(p *probe) {
			p.rows(1, p.db.Where(author{Name: "Ann"}).Assign(author{Age: 1}).FirstOrCreate(&author{}))
		}),
		write("FirstOrCreate with Assign, not found", func(p *probe) {
			p.rows(1, p.db.Where(author{Name: "Dee"}).Assign(author{Age: 1}).FirstOrCreate(&author{}))
		}),
		write("FirstOrCreate with inline conditions", func(p *probe) { p.rows(1, p.db.FirstOrCreate(&author{}, author{Name: "Dee"})) }),
		write("FirstOrCreate with Preload", func(p *probe) {
			p.ok(p.db.Preload("Books").Where(author{Name: "Ann"}).FirstOrCreate(&author{}).Error)
		}),
		write("FirstOrCreate in a transaction", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error { return tx.Where(author{Name: "Dee"}).FirstOrCreate(&author{}).Error }))
		}),
		mixed("FirstOrInit, then Save", `PP`, func(p *probe) {
			var a author
			p.ok(p.db.Where(author{Name: "Dee"}).FirstOrInit(&a).Error)
			p.rows(1, p.db.Save(&a))
		}),
		mixed("First, then Updates", `RP`, func(p *probe) {
			var a author
			p.rows(1, p.db.First(&a, 1))
			p.rows(1, p.db.Model(&a).Updates(map[string]any{"age": a.Age + 1}))
		}),
		mixed("FindInBatches that updates", `RPRP`, func(p *probe) {
			var batch []author
			p.ok(p.db.FindInBatches(&batch, 2, func(tx *gorm.DB, _ int) error {
				for i := range batch {
					batch[i].Age++
				}
				return tx.Save(&batch).Error
			}).Error)
		}).with(independent),
		mixed("FindInBatches that begins a transaction", `RP+RP+`, func(p *probe) {
			p.ok(p.db.FindInBatches(&[]author{}, 2, func(tx *gorm.DB, _ int) error {
				return tx.Transaction(func(tx *gorm.DB) error {
					if err := tx.Find(&[]book{}).Error; err != nil {
						return err
					}
					return tx.Model(&book{ID: 1}).Update("price", 1).Error
				})
			}).Error)
		}).with(independent),
	)
}
