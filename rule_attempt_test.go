package readsplit_test

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/testenv"
)

// lockedOn makes a replica hold an ACCESS EXCLUSIVE lock on a table that nobody
// holds on the primary any more, and that no news will end.
func lockedOn(t testing.TB, d *testDB, r *testenv.Server, table string) (undo testenv.Undo) {
	t.Helper()
	tx, err := direct(t, d.cluster.Primary(), d.name).BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "LOCK TABLE "+table)
	require.NoError(t, err)
	there := direct(t, r, d.name)
	const held = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = $1::regclass"
	locks := func(on *sql.DB) (n int) {
		require.NoError(t, on.QueryRowContext(limit(t), held, table).Scan(&n))
		return n
	}
	eventually(t, "the lock to be replayed", func() bool {
		execOn(t, d.cluster.Primary(), "SELECT pg_current_xact_id()") // flushes its record
		return locks(there) == 1
	})
	undo = injected(t)(r.PauseReplay(t.Context()))
	require.NoError(t, tx.Rollback())
	for _, other := range d.cluster.Replicas() {
		if other != r {
			on := direct(t, other, d.name)
			eventually(t, "the others to be free", func() bool { return locks(on) == 0 })
		}
	}
	require.Equal(t, 1, locks(there))
	return undo
}

// R15: replay that stands still with a lock holds up whoever reads the table there.
// With a limit for one attempt, they are read elsewhere.
func TestR15LockHeldByReplay(t *testing.T) {
	const timeout = 150 * time.Millisecond
	for _, prepared := range []bool{false, true} {
		name := map[bool]string{false: "plain", true: "prepared"}[prepared]
		t.Run(name, func(t *testing.T) {
			c := breakable(t)
			d := newDB(t, c, prepareStmt(prepared), configured(boundless), configured(func(c *readsplit.Config) { c.AttemptTimeout = timeout }))
			counters(t, d, 16)
			require.NoError(t, d.Exec("CREATE TABLE others (id int)").Error)
			// The position of what was written is known before replay stops, else the
			// replica might never reach it.
			eventually(t, "both replicas to serve", func() bool {
				return slices.Equal(serversOf(t, d, "others"), []string{"replica1", "replica2"})
			})
			r := c.Replica(0)
			undo := lockedOn(t, d, r, "counters")

			var all sync.WaitGroup
			var failed, slowest, here atomic.Int64
			for id := range 16 {
				all.Go(func() {
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					for i := range 20 {
						began := time.Now()
						var found []struct {
							N      int64
							Server string
						}
						var err error
						if db := d.WithContext(ctx); i%2 == 0 {
							err = db.Table("counters").Select(readersSelect).Where("id = ?", id).Find(&found).Error
						} else {
							err = db.Raw("SELECT "+readersSelect+" FROM counters WHERE id = ?", id).Scan(&found).Error
						}
						if err != nil || len(found) != 1 {
							failed.Add(1)
							t.Logf("read %d of client %d: %v, %v", i, id, found, err)
							continue
						}
						if found[0].Server == "replica1" {
							here.Add(1)
						}
						for took, old := int64(time.Since(began)), slowest.Load(); took > old && !slowest.CompareAndSwap(old, took); {
							old = slowest.Load()
						}
					}
				})
			}
			all.Wait()
			assert.Zero(t, failed.Load())
			assert.Zero(t, here.Load())
			// Two attempts, and one more where the other replica is slow to answer for want of cores.
			assert.Less(t, time.Duration(slowest.Load()), 3*timeout+10*time.Second)
			st := d.plugin.Status()
			assert.Positive(t, st.Retries[retry.CauseAttemptTimeout], "%v", st.Retries)
			assert.True(t, st.Replicas[0].Up, "slow is not down")
			t.Logf("slowest %v, %v", time.Duration(slowest.Load()).Round(time.Millisecond), st.Retries)
			eventually(t, "the server to be rid of them", func() bool {
				return ask[int](t, r, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'", d.name) == 0
			})
			eventually(t, "other tables to be read there", func() bool {
				return slices.Equal(serversOf(t, d, "others"), []string{"replica1", "replica2"})
			})
			undone(t, undo)
			eventually(t, "it to serve again", func() bool { return len(serversOf(t, d, "counters")) == 2 })
		})
	}
}

// serversOf are the replicas that serve reads of a table.
func serversOf(t testing.TB, d *testDB, table string) (names []string) {
	t.Helper()
	seen := map[string]bool{}
	for range 40 {
		var name string
		require.NoError(t, d.Raw("SELECT current_setting('cluster_name') FROM (SELECT count(*) FROM "+table+") c").Scan(&name).Error)
		seen[name] = true
	}
	for _, name := range []string{"primary", "replica1", "replica2"} {
		if seen[name] {
			names = append(names, name)
		}
	}
	return names
}

// The limit ends with the first row, is not for transactions, and leaves nothing
// behind in the caller's context.
func TestAttemptTimeoutEndsWithTheFirstRow(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.past(t, `
			CREATE FUNCTION pause(seconds float) RETURNS text LANGUAGE plpgsql STABLE AS
				$$ BEGIN PERFORM pg_sleep(seconds); RETURN current_setting('cluster_name'); END $$`)
		require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
		// The first rows fill what the server sends at once, then it rests.
		const streams = "SELECT i AS id, repeat('x', 100) || CASE WHEN i = 1000 THEN pause(0.5) ELSE '' END AS title FROM generate_series(1, 2000) i"

		t.Run("rows that stream", func(t *testing.T) {
			db, _ := x.session()
			// If the limit were for all rows, no attempt on a replica would ever end.
			eventually(t, "the first row to come in time", func() bool {
				var books []book
				tx := db.Raw(streams).Find(&books)
				require.NoError(t, tx.Error)
				require.Len(t, books, 2000)
				d, _ := readsplit.DecisionOf(tx)
				return d.Replica && d.Attempts == 1
			})
			rows, err := db.Raw(streams).Rows()
			require.NoError(t, err)
			n := 0
			for rows.Next() {
				n++
			}
			require.NoError(t, rows.Err())
			require.Equal(t, 2000, n)
		})
		t.Run("a transaction", func(t *testing.T) {
			require.NoError(t, x.Transaction(func(tx *gorm.DB) error {
				var server string
				require.NoError(t, tx.Raw("SELECT pause(0.5)").Scan(&server).Error)
				onReplica(t, server)
				return nil
			}, &sql.TxOptions{ReadOnly: true}))
		})
		t.Run("the primary's own run", func(t *testing.T) {
			var server string
			before := x.plugin.Status().Retries[retry.CauseAttemptTimeout]
			tx := x.Raw("SELECT pause(0.5)").Scan(&server)
			require.NoError(t, tx.Error)
			require.Equal(t, "primary", server)
			d, _ := readsplit.DecisionOf(tx)
			require.Equal(t, 3, d.Attempts)
			require.Equal(t, before+2, x.plugin.Status().Retries[retry.CauseAttemptTimeout])
		})
		t.Run("the caller's own deadline", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, x.WithContext(ctx).Raw("SELECT pause(0.5)").Scan(new(string)).Error, context.DeadlineExceeded)
		})
		t.Run("rows end with the caller", func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			rows, err := x.WithContext(ctx).Raw(streams).Rows()
			require.NoError(t, err)
			require.True(t, rows.Next())
			cancel()
			for rows.Next() {
			}
			require.ErrorIs(t, rows.Err(), context.Canceled)
		})
		t.Run("nothing is left behind", func(t *testing.T) {
			ctx := &counting{Context: context.Background(), done: make(chan struct{})}
			for range 20 {
				require.NoError(t, x.WithContext(ctx).Find(&[]book{}).Error)
				require.NoError(t, x.WithContext(ctx).Raw("SELECT 1").Scan(new(int)).Error)
				require.NoError(t, x.WithContext(ctx).Exec("SELECT 1").Error)
			}
			require.Positive(t, ctx.registered.Load())
			eventually(t, "all of them to be gone", func() bool { return ctx.open.Load() == 0 })
		})
	}, saidToRead("pause"), configured(func(c *readsplit.Config) { c.AttemptTimeout = 150 * time.Millisecond }))
}

