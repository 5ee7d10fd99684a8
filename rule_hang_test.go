//go:build unix

package readsplit_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/testenv"
)

// endless is how long a read would take that hangs on a frozen server: nothing
// breaks its connection. What must end within seconds ends long before it.
const endless = 40 * time.Second

// R15: a frozen server takes connections and gives no answer and no error. Reads in
// flight there are broken off and run elsewhere.
func TestR15FrozenReplica(t *testing.T) {
	c := breakable(t)
	r := c.Replica(0)
	t.Run("reads in flight", func(t *testing.T) {
		d := newDB(t, c, configured(patient), configured(func(c *readsplit.Config) { c.SampleTimeout = time.Second }))
		counters(t, d, 16)
		d.eligible(t, "replica1", "replica2")
		u := startUsers(t, d, 16, nil)
		brokenOff := func() uint64 {
			all := d.plugin.Status().Retries
			return all[retry.CauseConnection] + all[retry.CauseServerDead] + all[retry.CauseAttemptTimeout]
		}
		var undo testenv.Undo
		eventually(t, "it to freeze with reads in flight", func() bool {
			u.busy(t, r)
			before := brokenOff()
			undo = injected(t)(r.Freeze(t.Context()))
			if d.plugin.Status().Replicas[0].InFlight > 0 || brokenOff() > before {
				return true
			}
			undone(t, undo) // they were quicker
			return false
		})
		u.during(t, 200, func() bool { return silent(t, r) })
		d.eligible(t, "replica2")
		frozen := time.Now()
		eventually(t, "them to be broken off", func() bool { return d.plugin.Status().Replicas[0].InFlight == 0 })
		assert.Less(t, time.Since(frozen), endless/2)
		require.True(t, silent(t, r))
		undone(t, undo)
		d.eligible(t, "replica1", "replica2")
		u.right(t)
		assert.Zero(t, u.lost.Load())
		assert.Less(t, time.Duration(u.slowest.Load()), endless/2)
		assert.Positive(t, brokenOff(), "%v", d.plugin.Status().Retries)
	})
	t.Run("connections to be opened", func(t *testing.T) {
		d := newDB(t, c, configured(impatient), configured(func(c *readsplit.Config) { c.Pool = readsplit.Pool{MaxOpen: 4} }))
		undo := injected(t)(r.Freeze(t.Context()))
		defer undone(t, undo)
		// None of these has a connection, and the pool has few: some wait for the
		// server, the others for them.
		began := time.Now()
		by := make(chan string, 32)
		for range cap(by) {
			go func() {
				var name string
				assert.NoError(t, d.WithContext(readsplit.Stale(context.Background())).Raw(whoSQL).Scan(&name).Error)
				by <- name
			}()
		}
		waited := false
		for range cap(by) {
			assert.Equal(t, "replica2", <-by)
			waited = waited || time.Since(began) > 300*time.Millisecond
		}
		assert.True(t, waited, "some must have waited for the frozen server")
		assert.Less(t, time.Since(began), endless/2)
		for range 100 {
			require.Equal(t, "replica2", served(t, d.WithContext(readsplit.Stale(t.Context()))))
		}
		require.True(t, silent(t, r))
	})
	t.Run("a new process", func(t *testing.T) {
		undo := injected(t)(r.Freeze(t.Context()))
		defer undone(t, undo)
		require.True(t, silent(t, r))
		began := time.Now()
		d := newDB(t, c, configured(impatient))
		assert.Less(t, time.Since(began), endless, "db.Use must not wait for it")
		for range 100 {
			require.NotEqual(t, "replica1", served(t, d.DB))
		}
		require.True(t, silent(t, r))
		require.NoError(t, d.plugin.Close(limit(t)))
		assert.Less(t, time.Since(began), endless, "nor must Close")
	})
}

// R15: the plugin asks for positions on a connection of its own. When that one
// hangs, sessions are not blocked, and it is replaced.
func TestR15FrozenCapture(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(patient), configured(impatient))
	counters(t, d, 16)
	d.eligible(t, "replica1", "replica2")
	const asking = "SELECT pid FROM pg_stat_activity WHERE datname = $1 AND query LIKE 'SELECT concat_ws(%'"
	pid := ask[int](t, c.Primary(), asking, d.name)
	u := startUsers(t, d, 16, nil)
	u.during(t, 50, func() bool { return true })

	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	const last = "SELECT query_start::text FROM pg_stat_activity WHERE pid = $1"
	stopped := ask[string](t, c.Primary(), last, pid)
	u.during(t, 200, func() bool { return ask[string](t, c.Primary(), last, pid) == stopped })
	eventually(t, "another connection to ask", func() bool {
		return ask[int](t, c.Primary(), "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND query LIKE 'SELECT concat_ws(%' AND pid <> $2", d.name, pid) > 0
	})
	from := d.plugin.Status().ReplicaReads
	u.during(t, 100, func() bool { return ask[string](t, c.Primary(), last, pid) == stopped })
	u.right(t)
	assert.Zero(t, u.lost.Load())
	assert.Less(t, time.Duration(u.slowest.Load()), endless/2)
	assert.Greater(t, d.plugin.Status().ReplicaReads, from, "replicas must serve again")
}
