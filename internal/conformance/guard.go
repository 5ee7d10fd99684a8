package conformance

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/readonlyguard"
)

// A read session refuses each way to write before anything is sent and before any hook runs;
// what only reads goes on.
func testGuard(t *testing.T, s *suite) {
	for _, returned := range []bool{false, true} {
		modes := s.modes
		if returned {
			modes = s.oneMode
		}
		modes(t, func(t *testing.T, d *open) {
			hooked := 0
			count := func(*gorm.DB) error { hooked++; return nil }
			ctx := withHooks(newSession(), hooks{"BeforeSave": count, "BeforeUpdate": count, "BeforeDelete": count})
			readOnly := d.WithContext(readsplit.ReadOnly(ctx))
			refused := func(name string, write func() error) {
				t.Helper()
				var e *readonlyguard.Error
				if returned {
					require.ErrorAs(t, write(), &e, name)
					return
				}
				func() {
					defer func() { e, _ = recover().(*readonlyguard.Error) }()
					_ = write()
				}()
				require.NotNil(t, e, "%s: nothing has panicked", name)
			}
			sent := s.sent(t, func() {
				for _, name := range slices.Sorted(maps.Keys(writers)) {
					w := writers[name]
					if w.inside || name == "Create with a given identity" || name == "Save" {
						continue // what they begin with is allowed
					}
					refused(name, func() error { return w.write(s, readOnly) })
				}
				refused("hooks of Create", func() error { return readOnly.Create(&hookedBook{Title: "a"}).Error })
				refused("hooks of Save", func() error { return readOnly.Save(&hookedBook{ID: 1}).Error })
				refused("hooks of Update", func() error { return readOnly.Model(&hookedBook{ID: 1}).Update("title", "a").Error })
				refused("hooks of Delete", func() error { return readOnly.Delete(&hookedBook{ID: 1}).Error })
				refused("AutoMigrate", func() error { return readOnly.AutoMigrate(&shelf{}) })
			})
			require.Empty(t, sent, "nothing was sent")
			require.Zero(t, hooked)

			// Transactions and savepoints are no writes; a write inside of them is.
			require.NoError(t, readOnly.Transaction(func(tx *gorm.DB) error {
				require.True(t, s.isReplica(d.who(t, tx)) || d.who(t, tx) == s.primary())
				refused("in a transaction", func() error { return tx.Create(&book{Title: "a"}).Error })
				return tx.Session(&gorm.Session{NewDB: true}).Find(&[]book{}).Error
			}))
			require.NotPanics(t, func() {
				require.Contains(t, readOnly.Session(&gorm.Session{DryRun: true}).Create(&book{Title: "a"}).Statement.SQL.String(), "INSERT")
			})
			d.reads(t, readOnly, false, "one")
			require.Equal(t, []string{"one"}, s.titles(t))
			require.NoError(t, d.WithContext(context.Background()).Create(&book{Title: "two", AuthorID: s.ann}).Error, "others write")
		}, config(func(c *readsplit.Config) { c.GuardErrors = returned }))
	}
}
