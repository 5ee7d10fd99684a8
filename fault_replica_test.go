package readsplit_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/testenv"
)

// A replica that goes, however it does, costs nobody an error, and is used again
// when it is back.
func TestFaultReplicaGoesAndComesBack(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(patient))
	counters(t, d, 16)
	r := c.Replica(0)
	for name, inject := range map[string]func(context.Context) (testenv.Undo, error){"kill": r.Kill, "stop": r.Stop} {
		t.Run(name, func(t *testing.T) {
			d.eligible(t, "replica1", "replica2")
			u := startUsers(t, d, 16, nil)
			u.busy(t, r)
			undo := injected(t)(inject(t.Context()))
			gone := func() bool { return refuses(r) }
			u.during(t, 100, gone)
			d.eligible(t, "replica2")
			noticed := time.Now()
			u.during(t, 100, gone)
			assert.False(t, u.servedSince(r, noticed))
			assert.False(t, d.plugin.Status().Replicas[0].Up)
			eventually(t, "its pooled connections to be closed", func() bool { return d.plugin.Status().Replicas[0].Pool.OpenConnections == 0 })
			undone(t, undo)
			d.eligible(t, "replica1", "replica2")
			u.right(t)
			assert.Zero(t, u.lost.Load())
		})
	}
}

// An administrator, or a pooler, ends connections again and again.
func TestFaultBackendsAreTerminated(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(patient))
	counters(t, d, 16)
	d.eligible(t, "replica1", "replica2")
	u := startUsers(t, d, 16, nil)
	ended := 0
	for range 8 {
		r := c.Replica(0)
		u.busy(t, r)
		from := u.reads.Load()
		ended += ask[int](t, r, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = $1 AND state = 'active' AND query LIKE 'SELECT n, current_setting%'", d.name)
		eventually(t, "reads", func() bool { return u.reads.Load() > from+20 })
		d.eligible(t, "replica1", "replica2")
	}
	assert.Positive(t, ended)
	u.right(t)
	assert.Zero(t, u.lost.Load())
	assert.Positive(t, d.plugin.Status().Retries[retry.CauseTerminated], "%v", d.plugin.Status().Retries)
}

// Replay removes rows that a read still needs, and cancels it.
func TestFaultRecoveryConflict(t *testing.T) {
	c := breakable(t)
	for _, r := range c.Replicas()[:1] {
		execOn(t, r, "ALTER SYSTEM SET max_standby_streaming_delay = 0")
		execOn(t, r, "SELECT pg_reload_conf()")
		defer execOn(t, r, "SELECT pg_reload_conf()")
		defer execOn(t, r, "ALTER SYSTEM RESET max_standby_streaming_delay")
	}
	r := c.Replica(0)
	const cancelled = "due to conflict with recovery" // a statement, or its connection with it
	t.Run("rows", func(t *testing.T) {
		// Where replay waits for the processor, reads would leave the replica that cancels them.
		d := newDB(t, c, configured(patient), configured(boundless))
		counters(t, d, 16)
		d.eligible(t, "replica1", "replica2")
		before := inLog(t, r, cancelled)
		u := startUsers(t, d, 16, nil)
		eventually(t, "reads to be cancelled", func() bool {
			require.NoError(t, d.Exec("VACUUM counters").Error)
			// Not more often: from then on the text is read elsewhere
			// (TestStatementThatKeepsConflicting).
			return inLog(t, r, cancelled) >= before+2 && u.reads.Load() > 100 &&
				d.plugin.Status().Retries[retry.CauseRecoveryConflict] >= 2
		})
		u.right(t)
		assert.Zero(t, u.lost.Load())
		assert.True(t, d.plugin.Status().Replicas[0].Up, "the server is as good as before")
	})
	t.Run("table", func(t *testing.T) {
		// A read that is cancelled after a second goes aside: on a busy machine, all of them.
		d := newDB(t, c, configured(boundless), configured(func(c *readsplit.Config) {
			c.ConflictGroup, c.Replicas[1].Groups = "aside", []string{"aside"}
			c.Balancer = first{} // by chance, none would come to the replica where they are cancelled
		}))
		require.NoError(t, d.Exec("CREATE TABLE doomed AS SELECT i FROM generate_series(1, 1000) i").Error)
		require.NoError(t, c.WaitCaughtUp(t.Context()))
		eventually(t, "replica1 to serve", func() bool { return served(t, d.DB) == "replica1" })
		undo := injected(t)(c.Replica(1).PauseReplay(t.Context())) // here it stays
		defer undone(t, undo)
		type answer struct {
			n      int
			server string
			err    error
		}
		answers := make(chan answer, 4)
		for range cap(answers) {
			go func() {
				ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
				var a struct {
					N      int
					Server string
				}
				err := d.WithContext(ctx).Raw("SELECT count(*) AS n, current_setting('cluster_name') AS server FROM doomed a, doomed b, doomed c WHERE c.i <= 20").Scan(&a).Error
				answers <- answer{a.N, a.Server, err}
			}()
		}
		// One that comes later finds no table, here and on the primary.
		const joining = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND state = 'active' AND wait_event IS NULL AND query LIKE '%FROM doomed%'"
		eventually(t, "all of them to run", func() bool { return ask[int](t, r, joining, d.name) == cap(answers) })
		before := inLog(t, r, cancelled)
		_, err := direct(t, c.Primary(), d.name).ExecContext(t.Context(), "DROP TABLE doomed")
		require.NoError(t, err)
		for range cap(answers) {
			a := <-answers
			require.NoError(t, a.err)
			assert.Equal(t, 20_000_000, a.n)
			assert.NotEqual(t, "primary", a.server)
		}
		assert.Greater(t, inLog(t, r, cancelled), before)
		assert.Positive(t, d.plugin.Status().Retries[retry.CauseRecoveryConflict])
	})
}

