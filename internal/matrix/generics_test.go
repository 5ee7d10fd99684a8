package matrix

import (
	"strings"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// generics are the methods of gorm.G.
func generics() []*cell {
	authors := func(p *probe) gorm.Interface[author] { return gorm.G[author](p.db) }
	books := func(p *probe) gorm.Interface[book] { return gorm.G[book](p.db) }
	done := func(p *probe) func(v any, err error) { return func(_ any, err error) { p.ok(err) } }
	affected := func(p *probe, want int) func(n int, err error) {
		return func(n int, err error) { p.ok(err); require.Equal(p, want, n) }
	}
	return append(area("Generics, reads",
		read("First", func(p *probe) { done(p)(authors(p).First(p.ctx)) }),
		read("Take", func(p *probe) { done(p)(authors(p).Where("name = ?", "Ann").Take(p.ctx)) }),
		read("Last", func(p *probe) { done(p)(authors(p).Last(p.ctx)) }),
		read("Find", func(p *probe) { done(p)(authors(p).Where("age > ?", 1).Order("id").Limit(2).Offset(1).Find(p.ctx)) }),
		read("First, nothing there", func(p *probe) {
			_, err := authors(p).Where("id = 999").First(p.ctx)
			require.ErrorIs(p, err, gorm.ErrRecordNotFound)
		}),
		read("Not, Or, Distinct, Select", func(p *probe) {
			done(p)(authors(p).Distinct("name").Not("name = ?", "Ann").Or("age > 50").Find(p.ctx))
		}),
		read("Group and Having", func(p *probe) {
			p.ok(books(p).Select("author_id").Group("author_id").Having("count(*) > 1").Scan(p.ctx, &[]int64{}))
		}),
		read("Count", func(p *probe) { done(p)(authors(p).Where("age > 1").Count(p.ctx, "*")) }),
		read("Scan", func(p *probe) { p.ok(authors(p).Select("name").Scan(p.ctx, &[]string{})) }),
		read("Row", func(p *probe) { p.ok(authors(p).Select("name").Row(p.ctx).Scan(new(string))) }),
		read("Rows", func(p *probe) { p.drain(authors(p).Rows(p.ctx)) }),
		read("FindInBatches", func(p *probe) {
			p.ok(authors(p).FindInBatches(p.ctx, 2, func([]author, int) error { return nil }))
		}).with(independent),
		read("Table", func(p *probe) { done(p)(authors(p).Table("authors").Find(p.ctx)) }),
		read("Scopes", func(p *probe) {
			done(p)(authors(p).Scopes(func(s *gorm.Statement) { s.Where("age > ?", 1) }).Find(p.ctx))
		}),
		read("MapColumns", func(p *probe) {
			done(p)(authors(p).MapColumns(map[string]string{"age": "name"}).Select("name").Find(p.ctx))
		}).
			with(func(c *cell) { c.call = "MapColumns and Select" }),
		read("a sub-query of generics", func(p *probe) {
			done(p)(books(p).Where("price > (?)", gorm.G[book](p.db).Select("min(price)")).Find(p.ctx))
		}),
		read("Raw", func(p *probe) { done(p)(authors(p).Raw("SELECT * FROM authors WHERE age > ?", 1).Find(p.ctx)) }),
		read("Raw by Scan", func(p *probe) { p.ok(authors(p).Raw("SELECT name FROM authors").Scan(p.ctx, &[]string{})) }),
		read("Raw by Row", func(p *probe) { p.ok(authors(p).Raw("SELECT name FROM authors").Row(p.ctx).Scan(new(string))) }),
		read("Exec of a read", func(p *probe) { p.ok(authors(p).Exec(p.ctx, "SELECT 1")) }),
		read("Preload", func(p *probe) { done(p)(authors(p).Preload("Books", nil).First(p.ctx)) }),
		read("Preload with a builder", func(p *probe) {
			done(p)(authors(p).Preload("Books", func(b gorm.PreloadBuilder) error {
				b.Select("id", "title", "author_id").Where("price > ?", 1).Order("id").Limit(1)
				return nil
			}).Find(p.ctx))
		}),
		read("Preload with LimitPerRecord", func(p *probe) {
			done(p)(authors(p).Preload("Books", func(b gorm.PreloadBuilder) error { b.LimitPerRecord(1); return nil }).Find(p.ctx))
		}),
		read("Preload nested", func(p *probe) { done(p)(authors(p).Preload("Books.Tags", nil).Find(p.ctx)) }),
		read("Joins", func(p *probe) { done(p)(books(p).Joins(clause.Has("Author"), nil).Find(p.ctx)) }),
		read("Joins with conditions", func(p *probe) {
			done(p)(books(p).Joins(clause.LeftJoin.Association("Author").As("a"), func(b gorm.JoinBuilder, j, _ clause.Table) error {
				b.Where("?.age > ?", j, 1)
				return nil
			}).Find(p.ctx))
		}),
		read("Joins a sub-query", func(p *probe) {
			done(p)(books(p).Joins(clause.LeftJoin.AssociationFrom("Author", gorm.G[author](p.db).Select("id", "name")).As("t"),
				func(b gorm.JoinBuilder, j, c clause.Table) error {
					b.Where("?.author_id = ?.id", c, j)
					return nil
				}).Find(p.ctx))
		}),
	), area("Generics, writes",
		write("Locking", func(p *probe) {
			_, err := gorm.G[author](p.db, clause.Locking{Strength: "UPDATE"}).First(p.ctx)
			p.ok(err)
		}),
		write("Create", func(p *probe) { p.ok(authors(p).Create(p.ctx, &author{Name: "Dee"})) }),
		write("Create with Select and Omit", func(p *probe) {
			p.ok(authors(p).Select("Name").Create(p.ctx, &author{Name: "Dee"}))
			p.ok(authors(p).Omit("Age").Create(p.ctx, &author{Name: "Eve"}))
		}),
		write("Create with WithResult", func(p *probe) {
			r := gorm.WithResult()
			p.ok(gorm.G[author](p.db, r).Create(p.ctx, &author{Name: "Dee"}))
			require.EqualValues(p, 1, r.RowsAffected)
		}),
		write("Create with OnConflict", func(p *probe) {
			p.ok(gorm.G[tag](p.db, clause.OnConflict{DoNothing: true}).Create(p.ctx, &tag{Name: "red"}))
		}),
		write("CreateInBatches", func(p *probe) {
			p.ok(gorm.G[tag](p.db).CreateInBatches(p.ctx, &[]tag{{Name: "a"}, {Name: "b"}, {Name: "c"}}, 2))
		}),
		write("Update", func(p *probe) { affected(p, 1)(authors(p).Where("id = ?", 1).Update(p.ctx, "age", 1)) }),
		write("Updates", func(p *probe) { affected(p, 1)(authors(p).Where("id = ?", 1).Updates(p.ctx, author{Age: 1})) }),
		write("Set, Update", func(p *probe) {
			affected(p, 1)(authors(p).Where("id = 1").Set(clause.Assignments(map[string]any{"age": 1})).Update(p.ctx))
		}),
		write("Set, Create", func(p *probe) {
			p.ok(authors(p).Set(clause.Assignments(map[string]any{"name": "Dee"})).Create(p.ctx))
		}),
		write("Delete", func(p *probe) { affected(p, 1)(authors(p).Where("id = ?", 1).Delete(p.ctx)) }),
		write("Exec", func(p *probe) { p.ok(authors(p).Exec(p.ctx, "UPDATE authors SET age = ? WHERE id = 1", 1)) }),
		write("Raw of RETURNING", func(p *probe) {
			p.ok(gorm.G[tag](p.db).Raw("INSERT INTO tags (name) VALUES (?) RETURNING id", "raw").Scan(p.ctx, new(int64)))
		}),
		write("in a transaction", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error {
				if _, err := gorm.G[author](tx).Preload("Books", nil).First(p.ctx); err != nil {
					return err
				}
				return gorm.G[author](tx).Create(p.ctx, &author{Name: "Dee"})
			}))
		}).with(func(c *cell) { c.unseen = true }),
		mixed("Create, then First", `PR`, func(p *probe) {
			p.ok(authors(p).Create(p.ctx, &author{Name: "Dee"}))
			_, err := authors(p).Where("name = ?", "Dee").First(p.ctx)
			p.ok(err)
		}),
	)...)
}

