package readonlyguard_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit/readonlyguard"
)

// reads are ways to read, each with what it must find.
var reads = []struct {
	name string
	read func(db *gorm.DB) (any, error)
	want any
}{
	{"First", func(db *gorm.DB) (any, error) { var a Author; err := db.First(&a).Error; return a.Name, err }, "Woolf"},
	{"First by key", func(db *gorm.DB) (any, error) { var a Author; err := db.First(&a, 2).Error; return a.Name, err }, "Sayers"},
	{"Take", func(db *gorm.DB) (any, error) {
		a := Author{ID: 2}
		err := db.Take(&a).Error
		return a.Name, err
	}, "Sayers"},
	{"Last", func(db *gorm.DB) (any, error) { var a Author; err := db.Last(&a).Error; return a.Name, err }, "Sayers"},
	{"Find", func(db *gorm.DB) (any, error) { var b []Book; err := db.Find(&b).Error; return len(b), err }, 3},
	{"Find one in order", func(db *gorm.DB) (any, error) {
		var a Author
		err := db.Limit(1).Order("id DESC").Find(&a).Error
		return a.Name, err
	}, "Sayers"},
	{"Find map conditions", func(db *gorm.DB) (any, error) {
		var b []Book
		err := db.Where(map[string]any{"author_id": []int{1, 7}}).Not("title = ?", "Orlando").Find(&b).Error
		return len(b), err
	}, 1},
	{"FirstOrInit of one", func(db *gorm.DB) (any, error) {
		var a Author
		err := db.FirstOrInit(&a, Author{Name: "Sayers"}).Error
		return a.ID, err
	}, int64(2)},
	{"FirstOrInit of none", func(db *gorm.DB) (any, error) {
		var a Author
		err := db.Attrs(Author{ID: 9}).FirstOrInit(&a, Author{Name: "Eliot"}).Error
		return fmt.Sprint(a.ID, a.Name), err
	}, "9Eliot"},
	{"FindInBatches", func(db *gorm.DB) (any, error) {
		var b, all []Book
		err := db.FindInBatches(&b, 2, func(tx *gorm.DB, _ int) error {
			all = append(all, b...)
			return tx.Take(&Author{}).Error
		}).Error
		return len(all), err
	}, 3},
	{"Count", func(db *gorm.DB) (any, error) { var n int64; err := db.Model(&Book{}).Count(&n).Error; return n, err }, int64(3)},
	{"Count then Find", func(db *gorm.DB) (any, error) {
		var n int64
		var b []Book
		chain := db.Model(&Book{}).Joins("Author").Where("title LIKE ?", "%a%")
		if err := chain.Count(&n).Error; err != nil {
			return nil, err
		}
		err := chain.Order("title").Find(&b).Error
		return fmt.Sprint(n, len(b), b[0].Author.Name), err
	}, "3 3Sayers"},
	{"Count groups", func(db *gorm.DB) (any, error) {
		var n int64
		err := db.Model(&Book{}).Group("author_id").Having("count(*) > ?", 1).Count(&n).Error
		return n, err
	}, int64(1)},
	{"Distinct Pluck", func(db *gorm.DB) (any, error) {
		var ids []int64
		err := db.Model(&Book{}).Distinct("author_id").Order("author_id").Pluck("author_id", &ids).Error
		return ids, err
	}, []int64{1, 2}},
	{"Scan of an aggregate", func(db *gorm.DB) (any, error) {
		var r struct{ N, Longest int }
		err := db.Model(&Book{}).Select("count(*) AS n, max(length(title)) AS longest").Scan(&r).Error
		return r.N + r.Longest, err
	}, 14},
	{"Row", func(db *gorm.DB) (any, error) {
		var name string
		err := db.Table("authors").Select("name").Where("id = ?", 2).Row().Scan(&name)
		return name, err
	}, "Sayers"},
	{"Rows", func(db *gorm.DB) (any, error) {
		rows, err := db.Model(&Book{}).Order("id").Rows()
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		var titles []string
		for rows.Next() {
			var b Book
			if err := db.ScanRows(rows, &b); err != nil {
				return nil, err
			}
			titles = append(titles, b.Title)
		}
		return titles, rows.Err()
	}, []string{"Orlando", "The Waves", "Gaudy Night"}},
	{"Preload", func(db *gorm.DB) (any, error) {
		var a []Author
		err := db.Preload("Books.Tags").Preload("Books", "title <> ?", "The Waves").Preload("Profile").Order("id").Find(&a).Error
		return len(a[0].Books) + len(a[1].Books[0].Tags), err
	}, 3},
	{"Joins and a subquery", func(db *gorm.DB) (any, error) {
		var b []Book
		tagged := db.Session(&gorm.Session{NewDB: true}).Table("book_tags").Select("book_id").Group("book_id").Having("count(*) > 1")
		err := db.InnerJoins("Author").Where("books.id IN (?)", tagged).Find(&b).Error
		return b[0].Author.Name, err
	}, "Sayers"},
	{"Association", func(db *gorm.DB) (any, error) {
		var tags []Tag
		err := db.Model(&Book{ID: 3}).Order("tags.id").Association("Tags").Find(&tags)
		n := db.Model(woolf()).Association("Books").Count()
		return fmt.Sprint(len(tags), n), err
	}, "2 2"},
	{"Raw", func(db *gorm.DB) (any, error) {
		var n []int64
		err := db.Raw("WITH b AS (SELECT * FROM books WHERE author_id = @a) SELECT id FROM b ORDER BY id", sql.Named("a", 1)).Scan(&n).Error
		return n, err
	}, []int64{1, 2}},
	{"Raw First", func(db *gorm.DB) (any, error) {
		var a Author
		err := db.Raw("SELECT * FROM authors WHERE id = ? -- DELETE", 1).First(&a).Error
		return a.Name, err
	}, "Woolf"},
	{"Raw Row", func(db *gorm.DB) (any, error) {
		var s string
		err := db.Raw("SELECT 'FOR UPDATE; DELETE'").Row().Scan(&s)
		return s, err
	}, "FOR UPDATE; DELETE"},
	{"Exec of a read", func(db *gorm.DB) (any, error) { return nil, db.Exec("SELECT 1").Error }, nil},
	{"EXPLAIN", func(db *gorm.DB) (any, error) {
		var plan []string
		err := db.Raw("EXPLAIN SELECT * FROM authors").Scan(&plan).Error
		return len(plan), err
	}, 1},
	{"SET and SHOW", func(db *gorm.DB) (any, error) {
		var v string
		if err := db.Exec("SET work_mem = '5MB'").Error; err != nil {
			return nil, err
		}
		if err := db.Raw("SHOW work_mem").Scan(&v).Error; err != nil {
			return nil, err
		}
		return v, db.Exec("RESET work_mem").Error
	}, "5MB"},
	{"set_config", func(db *gorm.DB) (any, error) {
		var v string
		err := db.Raw("SELECT set_config('app.tenant', ?, true)", "t1").Scan(&v).Error
		return v, err
	}, "t1"},
	{"Connection", func(db *gorm.DB) (any, error) {
		var n int64
		err := db.Connection(func(tx *gorm.DB) error { return tx.Model(&Author{}).Count(&n).Error })
		return n, err
	}, int64(2)},
	{"generics", func(db *gorm.DB) (any, error) {
		b, err := gorm.G[Book](db).Joins(clause.LeftJoin.Association("Author"), nil).Where("books.id > ?", 0).Order("books.id").Find(ctx(db))
		if err != nil {
			return nil, err
		}
		n, err := gorm.G[Book](db).Count(ctx(db), "id")
		return fmt.Sprint(len(b), b[2].Author.Name, n), err
	}, "3Sayers3"},
	{"generics Raw", func(db *gorm.DB) (any, error) {
		a, err := gorm.G[Author](db).Raw("SELECT * FROM authors WHERE id = ?", 2).First(ctx(db))
		return a.Name, err
	}, "Sayers"},
}

