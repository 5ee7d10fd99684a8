package readsplit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/retry"
)

type shelf struct {
	ID   int64
	Name string `gorm:"index"`
}

type widerShelf struct {
	ID    int64
	Name  string
	Width int `gorm:"not null;default:80"`
}

func (*widerShelf) TableName() string { return "shelves" }

func TestT28Migrator(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		db, _ := x.session()
		migrated := func() {
			t.Helper()
			// Each looks before it acts, and would find nothing on a replica.
			require.NoError(t, db.AutoMigrate(&shelf{}))
			require.NoError(t, db.AutoMigrate(&shelf{}))
			require.NoError(t, db.Migrator().AutoMigrate(&shelf{}))
		}
		migrated()
		other, _ := x.session()
		for name, has := range map[string]bool{
			"table":   other.Migrator().HasTable(&shelf{}),
			"by name": other.Migrator().HasTable("shelves"),
			"column":  other.Migrator().HasColumn(&shelf{}, "Name"),
			"index":   other.Migrator().HasIndex(&shelf{}, "Name"),
		} {
			require.True(t, has, name)
		}
		types, err := other.Migrator().ColumnTypes(&shelf{})
		require.NoError(t, err)
		require.Len(t, types, 2)
		tables, err := other.Migrator().GetTables()
		require.NoError(t, err)
		require.Contains(t, tables, "shelves")
		require.Equal(t, "traps", other.Migrator().CurrentDatabase())
		require.NoError(t, other.Transaction(func(tx *gorm.DB) error {
			require.True(t, tx.Migrator().HasTable("shelves"))
			return tx.AutoMigrate(&widerShelf{})
		}))
		require.True(t, other.Migrator().HasColumn(&widerShelf{}, "Width"))

		// What is asked of a result handle, and in a hook, is asked there too.
		found := other.Find(&[]book{})
		require.True(t, found.Session(&gorm.Session{NewDB: true}).Migrator().HasTable("shelves"))
		hooked := x.WithContext(withHooks(hooks{"AfterFind": func(tx *gorm.DB) error {
			require.True(t, tx.Migrator().HasTable("shelves"))
			return nil
		}}))
		require.NoError(t, hooked.First(&hookedBook{}).Error)

		// The handle that asked for a migrator is not pinned by it.
		last := x.WithContext(readsplit.Stale(readsplit.WithSession(t.Context(), readsplit.NewSession())))
		require.True(t, last.Migrator().HasTable("shelves"))
		onReplica(t, served(t, last))
		// A session that wrote nothing sees the new schema: a change of it is
		// everybody's.
		require.Equal(t, "primary", served(t, other))
	})
}

// After a change of the schema by this process, by another way through GORM or
// by somebody else, what was prepared on any server is not used any more.
func TestT28PreparedStatementsAfterDDL(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		require.NoError(t, x.AutoMigrate(&shelf{}))
		require.NoError(t, x.Create(&shelf{Name: "a"}).Error)
		width := 0
		// columns reads all columns of the table a few times on each server.
		columns := func(want int) {
			t.Helper()
			require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
			eventually(t, "reads go to a replica", func() bool { return isReplica(served(t, x.DB)) })
			for range 12 {
				for _, db := range []*gorm.DB{x.DB, x.fresh()} {
					var rows []map[string]any
					tx := db.Table("shelves").Find(&rows)
					d, _ := readsplit.DecisionOf(tx)
					require.NoError(t, tx.Error, "%+v", d)
					require.Len(t, rows[0], want)
				}
			}
		}
		columns(2)
		for name, change := range map[string]func(sql string) error{
			"Exec":        func(sql string) error { return x.Exec(sql).Error },
			"Transaction": func(sql string) error { return x.Transaction(func(tx *gorm.DB) error { return tx.Exec(sql).Error }) },
			"Connection":  func(sql string) error { return x.Connection(func(tx *gorm.DB) error { return tx.Exec(sql).Error }) },
			"Migrator": func(string) error {
				return x.Migrator().AddColumn(&struct {
					widerShelf
					Depth int
				}{}, "Depth")
			},
			"somebody else": func(sql string) error { _, err := x.admin.Exec(sql); return err },
		} {
			t.Run(name, func(t *testing.T) {
				width++
				add := "ALTER TABLE shelves ADD COLUMN w" + name[:1] + " int"
				require.NoError(t, change(add))
				columns(2 + width)
			})
		}
		// Nothing went wrong but plans that were found to be stale.
		for cause := range x.plugin.Status().Retries {
			require.Equal(t, retry.CauseStalePlan, cause)
		}
	}, configured(func(c *readsplit.Config) { c.StickyWindow = 100 * time.Millisecond })) // Connection leaves it behind
}

// A change of the schema closes what is prepared, also what others are about to
// use: it has not been run then, and is prepared anew.
func TestT28PreparedStatementsInUse(t *testing.T) {
	for _, skip := range []bool{false, true} {
		x := newTrap(t, prepareStmt(true), gormConfigured(func(c *gorm.Config) { c.SkipDefaultTransaction = skip }))
		store := x.ConnPool.(*gorm.PreparedStmtDB)
		ways := map[string]func() error{
			"read":        func() error { return x.fresh().Find(&[]author{}).Error },
			"write":       func() error { return x.Create(&book{Title: "b"}).Error },
			"Exec":        func() error { return x.Exec("INSERT INTO books (title) VALUES (?)", "b").Error },
			"transaction": func() error { return x.Transaction(func(tx *gorm.DB) error { return tx.Find(&[]author{}).Error }) },
		}
		for range 3 {
			for name, way := range ways {
				require.NoError(t, way(), name)
			}
			require.NotEmpty(t, store.Stmts.Keys())
			for _, text := range store.Stmts.Keys() {
				st, ok := store.Stmts.Get(text)
				require.True(t, ok)
				require.NoError(t, st.Stmt.Close())
			}
		}
		require.Len(t, x.titles(t), 1+2*3, "each once")
	}
}

// What is kept prepared on a replica is bounded as the application's own store is.
func TestPreparedStatementsAreBounded(t *testing.T) {
	x := newTrap(t, prepareStmt(true), gormConfigured(func(c *gorm.Config) { c.PrepareStmtMaxSize = 3 }),
		configured(func(c *readsplit.Config) {
			c.Pool.MaxOpen = 1 // so that all are prepared on one connection
			c.Replicas = c.Replicas[:1]
		}))
	prepared := func() (n int) { // beside those of the driver's own cache
		require.NoError(t, x.Raw(`SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'stmt\_%'`).Row().Scan(&n))
		return n
	}
	for i := range 20 {
		var books []book
		require.NoError(t, x.Limit(i+1).Where(fmt.Sprintf("id <> %d", -i)).Find(&books).Error)
		onReplica(t, books[0].Server)
	}
	eventually(t, "those beyond are closed", func() bool { return prepared() <= 3 })
}