// counting is a context that counts who waits for its end.
type counting struct {
	context.Context
	done             chan struct{}
	registered, open atomic.Int64
}

func (c *counting) Done() <-chan struct{} { return c.done }

// AfterFunc is what package context looks for.
func (c *counting) AfterFunc(func()) func() bool {
	c.registered.Add(1)
	c.open.Add(1)
	var once atomic.Bool
	return func() bool {
		if once.CompareAndSwap(false, true) {
			c.open.Add(-1)
			return true
		}
		return false
	}
}

// A pool whose connections are all held up is waited for no longer than that.
func TestAttemptTimeoutOfAFullPool(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(boundless), configured(func(c *readsplit.Config) {
		c.AttemptTimeout = time.Second
		c.Pool = readsplit.Pool{MaxOpen: 2}
		c.Balancer = first{}
	}))
	eventually(t, "replica1 to serve", func() bool { return served(t, d.DB) == "replica1" })
	var pool *sql.DB
	d.plugin.Pools(func(_, server string, p *sql.DB) {
		if server == "replica1" {
			pool = p
		}
	})
	for range 2 {
		conn, err := pool.Conn(limit(t))
		require.NoError(t, err)
		defer conn.Close()
	}
	began := time.Now()
	require.Equal(t, "replica2", served(t, d.DB))
	require.Less(t, time.Since(began), 15*time.Second)
	// One, and another where the other replica is slow for want of cores.
	require.Contains(t, []uint64{1, 2}, d.plugin.Status().Retries[retry.CauseAttemptTimeout])
	require.True(t, d.plugin.Status().Replicas[0].Up)
}