// What reads passes, finds the same, and sends the same to the server as it does outside of a read session.
func TestReadsPass(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.String(), func(t *testing.T) {
			s := open(t, m)
			for _, r := range reads {
				t.Run(r.name, func(t *testing.T) {
					_, err := r.read(s.writes) // what is prepared once is prepared for both
					require.NoError(t, err)
					s.reset()
					_, err = r.read(s.writes)
					require.NoError(t, err)
					plain := s.log()
					require.NotEmpty(t, plain)

					s.reset()
					got, err := r.read(s.reads)
					require.NoError(t, err)
					assert.Equal(t, r.want, got)
					assert.Equal(t, plain, s.log())
				})
			}
		})
	}
}

func TestReadsPassInTransactions(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.String(), func(t *testing.T) {
			s := open(t, m)
			for _, r := range reads {
				if r.name == "Connection" {
					continue // would wait for a second connection
				}
				t.Run(r.name, func(t *testing.T) {
					var got any
					require.NoError(t, s.reads.Transaction(func(tx *gorm.DB) (err error) {
						if got, err = r.read(tx); err != nil {
							return err
						}
						return tx.Transaction(func(nested *gorm.DB) error {
							_, err := r.read(nested)
							return err
						})
					}))
					assert.Equal(t, r.want, got)
				})
			}
		})
	}
}

