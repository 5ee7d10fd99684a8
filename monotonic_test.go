package readsplit_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
)

func monotonic(c *readsplit.Config) { c.Guarantee = session.MonotonicReads }

// seesBooks counts the books that the next read of a handle sees.
func seesBooks(t testing.TB, db *gorm.DB) (n int) {
	t.Helper()
	require.NoError(t, db.Session(&gorm.Session{NewDB: true}).Raw("SELECT count(*) FROM books_t").Scan(&n).Error)
	return n
}

// One replica shows what others write, the other one has stopped: a session that has
// seen the new state never sees the old one.
func TestReadsAreMonotonic(t *testing.T) {
	goesBack := func(t *testing.T, x *trap) (backwards int) {
		_, err := x.cluster.Replica(1).PauseReplay(limit(t))
		require.NoError(t, err)
		var all sync.WaitGroup
		var mu sync.Mutex
		for range 4 {
			all.Go(func() {
				db, _ := x.session()
				last := 0
				for i := range 100 {
					if i%10 == 0 {
						x.past(t, "INSERT INTO books_t (title) VALUES ('x')")
					}
					n := seesBooks(t, db)
					if n < last {
						mu.Lock()
						backwards++
						mu.Unlock()
					}
					last = n
				}
			})
		}
		all.Wait()
		require.NoError(t, x.cluster.UndoAll())
		return backwards
	}
	eachMode(t, func(t *testing.T, x *trap) { assert.Zero(t, goesBack(t, x)) }, configured(monotonic))
	assert.Positive(t, goesBack(t, newTrap(t)), "it is not promised without being asked for")
}

// What was seen binds wherever it was seen: on a replica that went away, on the
// primary, in a transaction, in another process.
func TestMonotonicWhateverHasShownIt(t *testing.T) {
	for name, see := range map[string]func(t *testing.T, x *trap, db *gorm.DB, ctx context.Context) *gorm.DB{
		"a replica that is drained": func(t *testing.T, x *trap, db *gorm.DB, _ context.Context) *gorm.DB {
			eventually(t, "the replica to show it", func() bool {
				db, _ = x.session() // one that has seen the old state stays where it is
				return seesBooks(t, db) == 2
			})
			require.NoError(t, x.plugin.Drain(limit(t), "replica1"))
			t.Cleanup(func() { require.NoError(t, x.plugin.Resume("replica1")) })
			return db
		},
		"the primary": func(t *testing.T, x *trap, db *gorm.DB, ctx context.Context) *gorm.DB {
			require.Equal(t, 2, seesBooks(t, x.WithContext(readsplit.Fresh(ctx))))
			return db
		},
		"a transaction": func(t *testing.T, x *trap, db *gorm.DB, _ context.Context) *gorm.DB {
			tx := db.Begin()
			require.NoError(t, tx.Error)
			require.Equal(t, 2, seesBooks(t, tx))
			require.NoError(t, tx.Rollback().Error)
			return db
		},
		"a read-only transaction": func(t *testing.T, x *trap, db *gorm.DB, _ context.Context) *gorm.DB {
			eventually(t, "a replica to show it", func() bool {
				db, _ = x.session()
				tx := db.Begin(&sql.TxOptions{ReadOnly: true})
				require.NoError(t, tx.Error)
				defer func() { require.NoError(t, tx.Commit().Error) }()
				return seesBooks(t, tx) == 2
			})
			require.NoError(t, x.plugin.Drain(limit(t), "replica1"))
			t.Cleanup(func() { require.NoError(t, x.plugin.Resume("replica1")) })
			return db
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTrap(t, configured(monotonic))
			defer func() { require.NoError(t, x.cluster.UndoAll()) }()
			_, err := x.cluster.Replica(1).PauseReplay(limit(t))
			require.NoError(t, err)
			x.past(t, "INSERT INTO books_t (title) VALUES ('two')")
			db, ctx := x.session()
			db = see(t, x, db, ctx)
			for range 20 {
				require.Equal(t, 2, seesBooks(t, db))
			}
		})
	}
}

// What was seen travels in the token.
func TestMonotonicAcrossProcesses(t *testing.T) {
	x, other := newTrap(t, configured(monotonic)), newTrap(t, configured(monotonic))
	defer func() { require.NoError(t, x.cluster.UndoAll()) }()
	_, err := x.cluster.Replica(1).PauseReplay(limit(t))
	require.NoError(t, err)
	x.past(t, "INSERT INTO books_t (title) VALUES ('two')")
	s := readsplit.NewSession()
	ctx := readsplit.WithSession(t.Context(), s)
	require.Equal(t, 2, seesBooks(t, x.WithContext(readsplit.Fresh(ctx))))
	token, err := s.Token(ctx)
	require.NoError(t, err)

	for range 20 {
		joined := readsplit.NewSession()
		joined.Join(token)
		require.NotEqual(t, "replica2", served(t, other.WithContext(readsplit.WithSession(t.Context(), joined))))
	}
	by := map[string]bool{}
	for range 40 {
		by[served(t, other.WithContext(nobody()))] = true
	}
	assert.Contains(t, by, "replica2", "others read there")
}
