package readsplit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// R6: a standby that crashed lets readers in again after a quarter of a second, in
// the state of its last restartpoint, over connections that database/sql makes
// anew without a word. Nobody sees less there than was acknowledged to them.
func TestR06CrashedReplicaComesBackOlder(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(patient))
	counters(t, d, 17)
	r := c.Replica(0)
	defer forgetful(t, r)()

	// Half of the users do without a bound, so that only what they wrote counts.
	normal := startUsers(t, d, 8, nil)
	stale := newUsers(d)
	for id := 8; id < 16; id++ {
		ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
		stale.done.Go(func() { stale.use(ctx, readsplit.Stale(ctx), id) })
	}
	defer stale.end()

	const starting = "FATAL:  the database system is" // 57P03
	before := inLog(t, r, starting)
	met := func() bool { return inLog(t, r, starting) > before }
	for n := 0; n < 2 || n < 10 && !met(); n++ { // it starts in a moment, in which nobody may have come
		normal.gate.Lock()
		stale.gate.Lock()
		restartpoint(t, c, r)
		normal.gate.Unlock()
		stale.gate.Unlock()
		from := normal.writes.Load()
		eventually(t, "writes", func() bool { return normal.writes.Load() > from+20 })
		normal.busy(t, r)
		replayed := ask[string](t, r, "SELECT pg_last_wal_replay_lsn()::text")
		// It would be back within moments otherwise: what it received is still there.
		undo := injected(t)(r.Delay(t.Context(), time.Minute))
		undone(t, injected(t)(r.CrashBackend(t.Context())))
		inForce := func() bool {
			return ask[bool](t, r, "SELECT pg_last_wal_replay_lsn() < $1::text::pg_lsn", replayed)
		}
		stale.during(t, 100, inForce)
		normal.during(t, 100, inForce)
		undone(t, undo)
		d.eligible(t, "replica1", "replica2")
	}
	normal.right(t)
	stale.right(t)
	assert.True(t, met(), "it must have been met while it was starting")
	assert.NotEmpty(t, d.log.matching("replica1 is regressed"), "%q", d.log.matching("replica1"))
	t.Logf("retries %v, voided %d", d.plugin.Status().Retries, d.plugin.Status().Voided)
}

// forgetful keeps a replica from flushing what it replays between restartpoints:
// what it has flushed, it comes back with.
func forgetful(t testing.TB, r *testenv.Server) (end func()) {
	t.Helper()
	execOn(t, r, "ALTER SYSTEM SET bgwriter_lru_maxpages = 0")
	execOn(t, r, "SELECT pg_reload_conf()")
	return func() {
		execOn(t, r, "ALTER SYSTEM RESET bgwriter_lru_maxpages")
		execOn(t, r, "SELECT pg_reload_conf()")
	}
}

// restartpoint makes the state to which a replica falls back when it crashes.
// Nobody may write meanwhile: a replica that delays commits lets nobody in before
// it has replayed those that the primary's checkpoint has overtaken.
func restartpoint(t testing.TB, c *testenv.Cluster, r *testenv.Server) {
	t.Helper()
	execOn(t, c.Primary(), "CHECKPOINT")
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	execOn(t, r, "CHECKPOINT")
}

// R6: an approval that was given before a crash is void after it, also for a read
// that waited for a connection meanwhile.
func TestR06ApprovalFromBeforeACrash(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(boundless), configured(func(c *readsplit.Config) {
		c.Replicas = c.Replicas[:1]
		c.Pool.MaxOpen = 1
	}))
	counters(t, d, 1)
	r := c.Replica(0)
	defer forgetful(t, r)()
	restartpoint(t, c, r)
	ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = 1 WHERE id = 1").Error)
	eventually(t, "the replica to serve the session", func() bool { return served(t, d.WithContext(ctx)) == "replica1" })

	// The only connection is taken.
	rows, err := d.WithContext(readsplit.Stale(nobody())).Raw("SELECT repeat('x', 1000) FROM generate_series(1, 100000)").Rows()
	require.NoError(t, err)
	require.True(t, rows.Next())
	type answer struct {
		n      int
		server string
		err    error
	}
	answered := make(chan answer, 1)
	go func() {
		var a answer
		tx := d.WithContext(ctx).Raw("SELECT n FROM counters WHERE id = 1").Scan(&a.n)
		decision, _ := readsplit.DecisionOf(tx)
		a.server, a.err = decision.Server, tx.Error
		answered <- a
	}()
	eventually(t, "the read to be approved and to wait", func() bool { return d.plugin.Status().Replicas[0].Pool.WaitCount > 0 })

	undo := injected(t)(r.Delay(t.Context(), time.Minute))
	defer undone(t, undo)
	undone(t, injected(t)(r.CrashBackend(t.Context())))
	var there int
	require.NoError(t, direct(t, r, d.name).QueryRowContext(t.Context(), "SELECT n FROM counters WHERE id = 1").Scan(&there))
	require.Zero(t, there, "the replica must have fallen back")
	eventually(t, "it to be read from again", func() bool { return d.plugin.Status().Replicas[0].Up })
	require.Empty(t, answered)
	_ = rows.Close() // it broke with the server
	a := <-answered
	require.NoError(t, a.err)
	assert.Equal(t, 1, a.n, "on %s", a.server)
	assert.EqualValues(t, 1, d.plugin.Status().Voided)
}

// R6: a connection that is opened while the replica moves on shows a little less
// than the sample that overtakes it. That is no crash, and nothing is void.
func TestR06NewConnectionsAreNoCrash(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(patient), configured(func(c *readsplit.Config) {
		c.Pool = readsplit.Pool{MaxOpen: 32, MaxLifetime: time.Millisecond}
	}))
	counters(t, d, 16)
	d.eligible(t, "replica1", "replica2")
	u := startUsers(t, d, 16, nil)
	u.during(t, 500, func() bool { return true })
	u.right(t)
	assert.Zero(t, u.lost.Load())
	assert.Zero(t, d.plugin.Status().Voided)
	assert.Empty(t, d.log.matching("regressed"))
	assert.Empty(t, d.log.matching("suspect"))
	assert.Empty(t, d.log.matching("several servers"))
	assert.Greater(t, d.plugin.Status().Replicas[0].Pool.MaxLifetimeClosed, int64(100), "connections must have been opened all the time")
}
