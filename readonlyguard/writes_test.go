package readonlyguard_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit/readonlyguard"
)

// entry is one way to write through gorm.
type entry struct {
	name      string
	write     func(db *gorm.DB) error
	operation string
	table     string
	reason    readonlyguard.Reason // Writes where it is not set

	// savepoint: in a transaction gorm's first step is a savepoint (with SkipDefaultTransaction too, if always), when
	// it has not looked at the model and the table is not known.
	savepoint, always bool
}

func woolf() *Author { id := int64(1); return &Author{ID: id, Name: "Woolf"} }
func orlando() *Book { id := int64(1); return &Book{ID: 1, AuthorID: &id, Title: "Orlando"} }
func raw(db *gorm.DB, sql string, args ...any) error {
	var id []int64
	return db.Raw(sql, args...).Scan(&id).Error
}

// entries is every way to write that gorm has.
func entries() []entry {
	return []entry{
		{name: "Create", write: func(db *gorm.DB) error { return db.Create(&Author{Name: "x"}).Error }, operation: "Create", table: "authors"},
		{name: "Create slice", write: func(db *gorm.DB) error { return db.Create([]Author{{Name: "x"}, {Name: "y"}}).Error }, operation: "Create", table: "authors"},
		{name: "Create map", write: func(db *gorm.DB) error { return db.Model(&Author{}).Create(map[string]any{"name": "x"}).Error }, operation: "Create", table: "authors"},
		{name: "Create in a table", write: func(db *gorm.DB) error { return db.Table("tags").Create(map[string]any{"name": "x"}).Error }, operation: "Create", table: "tags"},
		{name: "Create with associations", write: func(db *gorm.DB) error {
			return db.Session(&gorm.Session{FullSaveAssociations: true}).Create(&Author{Profile: &Profile{}, Books: []Book{{Tags: []Tag{{}}}}}).Error
		}, operation: "Create", table: "authors"},
		{name: "upsert", write: func(db *gorm.DB) error {
			return db.Clauses(clause.OnConflict{DoNothing: true}).Create(woolf()).Error
		}, operation: "Create", table: "authors"},
		{name: "CreateInBatches", write: func(db *gorm.DB) error { return db.CreateInBatches([]Author{{}, {}, {}}, 2).Error }, operation: "CreateInBatches", table: "authors", savepoint: true},
		{name: "CreateInBatches of one", write: func(db *gorm.DB) error { return db.CreateInBatches([]Author{{}}, 2).Error }, operation: "CreateInBatches", table: "authors"},
		{name: "CreateBatchSize", write: func(db *gorm.DB) error {
			return db.Session(&gorm.Session{CreateBatchSize: 1}).Create([]Author{{}, {}}).Error
		}, operation: "Create", table: "authors", savepoint: true},
		{name: "Save new", write: func(db *gorm.DB) error { return db.Save(&Author{Name: "x"}).Error }, operation: "Save", table: "authors"},
		{name: "Save old", write: func(db *gorm.DB) error { return db.Save(woolf()).Error }, operation: "Save", table: "authors"},
		{name: "Save slice", write: func(db *gorm.DB) error { return db.Save([]Author{{Name: "x"}}).Error }, operation: "Save", table: "authors"},
		{name: "FirstOrCreate of none", write: func(db *gorm.DB) error {
			return db.Where(Author{Name: "nobody"}).FirstOrCreate(&Author{}).Error
		}, operation: "FirstOrCreate", table: "authors"},
		{name: "FirstOrCreate of one", write: func(db *gorm.DB) error {
			return db.FirstOrCreate(&Author{}, Author{Name: "Woolf"}).Error
		}, operation: "FirstOrCreate", table: "authors"},
		{name: "FirstOrCreate with Assign", write: func(db *gorm.DB) error {
			return db.Where("name = ?", "Woolf").Assign(Author{Name: "V. Woolf"}).FirstOrCreate(&Author{}).Error
		}, operation: "FirstOrCreate", table: "authors"},
		{name: "FirstOrCreate with scopes", write: func(db *gorm.DB) error {
			return db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Limit(9).Order("name") }).FirstOrCreate(&Author{Name: "z"}).Error
		}, operation: "FirstOrCreate", table: "authors"},
		{name: "Update", write: func(db *gorm.DB) error { return db.Model(woolf()).Update("name", "x").Error }, operation: "Update", table: "authors"},
		{name: "Updates struct", write: func(db *gorm.DB) error { return db.Model(woolf()).Updates(Author{Name: "x"}).Error }, operation: "Updates", table: "authors"},
		{name: "Updates map", write: func(db *gorm.DB) error {
			return db.Model(&Author{}).Where("id = 1").Updates(map[string]any{"name": "x"}).Error
		}, operation: "Updates", table: "authors"},
		{name: "Updates returning", write: func(db *gorm.DB) error {
			return db.Model(woolf()).Clauses(clause.Returning{}).Updates(Author{Name: "x"}).Error
		}, operation: "Updates", table: "authors"},
		{name: "UpdateColumn", write: func(db *gorm.DB) error { return db.Model(woolf()).UpdateColumn("name", "x").Error }, operation: "UpdateColumn", table: "authors"},
		{name: "UpdateColumns", write: func(db *gorm.DB) error {
			return db.Model(woolf()).UpdateColumns(map[string]any{"name": "x"}).Error
		}, operation: "UpdateColumns", table: "authors"},
		{name: "Delete", write: func(db *gorm.DB) error { return db.Delete(woolf()).Error }, operation: "Delete", table: "authors"},
		{name: "Delete soft", write: func(db *gorm.DB) error { return db.Delete(&Book{}, 1).Error }, operation: "Delete", table: "books"},
		{name: "Delete with associations", write: func(db *gorm.DB) error {
			return db.Select("Books", "Profile").Delete(woolf()).Error
		}, operation: "Delete", table: "authors"},
		{name: "Delete unscoped", write: func(db *gorm.DB) error { return db.Unscoped().Where("id > 0").Delete(&Book{}).Error }, operation: "Delete", table: "books"},
		{name: "Delete of nothing valid", write: func(db *gorm.DB) error { return db.Delete(&Book{}).Error }, operation: "Delete", table: "books"},

		{name: "Exec", write: func(db *gorm.DB) error { return db.Exec("UPDATE authors SET name = ?", "secret").Error }, operation: "Exec"},
		{name: "Exec in a comment's shade", write: func(db *gorm.DB) error { return db.Exec("/* SELECT */ DELETE FROM authors").Error }, operation: "Exec"},
		{name: "Exec of DDL", write: func(db *gorm.DB) error { return db.Exec("DROP TABLE authors").Error }, operation: "Exec"},
		{name: "Exec of two", write: func(db *gorm.DB) error { return db.Exec("SET work_mem = '8MB'; DELETE FROM authors").Error }, operation: "Exec"},
		{name: "Exec of DO", write: func(db *gorm.DB) error { return db.Exec("DO $$ BEGIN DELETE FROM authors; END $$").Error }, operation: "Exec", reason: readonlyguard.NotProven},
		{name: "Exec of CALL", write: func(db *gorm.DB) error { return db.Exec("CALL tidy()").Error }, operation: "Exec", reason: readonlyguard.NotProven},
		{name: "Raw Scan", write: func(db *gorm.DB) error {
			return raw(db, "INSERT INTO authors (name) VALUES (?) RETURNING id", "secret")
		}, operation: "Raw"},
		{name: "Raw Find", write: func(db *gorm.DB) error {
			return db.Raw("DELETE FROM authors RETURNING *").Find(&[]Author{}).Error
		}, operation: "Raw"},
		{name: "Raw First", write: func(db *gorm.DB) error {
			return db.Raw("WITH d AS (DELETE FROM books RETURNING *) SELECT * FROM d").First(&Book{}).Error
		}, operation: "Raw", table: ""},
		{name: "Raw Rows", write: func(db *gorm.DB) error {
			rows, err := db.Raw("INSERT INTO authors (name) VALUES ('x') RETURNING id").Rows()
			if err == nil {
				err = rows.Close()
			}
			return err
		}, operation: "Raw"},
		{name: "Raw Row", write: func(db *gorm.DB) error {
			var id int64
			return db.Raw("INSERT INTO authors (name) VALUES ('x') RETURNING id").Row().Scan(&id)
		}, operation: "Raw"},
		{name: "Raw sequence", write: func(db *gorm.DB) error { return raw(db, "SELECT nextval('authors_id_seq')") }, operation: "Raw"},
		{name: "Raw into", write: func(db *gorm.DB) error { return raw(db, "SELECT id INTO copies FROM authors") }, operation: "Raw"},
		{name: "Raw function", write: func(db *gorm.DB) error { return raw(db, "SELECT tidy(1)") }, operation: "Raw", reason: readonlyguard.CallsFunctions},
		{name: "Raw lock", write: func(db *gorm.DB) error { return raw(db, "SELECT id FROM authors FOR UPDATE") }, operation: "Raw", reason: readonlyguard.Locks},
		{name: "Exec lock", write: func(db *gorm.DB) error { return db.Exec("LOCK TABLE authors").Error }, operation: "Exec", reason: readonlyguard.Locks},
		{name: "Raw advisory lock", write: func(db *gorm.DB) error { return raw(db, "SELECT 1 FROM pg_advisory_lock(1)") }, operation: "Raw", reason: readonlyguard.NotProven},

		{name: "locking First", write: func(db *gorm.DB) error {
			return db.Clauses(clause.Locking{Strength: "UPDATE"}).First(&Author{}).Error
		}, operation: "First", table: "authors", reason: readonlyguard.Locks},
		{name: "locking Rows", write: func(db *gorm.DB) error {
			rows, err := db.Model(&Author{}).Clauses(clause.Locking{Strength: "SHARE"}).Rows()
			if err == nil {
				err = rows.Close()
			}
			return err
		}, operation: "Rows", table: "authors", reason: readonlyguard.Locks},
		{name: "locking scope", write: func(db *gorm.DB) error {
			return db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Clauses(clause.Locking{Strength: "UPDATE"}) }).Find(&[]Author{}).Error
		}, operation: "Find", table: "authors", reason: readonlyguard.Locks},
		{name: "locking subquery", write: func(db *gorm.DB) error {
			locked := db.Session(&gorm.Session{NewDB: true}).Model(&Author{}).Select("id").Clauses(clause.Locking{Strength: "UPDATE"})
			return db.Where("author_id IN (?)", locked).Find(&[]Book{}).Error
		}, operation: "Find", table: "books", reason: readonlyguard.Locks},
		{name: "locking text", write: func(db *gorm.DB) error {
			return db.Where("id = 1 FOR UPDATE").Find(&[]Author{}).Error
		}, operation: "Find", table: "authors", reason: readonlyguard.Locks},
		{name: "function in Select", write: func(db *gorm.DB) error {
			return db.Model(&Author{}).Select("id, nextval('authors_id_seq')").Find(&[]Author{}).Error
		}, operation: "Find", table: "authors"},
		{name: "function in Where", write: func(db *gorm.DB) error {
			var n int64
			return db.Model(&Author{}).Where("id = tidy(?)", 1).Count(&n).Error
		}, operation: "Count", table: "authors", reason: readonlyguard.CallsFunctions},
		{name: "function as a value", write: func(db *gorm.DB) error {
			return db.Where(map[string]any{"id": gorm.Expr("nextval('authors_id_seq')")}).Find(&[]Author{}).Error
		}, operation: "Find", table: "authors"},
		{name: "function in Joins", write: func(db *gorm.DB) error {
			return db.Joins("JOIN tidy(1) AS t ON true").Find(&[]Author{}).Error
		}, operation: "Find", table: "authors", reason: readonlyguard.CallsFunctions},
		{name: "function in Order", write: func(db *gorm.DB) error {
			return db.Order("tidy(id)").Find(&[]Author{}).Error
		}, operation: "Find", table: "authors", reason: readonlyguard.CallsFunctions},
		{name: "function in Pluck", write: func(db *gorm.DB) error {
			return db.Model(&Author{}).Pluck("nextval('authors_id_seq')", &[]int64{}).Error
		}, operation: "Pluck", table: "authors"},
		{name: "write in Table", write: func(db *gorm.DB) error {
			return db.Table("(WITH d AS (DELETE FROM books RETURNING *) SELECT * FROM d) AS t").Find(&[]map[string]any{}).Error
		}, operation: "Find", table: "t"},

		{name: "AutoMigrate", write: func(db *gorm.DB) error { return db.AutoMigrate(&Author{}) }, operation: "AutoMigrate"},
		{name: "Migrator", write: func(db *gorm.DB) error { return db.Migrator().DropTable(&Author{}) }, operation: "Migrator"},
	}
}