// Savepoints are statements of a nested transaction, and of an application's own hand.
func TestSavepoints(t *testing.T) {
	s := open(t, mode{})
	require.NoError(t, s.reads.Transaction(func(tx *gorm.DB) error {
		require.NoError(t, tx.Transaction(func(nested *gorm.DB) error { return nested.Take(&Author{}).Error }))
		require.Error(t, tx.Transaction(func(nested *gorm.DB) error { return nested.Raw("SELECT 1/0").Scan(new(int)).Error }))
		require.NoError(t, tx.SavePoint("mine").RollbackTo("mine").Error)
		require.NoError(t, tx.Exec("RELEASE SAVEPOINT mine").Error)
		return tx.Take(&Author{}).Error
	}))
	sent := s.log()
	require.Len(t, sent, 11)
	assert.Equal(t, "BEGIN READ ONLY", sent[0])
	assert.Regexp(t, "^SAVEPOINT sp", sent[1])
	assert.Regexp(t, "^SAVEPOINT sp", sent[3])
	assert.Regexp(t, "^ROLLBACK TO SAVEPOINT sp", sent[5])
	assert.Equal(t, []string{"SAVEPOINT mine", "ROLLBACK TO SAVEPOINT mine", "RELEASE SAVEPOINT mine"}, sent[6:9])
	assert.Equal(t, "COMMIT", sent[10])
}

// A dry run and ToSQL build whatever they are told, and send nothing: not even the BEGIN that gorm's own dry run sends.
func TestDryRunsPass(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.String(), func(t *testing.T) {
			s := open(t, m)
			dry := s.reads.Session(&gorm.Session{DryRun: true})
			for _, e := range append(append(entries(), associationWrites()...), genericWrites()...) {
				if e.operation == "AutoMigrate" || e.operation == "Migrator" || e.name == "G Raw Row" || e.name == "Raw Row" {
					continue // gorm's migrator looks at the database in a dry run too; its dry Row is nil
				}
				t.Run(e.name, func(t *testing.T) {
					s.reset()
					err, panicked := attempt(func() error { return e.write(dry) })
					assert.False(t, panicked, "%v", err)
					assert.NotErrorIs(t, err, readonlyguard.ErrReadOnly)
					assert.Empty(t, s.log())
				})
			}
			assert.Equal(t, `INSERT INTO "tags" ("name") VALUES ('x') RETURNING "id"`,
				s.reads.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&Tag{Name: "x"}) }))
			assert.Equal(t, `DELETE FROM "tags" WHERE id = 1`,
				s.reads.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Where("id = ?", 1).Delete(&Tag{}) }))
			s.usable(t)
		})
	}
}

func TestAllowFunctions(t *testing.T) {
	s := open(t, mode{}, readonlyguard.AllowFunctions("Initials", `app.longest`))
	require.NoError(t, s.writes.Exec("CREATE SCHEMA app").Error)
	require.NoError(t, s.writes.Exec("CREATE FUNCTION initials(text) RETURNS text LANGUAGE sql AS 'SELECT left($1, 1)'").Error)
	require.NoError(t, s.writes.Exec("CREATE FUNCTION app.longest(text) RETURNS int LANGUAGE sql AS 'SELECT length($1)'").Error)

	var got []string
	require.NoError(t, s.reads.Raw("SELECT INITIALS(name) FROM authors WHERE app.longest(name) > 1 ORDER BY lower(name)").Scan(&got).Error)
	assert.Equal(t, []string{"S", "W"}, got)
	require.NoError(t, s.reads.Model(&Author{}).Select("initials(name)").Order("app.longest(name)").Find(&got).Error)
	assert.Equal(t, []string{"W", "S"}, got)

	err, panicked := attempt(func() error {
		return s.reads.Raw("SELECT initials(name), longest(name), tidy(1), app.longest(name), tidy(2), count(*) FROM authors").Scan(&got).Error
	})
	assert.True(t, panicked)
	var refusal *readonlyguard.Error
	require.ErrorAs(t, err, &refusal)
	assert.Equal(t, []string{"longest", "tidy"}, refusal.Functions)
	assert.EqualError(t, err, `readsplit: Raw of SELECT refused in a read session before anything was sent: it calls "longest", "tidy", which may write; `+
		`if it only reads, say so with readonlyguard.AllowFunctions("longest", "tidy"), else use a context that is not marked read-only`)
}
