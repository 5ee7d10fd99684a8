package conformance

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// Handles: one chain for several statements, from before the plugin was in use, of a result,
// nested prepared ones, by several goroutines.
func testHandles(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		db := d.session()
		chain := db.Model(&book{}).Where("author_id = ?", s.ann)
		var n int64
		require.NoError(t, chain.Count(&n).Error)
		require.EqualValues(t, len(s.onReplicas()), n)
		require.NoError(t, db.Create(&book{Title: "three", AuthorID: s.ann}).Error)
		require.NoError(t, chain.Count(&n).Error)
		require.EqualValues(t, 3, n, "the session has written")
		var books []book
		require.NoError(t, chain.Find(&books).Error)
		require.Len(t, books, 3)

		early := d.early.WithContext(newSession())
		require.Equal(t, policy.ReasonWrite, reason(t, early.Exec("UPDATE "+booksTable+" SET copies = 5 WHERE title = ?", "three")))
		d.own(t, early, three...)

		pool, err := d.DB.DB()
		require.NoError(t, err)
		for _, result := range []*gorm.DB{db.Find(&[]book{}), db.Exec("UPDATE " + booksTable + " SET copies = 6"), db.Create(&book{Title: "four"})} {
			require.NoError(t, result.Error)
			got, err := result.DB()
			require.NoError(t, err)
			require.Same(t, pool, got)
		}

		nested := d.session().Session(&gorm.Session{PrepareStmt: true}).Session(&gorm.Session{PrepareStmt: true})
		for range 3 {
			require.True(t, s.isReplica(d.who(t, nested)))
		}
		require.NoError(t, nested.Transaction(func(tx *gorm.DB) error {
			tx = tx.Session(&gorm.Session{PrepareStmt: true})
			require.Equal(t, s.primary(), d.who(t, tx))
			return tx.Create(&book{Title: "five", AuthorID: s.ann}).Error
		}))
		d.own(t, nested, "one", "two", "three", "four", "five")

		// A statement that cannot be prepared is an error, and no panic.
		var none int
		require.Error(t, d.session().Raw("SELECT nothing FROM "+booksTable).Row().Scan(&none))
		require.Error(t, d.session().Raw("SELECT nothing FROM "+booksTable).Scan(&none).Error)
	})
}

// Connection gives its function one connection to the primary, and keeps it.
func testConnection(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		db := d.session()
		require.NoError(t, db.Connection(func(tx *gorm.DB) error {
			for range 3 {
				require.Equal(t, s.primary(), d.who(t, tx))
			}
			var n int64
			found := tx.Session(&gorm.Session{NewDB: true}).Model(&book{}).Count(&n)
			require.NoError(t, found.Error)
			require.EqualValues(t, 2, n)
			_, ok := readsplit.DecisionOf(found)
			require.False(t, ok, "nothing was decided")
			return nil
		}))
		require.True(t, s.isReplica(d.who(t, db)), "who only read there goes back")
	})
}

// Locks are taken on the primary, by a clause, a hint, a scope, and for a preload alone.
func testLocks(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		db := d.session()
		var books []book
		tx := s.b.SQL.Lock(db).Order("id").Find(&books)
		require.Equal(t, policy.ReasonLockingRead, reason(t, tx))
		require.Len(t, books, 2)
		books = nil
		tx = db.Scopes(s.b.SQL.Lock).Order("id").Find(&books)
		require.Equal(t, policy.ReasonLockingRead, reason(t, tx))
		require.Len(t, books, 2)
		var a author
		tx = db.Preload("Books", s.b.SQL.Lock).First(&a, "name = ?", "Ann")
		require.NoError(t, tx.Error)
		require.Len(t, a.Books, 2, "the preload locks")
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			books = nil
			return s.b.SQL.Lock(tx).Order("id").Find(&books).Error
		}))
		require.Len(t, books, 2)
		if s.b.Faults.has(pausing) {
			d.reads(t, db, false, "one") // the session is where it was
		}
	})
}

// Children come from where their parent came from; one that asks for more goes there.
func testPreload(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		by := func(db *gorm.DB) *gorm.DB { return db.Select("*, " + s.by()).Order("id") }
		db := d.session()
		used := map[string]bool{}
		until(t, func() bool {
			var all []servedAuthor
			require.NoError(t, by(db).Preload("Books", by).Find(&all).Error)
			require.Len(t, all, 2)
			require.Len(t, all[0].Books, len(s.onReplicas()))
			require.Equal(t, all[0].Server, all[0].Books[0].Server)
			require.True(t, s.isReplica(all[0].Server))
			used[all[0].Server] = true
			return len(used) == len(s.replicas())
		}, "each replica to serve")
		var a servedAuthor
		require.NoError(t, by(d.fresh()).Preload("Books", by).First(&a, "name = ?", "Ann").Error)
		require.Len(t, a.Books, 2)
		require.Equal(t, s.primary(), a.Books[1].Server)
		a = servedAuthor{}
		require.NoError(t, by(db).Preload("Books", func(child *gorm.DB) *gorm.DB {
			return by(child.WithContext(readsplit.Fresh(context.Background())))
		}).First(&a, "name = ?", "Ann").Error)
		require.True(t, s.isReplica(a.Server))
		require.Len(t, a.Books, 2)
		require.Equal(t, s.primary(), a.Books[0].Server)
	})
}