// associationWrites are gorm's association mode on all four kinds of association.
func associationWrites() (all []entry) {
	of := func(db *gorm.DB, kind string) *gorm.Association {
		switch kind {
		case "Profile", "Books":
			return db.Model(woolf()).Association(kind)
		default:
			return db.Model(orlando()).Association(kind)
		}
	}
	value := map[string]func() any{
		"Profile": func() any { return &Profile{ID: 1} }, "Books": func() any { return &Book{ID: 1} },
		"Author": func() any { return woolf() }, "Tags": func() any { return &Tag{ID: 1} },
	}
	writes := []struct {
		method string
		write  func(a *gorm.Association, v any) error
	}{
		{"Append", func(a *gorm.Association, v any) error { return a.Append(v) }},
		{"Replace", func(a *gorm.Association, v any) error { return a.Replace(v) }},
		{"Delete", func(a *gorm.Association, v any) error { return a.Delete(v) }},
		{"Clear", func(a *gorm.Association, _ any) error { return a.Clear() }},
	}
	for kind := range value {
		for _, w := range writes {
			for _, unscoped := range []bool{false, true} {
				name := kind + " " + w.method
				if unscoped {
					name += " unscoped"
				}
				all = append(all, entry{name: name, operation: "Association." + w.method, table: "?", write: func(db *gorm.DB) error {
					a := of(db, kind)
					if unscoped {
						a = a.Unscoped()
					}
					return w.write(a, value[kind]())
				}})
			}
		}
	}
	return all
}

