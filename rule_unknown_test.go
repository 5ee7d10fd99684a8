package readsplit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// unacknowledged makes the primary wait for a replica that will never confirm: a
// commit is made, and nobody is told.
func unacknowledged(t testing.TB, c *testenv.Cluster) (end func()) {
	t.Helper()
	var undos []testenv.Undo
	for _, r := range c.Replicas() {
		undos = append(undos, injected(t)(r.Cut(t.Context())))
	}
	execOn(t, c.Primary(), "ALTER SYSTEM SET synchronous_standby_names = '*'")
	execOn(t, c.Primary(), "SELECT pg_reload_conf()")
	commitsWait(t, c)
	return sync.OnceFunc(func() {
		execOn(t, c.Primary(), "ALTER SYSTEM RESET synchronous_standby_names")
		execOn(t, c.Primary(), "SELECT pg_reload_conf()")
		for _, u := range undos {
			undone(t, u)
		}
		require.NoError(t, c.WaitCaughtUp(context.Background()))
	})
}

// commitsWait returns when commits wait for a synchronous replica: the checkpointer must
// have heard of the setting before they do, whatever SHOW says.
func commitsWait(t testing.TB, c *testenv.Cluster) {
	t.Helper()
	probe := direct(t, c.Primary(), "postgres")
	eventually(t, "a commit to wait", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := probe.ExecContext(ctx, "SELECT pg_logical_emit_message(true, 'probe', '')")
		return err != nil && ask[int](t, c.Primary(), waiting, "postgres") > 0
	})
	release(t, c, "postgres")
}