// What a hook of a write reads is on the primary, in its transaction or not.
func testHooks(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		ran := map[string]int{}
		h := hooks{}
		for _, name := range []string{"BeforeSave", "AfterSave", "AfterCreate", "BeforeUpdate", "AfterUpdate", "BeforeDelete", "AfterDelete"} {
			h[name] = func(tx *gorm.DB) error {
				ran[name]++
				var two book
				require.NoError(t, tx.Where("title = ?", "two").First(&two).Error, name)
				require.Equal(t, s.primary(), d.who(t, tx), name)
				return nil
			}
		}
		db := d.WithContext(withHooks(context.Background(), h)) // no session
		b := &hookedBook{Title: "hooked", AuthorID: s.ann}
		require.NoError(t, db.Select("title", "author_id").Create(b).Error)
		require.NoError(t, db.Save(b).Error)
		require.NoError(t, db.Model(b).Update("title", "changed").Error)
		require.NoError(t, db.Delete(b).Error)
		require.Equal(t, map[string]int{
			"BeforeSave": 3, "AfterSave": 3, "AfterCreate": 1, "BeforeUpdate": 2, "AfterUpdate": 2, "BeforeDelete": 1, "AfterDelete": 1,
		}, ran)
		require.Equal(t, []string{"one", "two"}, s.titles(t))

		// Marks reach hooks of reads, and batches.
		seen := 0
		ctx := withHooks(readsplit.Fresh(newSession()), hooks{"AfterFind": func(tx *gorm.DB) error {
			seen++
			require.Equal(t, s.primary(), d.who(t, tx))
			return nil
		}})
		require.NoError(t, d.WithContext(ctx).FindInBatches(&[]hookedBook{}, 1, func(tx *gorm.DB, _ int) error {
			require.Equal(t, s.primary(), d.who(t, tx))
			return nil
		}).Error)
		require.Equal(t, 2, seen)
	})
}

// What looks before it writes looks where it writes.
func testLookBeforeWriting(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		db := d.session()
		var two book
		tx := db.Where(book{Title: "two"}).Attrs(book{AuthorID: s.bea}).FirstOrCreate(&two)
		require.NoError(t, tx.Error)
		require.Equal(t, s.ann, two.AuthorID, "found, not made again")
		require.Equal(t, []string{"one", "two"}, s.titles(t))
		two = book{}
		tx = db.Where(book{Title: "two"}).FirstOrInit(&two)
		require.Equal(t, policy.ReasonReadToWrite, reason(t, tx))
		require.NotZero(t, two.ID)
		require.NoError(t, db.Where(book{Title: "two"}).Assign(book{AuthorID: s.bea}).FirstOrCreate(&book{}).Error)
		d.own(t, db, "one", "two")
	})
}

type shelf struct {
	ID   int64
	Name string `gorm:"size:50;index"`
}

type widerShelf struct {
	ID    int64
	Name  string `gorm:"size:50"`
	Width int    `gorm:"not null;default:80"`
}

func (*shelf) TableName() string      { return "conformance_shelves" }
func (*widerShelf) TableName() string { return "conformance_shelves" }

// The migrator looks on the primary: on a replica that is behind, a table that is there is
// missing, and its CREATE TABLE fails. Whoever reads it meanwhile reads on the primary.
func testMigrator(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		m := d.session().Migrator()
		t.Cleanup(func() { require.NoError(t, d.Migrator().DropTable(&shelf{})) })
		require.NoError(t, m.AutoMigrate(&shelf{}))
		require.NoError(t, m.AutoMigrate(&shelf{}))
		other := d.session()
		require.True(t, other.Migrator().HasTable(&shelf{}))
		require.True(t, other.Migrator().HasColumn(&shelf{}, "Name"))
		require.True(t, other.Migrator().HasIndex(&shelf{}, "Name"))
		types, err := other.Migrator().ColumnTypes(&shelf{})
		require.NoError(t, err)
		require.Len(t, types, 2)
		require.NoError(t, other.Transaction(func(tx *gorm.DB) error {
			require.True(t, tx.Migrator().HasTable(&shelf{}))
			return tx.AutoMigrate(&widerShelf{})
		}))
		require.True(t, other.Migrator().HasColumn(&widerShelf{}, "Width"))
		require.NoError(t, d.session().Create(&widerShelf{Name: "low"}).Error)
		var low widerShelf
		require.NoError(t, d.session().First(&low).Error, "somebody who knows of nothing")
		require.Equal(t, 80, low.Width)
	})
}