// genericWrites are those of gorm's generics API.
func genericWrites() []entry {
	return []entry{
		{name: "G Create", write: func(db *gorm.DB) error { return gorm.G[Author](db).Create(ctx(db), &Author{}) }, operation: "Create", table: "authors"},
		{name: "G CreateInBatches", write: func(db *gorm.DB) error {
			return gorm.G[Author](db).CreateInBatches(ctx(db), &[]Author{{}, {}, {}}, 2)
		}, operation: "CreateInBatches", table: "authors", savepoint: true},
		{name: "G Update", write: func(db *gorm.DB) error {
			_, err := gorm.G[Tag](db).Where("id = 1").Update(ctx(db), "name", "x")
			return err
		}, operation: "Update", table: "tags"},
		{name: "G Updates", write: func(db *gorm.DB) error {
			_, err := gorm.G[Tag](db).Where("id = 1").Updates(ctx(db), Tag{Name: "x"})
			return err
		}, operation: "Updates", table: "tags"},
		{name: "G Delete", write: func(db *gorm.DB) error {
			_, err := gorm.G[Author](db).Where("id = 1").Delete(ctx(db))
			return err
		}, operation: "Delete", table: "authors"},
		{name: "G Exec", write: func(db *gorm.DB) error { return gorm.G[Author](db).Exec(ctx(db), "DELETE FROM authors") }, operation: "Exec"},
		{name: "G Raw", write: func(db *gorm.DB) error {
			_, err := gorm.G[Author](db).Raw("DELETE FROM authors RETURNING *").Find(ctx(db))
			return err
		}, operation: "Raw"},
		{name: "G Raw Row", write: func(db *gorm.DB) error {
			var id int64
			return gorm.G[Author](db).Raw("DELETE FROM authors RETURNING id").Row(ctx(db)).Scan(&id)
		}, operation: "Raw"},
		{name: "G locking", write: func(db *gorm.DB) error {
			_, err := gorm.G[Author](db, clause.Locking{Strength: "UPDATE"}).First(ctx(db))
			return err
		}, operation: "First", table: "authors", reason: readonlyguard.Locks},
		{name: "G Set Create", write: func(db *gorm.DB) error {
			return gorm.G[Author](db).Set(clause.Assignment{Column: clause.Column{Name: "name"}, Value: "x"}).Create(ctx(db))
		}, operation: "Set.Create", table: "authors"},
		{name: "G Set Update", write: func(db *gorm.DB) error {
			_, err := gorm.G[Tag](db).Where("id = 1").Set(clause.Assignment{Column: clause.Column{Name: "name"}, Value: "x"}).Update(ctx(db))
			return err
		}, operation: "Set.Update", table: "tags"},
		{name: "G Set association", write: func(db *gorm.DB) error {
			op := clause.Association{Association: "Books", Type: clause.OpCreate, Set: []clause.Assignment{{Column: clause.Column{Name: "title"}, Value: "x"}}}
			_, err := gorm.G[Author](db).Where("id = 1").Set(op).Update(ctx(db))
			return err
		}, operation: "Set.Update", table: "authors"},
		{name: "G unlink association", write: func(db *gorm.DB) error {
			_, err := gorm.G[Author](db).Where("id = 1").Set(clause.Association{Association: "Books", Type: clause.OpUnlink}).Update(ctx(db))
			return err
		}, operation: "Set.Update", table: "books"},
		{name: "G delete belongs-to", write: func(db *gorm.DB) error {
			_, err := gorm.G[Book](db).Where("id = 1").Set(clause.Association{Association: "Author", Type: clause.OpDelete}).Update(ctx(db))
			return err
		}, operation: "Set.Update", table: "authors", savepoint: true, always: true},
	}
}