// release ends the backends of a database that wait for a synchronous replica.
func release(t testing.TB, c *testenv.Cluster, database string) {
	t.Helper()
	execOn(t, c.Primary(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND wait_event = 'SyncRep'", database)
}

// untilItWaits is a context that is cancelled when an INSERT in a database waits for a
// synchronous replica: a time might end before anything was sent.
func untilItWaits(ctx context.Context, c *testenv.Cluster, database string) (waits context.Context, end func()) {
	waits, cancel := context.WithCancel(ctx)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for n := 0; n == 0 && waits.Err() == nil; <-tick.C {
			_ = c.Primary().DB().QueryRowContext(waits, waitingInsert, database).Scan(&n) // asked again
		}
		cancel()
	}()
	return waits, func() { cancel(); <-looked }
}

// waiting counts the backends of a database that wait for a synchronous replica.
const waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND wait_event = 'SyncRep'"

// waitingInsert counts those of them that insert.
const waitingInsert = waiting + " AND query LIKE 'INSERT%'"

// R9: a write whose outcome nobody knows binds its session as if it had happened.
// A wait for a synchronous replica that is cancelled returns an error, and the row
// is there.
func TestR09OutcomeUnknown(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(quick), configured(boundless), configured(func(c *readsplit.Config) {
		c.StickyWindow = time.Second
		c.SampleTimeout = 500 * time.Millisecond // a question may wait for a replica that will never confirm
	}))
	require.NoError(t, d.Exec("CREATE TABLE writes (note text)").Error)
	terminate := func(t testing.TB) {
		eventually(t, "the commit to wait", func() bool { return ask[int](t, c.Primary(), waiting, d.name) > 0 })
		release(t, c, d.name)
		eventually(t, "the backend to end", func() bool { return ask[int](t, c.Primary(), waiting, d.name) == 0 })
	}
	insert := func(db *gorm.DB, note string) error {
		return db.Exec("INSERT INTO writes VALUES (?)", note).Error
	}
	for name, write := range map[string]func(ctx context.Context, note string) error{
		"autocommit, cancelled": func(ctx context.Context, note string) error {
			ctx, end := untilItWaits(ctx, c, d.name)
			defer end()
			return insert(d.WithContext(ctx), note)
		},
		"transaction, cancelled": func(ctx context.Context, note string) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			tx := d.WithContext(ctx).Begin()
			require.NoError(t, insert(tx, note))
			committed := make(chan error, 1)
			go func() { committed <- tx.Commit().Error }()
			terminate(t)
			return <-committed
		},
		"autocommit, connection lost": func(ctx context.Context, note string) error {
			done := make(chan error, 1)
			go func() { done <- insert(d.WithContext(ctx), note) }()
			terminate(t)
			return <-done
		},
		"RETURNING, connection lost": func(ctx context.Context, note string) error {
			done := make(chan error, 1)
			go func() {
				var got string
				done <- d.WithContext(ctx).Raw("INSERT INTO writes VALUES (?) RETURNING note", note).Scan(&got).Error
			}()
			terminate(t)
			return <-done
		},
	} {
		t.Run(name, func(t *testing.T) {
			type user struct {
				ctx   context.Context
				note  string
				lost  time.Time
				token string
			}
			var all []*user
			for n := range 5 {
				u := &user{note: fmt.Sprintf("%s %d", name, n)}
				u.ctx = readsplit.WithSession(t.Context(), readsplit.NewSession())
				replicasServe(t, d.WithContext(u.ctx))
				all = append(all, u)
			}
			end := unacknowledged(t, c)
			t.Cleanup(end) // also when something below fails
			for _, u := range all {
				unsure := d.plugin.Status().Unsure
				require.Error(t, write(u.ctx, u.note))
				u.lost = time.Now()
				// At once, and for as long as the server may still be at work: the primary.
				for range 10 {
					tx := d.WithContext(u.ctx).Raw(whoSQL).Scan(new(string))
					require.NoError(t, tx.Error)
					decision, _ := readsplit.DecisionOf(tx)
					if time.Since(u.lost) < 250*time.Millisecond { // the window began a little earlier
						require.Equal(t, policy.ReasonUnsure, decision.Reason)
					}
				}
				assert.Equal(t, unsure+1, d.plugin.Status().Unsure)
				u.token = tokenOf(t, u.ctx)
				release(t, c, d.name)
				eventually(t, "the insert to end", func() bool { return ask[int](t, c.Primary(), waitingInsert, d.name) == 0 })
			}
			// After it, the replicas that are cut off have not reached the position of
			// then. The process is bound by it too, and whoever joins the token.
			eventually(t, "the window to end", func() bool { return time.Since(all[len(all)-1].lost) > 1100*time.Millisecond })
			there := direct(t, c.Primary(), d.name)
			for _, u := range all {
				eventually(t, "the row to be there", func() bool {
					var n int
					require.NoError(t, there.QueryRowContext(t.Context(), "SELECT count(*) FROM writes WHERE note = $1", u.note).Scan(&n))
					return n == 1
				})
				for _, reads := range []context.Context{u.ctx, context.Background(), elsewhere(t, u.token)} {
					for range 8 {
						var found []struct{ Server string }
						require.NoError(t, d.WithContext(reads).Raw("SELECT current_setting('cluster_name') AS server FROM writes WHERE note = ?", u.note).Scan(&found).Error)
						require.Len(t, found, 1)
						require.Equal(t, "primary", found[0].Server)
					}
				}
			}
			end()
			for _, u := range all {
				replicasServe(t, d.WithContext(u.ctx))
			}
		})
	}
}

// R9: what was rolled back, or never sent, binds nobody.
func TestR09NothingHappened(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(boundless))
	require.NoError(t, d.Exec("CREATE TABLE writes (id int PRIMARY KEY)").Error)
	require.NoError(t, d.Exec("INSERT INTO writes VALUES (1)").Error)
	d.eligible(t, "replica1", "replica2")
	ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
	replicasServe(t, d.WithContext(ctx))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for name, write := range map[string]func() error{
		"unique violation": func() error { return d.WithContext(ctx).Exec("INSERT INTO writes VALUES (1)").Error },
		"syntax":           func() error { return d.WithContext(ctx).Exec("INSERT INTO nowhere VALUES (1)").Error },
		"rollback": func() error {
			return d.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
				if err := tx.Exec("INSERT INTO writes VALUES (2)").Error; err != nil {
					return err
				}
				return errors.New("changed its mind")
			})
		},
		"never sent": func() error { return d.WithContext(ended).Exec("INSERT INTO writes VALUES (3)").Error },
	} {
		unsure := d.plugin.Status().Unsure
		require.Error(t, write(), name)
		assert.Equal(t, unsure, d.plugin.Status().Unsure, name)
		undo := still(t, c)
		execOn(t, c.Primary(), "SELECT pg_logical_emit_message(true, 'other', '')") // ahead of the replicas
		assert.NotEqual(t, "primary", served(t, d.WithContext(ctx)), name)
		undo()
	}
}
