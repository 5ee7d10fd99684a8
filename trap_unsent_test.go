package readsplit_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/readonlyguard"
)

// watched limits the application's pool to one connection and returns what the
// primary says of it: the last statement that it was sent, and when.
func watched(t *testing.T, x *trap) (lastStatement func() string) {
	t.Helper()
	pool, err := x.DB.DB()
	require.NoError(t, err)
	pool.SetMaxOpenConns(1)
	var pid int
	require.NoError(t, x.fresh().Raw("SELECT pg_backend_pid()").Scan(&pid).Error)
	return func() (last string) {
		t.Helper()
		require.NoError(t, x.admin.QueryRow("SELECT query || ' at ' || state_change || ' ' || state FROM pg_stat_activity WHERE pid = $1", pid).Scan(&last))
		return last
	}
}

func TestT25ReadSession(t *testing.T) {
	for _, returned := range []bool{false, true} {
		name := "panics"
		if returned {
			name = "returns errors"
		}
		t.Run(name, func(t *testing.T) {
			eachTxMode(t, func(t *testing.T, x *trap) {
				last := watched(t, x)
				hooked := 0
				count := func(*gorm.DB) error { hooked++; return nil }
				ctx := readsplit.ReadOnly(withHooks(hooks{"BeforeSave": count, "BeforeUpdate": count, "BeforeDelete": count, "AfterFind": count}))
				db := x.WithContext(ctx)
				before := last()
				for name, write := range map[string]func() error{
					"Create":          func() error { return db.Create(&hookedBook{Title: "a"}).Error },
					"CreateInBatches": func() error { return db.CreateInBatches([]*hookedBook{{}, {}, {}}, 1).Error },
					"Save":            func() error { return db.Save(&hookedBook{ID: 1}).Error },
					"Update":          func() error { return db.Model(&hookedBook{ID: 1}).Update("title", "a").Error },
					"Delete":          func() error { return db.Delete(&hookedBook{ID: 1}).Error },
					"FirstOrCreate":   func() error { return db.FirstOrCreate(&hookedBook{}, hookedBook{Title: "a"}).Error },
					"Association":     func() error { return db.Model(&author{ID: 1}).Association("Books").Append(&book{}) },
					"Exec":            func() error { return db.Exec("DELETE FROM books").Error },
					"Raw":             func() error { return db.Raw("DELETE FROM books RETURNING id").Scan(new(int)).Error },
					"Row":             func() error { return db.Raw("DELETE FROM books RETURNING id").Row().Scan(new(int)) },
					"AutoMigrate":     func() error { return db.AutoMigrate(&shelf{}) },
					"generics":        func() error { return gorm.G[hookedBook](x.DB).Create(ctx, &hookedBook{}) },
				} {
					if returned {
						var refused *readonlyguard.Error
						require.ErrorAs(t, write(), &refused, name)
					} else {
						require.Panics(t, func() { _ = write() }, name)
					}
				}
				require.Equal(t, before, last(), "nothing was sent")
				require.Zero(t, hooked)

				// Reads, savepoints and settings pass.
				require.NoError(t, db.Find(&[]book{}).Error)
				require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
					require.NoError(t, tx.Exec("SET LOCAL work_mem = '8MB'").Error)
					return tx.Transaction(func(tx *gorm.DB) error { return tx.Find(&[]book{}).Error })
				}))
				require.NotEmpty(t, db.Session(&gorm.Session{DryRun: true}).Create(&book{Title: "a"}).Statement.SQL.String())
				require.Equal(t, []string{"one"}, x.titles(t))
			}, configured(func(c *readsplit.Config) { c.GuardErrors = returned }))
		})
	}
}

func TestT26DryRun(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		last := watched(t, x)
		h := hooks{"BeforeSave": func(tx *gorm.DB) error {
			return tx.Session(&gorm.Session{NewDB: true}).Create(&book{Title: "nested"}).Error
		}}
		dry := x.WithContext(withHooks(h)).Session(&gorm.Session{DryRun: true})
		before := last()
		for name, build := range map[string]func() *gorm.DB{
			"Create":        func() *gorm.DB { return dry.Create(&hookedBook{Title: "a"}) },
			"of a relation": func() *gorm.DB { return dry.Create(&author{Name: "a", Books: []book{{Title: "b"}}}) },
			"Save":          func() *gorm.DB { return dry.Save(&book{ID: 1, Title: "a"}) },
			"Update":        func() *gorm.DB { return dry.Model(&book{ID: 1}).Update("title", "a") },
			"Delete":        func() *gorm.DB { return dry.Delete(&book{ID: 1}) },
			"Find":          func() *gorm.DB { return dry.Find(&[]book{}) },
			"Exec":          func() *gorm.DB { return dry.Exec("DELETE FROM books") },
		} {
			tx := build()
			require.NoError(t, tx.Error, name)
			require.NotEmpty(t, tx.Statement.SQL.String(), name)
			_, ok := readsplit.DecisionOf(tx)
			require.False(t, ok, name)
			require.Equal(t, before, last(), name)
		}
		require.Contains(t, x.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&book{Title: "a"}) }), "INSERT")
		require.Equal(t, before, last())
		require.Equal(t, []string{"one"}, x.titles(t))

		// Also once the plugin is closed.
		require.NoError(t, x.plugin.Close(limit(t)))
		require.NoError(t, dry.Create(&book{Title: "a"}).Error)
		require.Equal(t, before, last())
	})
}