// A write in a read session ends before anything was sent and before a hook ran, and leaves the pool usable: every
// entry point, with and without prepared statements, default transactions and panics, alone and inside transactions.
func TestWritesAreRefused(t *testing.T) {
	all := append(append(entries(), associationWrites()...), genericWrites()...)
	for _, m := range modes() {
		t.Run(m.String(), func(t *testing.T) {
			s := open(t, m)
			for _, e := range all {
				t.Run(e.name, func(t *testing.T) {
					s.refuses(t, m, e, func(write func(db *gorm.DB) error) error { return write(s.reads) }, nil)
				})
				t.Run(e.name+" in a transaction", func(t *testing.T) {
					if e.savepoint && (e.always || !m.skipDefaultTx) {
						e.table = ""
					}
					s.refuses(t, m, e, func(write func(db *gorm.DB) error) error { return s.reads.Transaction(write) },
						[]string{"BEGIN READ ONLY", "ROLLBACK"})
				})
			}
		})
	}
}

func (s *shop) refuses(t *testing.T, m mode, e entry, run func(write func(db *gorm.DB) error) error, sent []string) {
	t.Helper()
	s.reset()
	writeHooks.Store(0)
	err, panicked := attempt(func() error { return run(e.write) })

	require.Error(t, err)
	assert.Equal(t, !m.returnErrors, panicked, "panicked with %v", err)
	var refusal *readonlyguard.Error
	require.ErrorAs(t, err, &refusal)
	require.ErrorIs(t, err, readonlyguard.ErrReadOnly)
	assert.Equal(t, sent, s.log(), "sent")
	assert.Zero(t, writeHooks.Load(), "hooks")
	assert.Equal(t, e.operation, refusal.Operation)
	if e.table != "?" {
		assert.Equal(t, e.table, refusal.Table)
	} else {
		assert.NotEmpty(t, refusal.Table)
	}
	reason := e.reason
	if reason == 0 {
		reason = readonlyguard.Writes
	}
	assert.Equal(t, reason, refusal.Reason)
	assert.NotContains(t, refusal.Error(), "secret")
	s.usable(t)
}

// The same entry points write where there is no read session; else the test above proves nothing.
func TestWritesWriteOutsideOfAReadSession(t *testing.T) {
	s := open(t, mode{})
	_ = s.writes.Exec("CREATE FUNCTION tidy(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT $1'")
	_ = s.writes.Exec("CREATE PROCEDURE tidy() LANGUAGE sql AS ''")
	for _, e := range append(append(entries(), associationWrites()...), genericWrites()...) {
		t.Run(e.name, func(t *testing.T) {
			s.reset()
			rollBack := errors.New("roll back")
			err := s.writes.Transaction(func(tx *gorm.DB) error { return errors.Join(e.write(tx), rollBack) })
			require.ErrorIs(t, err, rollBack)
			require.NotErrorIs(t, err, readonlyguard.ErrReadOnly)
			sent := s.log()
			assert.Equal(t, "BEGIN", sent[0])
			if e.name != "Delete of nothing valid" {
				assert.Greater(t, len(sent), 2, "nothing was sent: %q", sent)
			}
		})
	}
}

// ctx is the context of db, which the generics API wants once more.
func ctx(db *gorm.DB) context.Context { return db.Statement.Context }