// genericSets change associations through Set: the owners are found on the primary too.
func genericSets() []*cell {
	types := []struct {
		name string
		of   clause.AssociationOpType
	}{{"Unlink", clause.OpUnlink}, {"Delete", clause.OpDelete}, {"Update", clause.OpUpdate}, {"Create", clause.OpCreate}}
	var all []*cell
	for _, a := range kinds() {
		column := map[string]string{"Profile": "bio", "Books": "title", "Author": "name", "Tags": "color", "Notes": "text", "Cover": "image"}[a.name]
		_, ofAuthor := a.owner().(*author)
		for _, op := range types {
			if op.of == clause.OpDelete && strings.HasPrefix(a.kind, "polymorphic") {
				continue // the same statements as of has one and has many
			}
			set := clause.Association{Association: a.name, Type: op.of}
			if op.of == clause.OpUpdate || op.of == clause.OpCreate {
				set.Set = []clause.Assignment{{Column: clause.Column{Name: column}, Value: "new"}}
			}
			all = append(all, write(a.kind+", "+op.name, func(p *probe) {
				var err error
				if ofAuthor {
					_, err = gorm.G[author](p.db).Where("id = ?", 1).Set(set).Update(p.ctx)
				} else {
					_, err = gorm.G[book](p.db).Where("id = ?", 1).Set(set).Update(p.ctx)
				}
				p.ok(err)
			}))
		}
	}
	values := func(name string, made func() any) *cell {
		return write("Create of values, "+name, func(p *probe) {
			_, err := gorm.G[author](p.db).Where("id < ?", 3).
				Set(clause.Association{Association: name, Type: clause.OpCreate, Values: []any{made()}}).Update(p.ctx)
			p.ok(err)
		})
	}
	return area("Generics, Set of associations", append(all,
		values("Books", func() any { return &book{Title: "new"} }),
		values("Profile", func() any { return &profile{Bio: "new"} }),
		write("several assignments at once", func(p *probe) {
			_, err := gorm.G[author](p.db).Where("id = ?", 1).Set(
				clause.Association{Association: "Books", Type: clause.OpUnlink},
				clause.Assignments(map[string]any{"age": 1}),
			).Update(p.ctx)
			p.ok(err)
		}),
		write("with conditions", func(p *probe) {
			_, err := gorm.G[author](p.db).Where("id = ?", 1).Set(clause.Association{
				Association: "Books", Type: clause.OpUpdate, Conditions: []clause.Expression{clause.Gt{Column: "price", Value: 15}},
				Set: []clause.Assignment{{Column: clause.Column{Name: "title"}, Value: "dear"}},
			}).Update(p.ctx)
			p.ok(err)
		}),
	)...)
}