// A replica that takes no further connection serves what it can; the rest goes
// elsewhere.
func TestFaultTooManyConnections(t *testing.T) {
	c := breakable(t)
	const limitOfRole = 12
	execOn(t, c.Primary(), "CREATE ROLE app LOGIN SUPERUSER PASSWORD 'app'")
	defer execOn(t, c.Primary(), "DROP ROLE app")
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	admin := newDB(t, c)
	counters(t, admin, 1)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	as := func(s *testenv.Server) string { return s.DSNFor(admin.name) + " user=app password=app" }
	d := newDB(t, c, inDatabase(admin.name), configured(func(cfg *readsplit.Config) {
		for i := range cfg.Replicas {
			cfg.Replicas[i].Dialector = postgres.Open(as(c.Replica(i)))
		}
	}))
	d.eligible(t, "replica1", "replica2")
	execOn(t, c.Primary(), "ALTER ROLE app NOSUPERUSER CONNECTION LIMIT 12")
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	var hogs []*sql.Conn
	hog, err := sql.Open("pgx", as(c.Replica(0)))
	require.NoError(t, err)
	defer func() { require.NoError(t, hog.Close()) }()
	for {
		conn, err := hog.Conn(t.Context())
		if err != nil {
			require.ErrorContains(t, err, "53300")
			break
		}
		hogs = append(hogs, conn)
		require.LessOrEqual(t, len(hogs), limitOfRole)
	}
	full := func() bool {
		conn, err := hog.Conn(t.Context())
		if err == nil {
			hogs = append(hogs, conn)
		}
		return err != nil
	}
	require.True(t, full())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 40 {
				var n int
				ctx := readsplit.Stale(context.Background())
				assert.NoError(t, d.WithContext(ctx).Raw("SELECT count(*) FROM generate_series(1, 20000)").Scan(&n).Error)
			}
		})
	}
	all.Wait()
	require.True(t, full())
	st := d.plugin.Status()
	assert.Positive(t, st.Retries[retry.CauseTooManyConnections], "%v", st.Retries)
	assert.True(t, st.Replicas[0].Up, "it still answers the monitor")
	for _, conn := range hogs {
		require.NoError(t, conn.Close())
	}
}

// A replica that is down when the application starts joins when it comes up.
func TestFaultReplicaDownAtStart(t *testing.T) {
	c := breakable(t)
	r := c.Replica(0)
	undo := injected(t)(r.Stop(t.Context()))
	d := newDB(t, c, configured(patient))
	counters(t, d, 16)
	d.eligible(t, "replica2")
	u := startUsers(t, d, 16, nil)
	u.during(t, 200, func() bool { return refuses(r) })
	st := d.plugin.Status().Replicas[0]
	assert.False(t, st.Up)
	assert.Equal(t, policy.RoleUnknown, st.Role)
	assert.True(t, st.Sampled.IsZero())
	undone(t, undo)
	d.eligible(t, "replica1", "replica2")
	u.right(t)
	assert.Zero(t, u.lost.Load())
	assert.Positive(t, d.plugin.Status().Replicas[0].Reads)
}

// With every replica gone, the primary serves.
func TestFaultAllReplicasGone(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(patient))
	counters(t, d, 16)
	d.eligible(t, "replica1", "replica2")
	u := startUsers(t, d, 16, nil)
	var undos []testenv.Undo
	for _, r := range c.Replicas() {
		u.busy(t, r)
		undos = append(undos, injected(t)(r.Kill(t.Context())))
	}
	gone := func() bool { return refuses(c.Replica(0)) && refuses(c.Replica(1)) }
	u.during(t, 200, gone)
	for _, ctx := range []context.Context{t.Context(), readsplit.Stale(t.Context()), readsplit.AnyReplica(t.Context()), readsplit.AtMost(t.Context(), time.Second)} {
		assert.Equal(t, "primary", served(t, d.WithContext(ctx)))
	}
	require.True(t, gone())
	for _, undo := range undos {
		undone(t, undo)
	}
	d.eligible(t, "replica1", "replica2")
	u.right(t)
	assert.Zero(t, u.lost.Load())
}
