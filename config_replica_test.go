package readsplit_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

func (f fieldTest) zone(t *testing.T) {
	zones := func(c *readsplit.Config) {
		c.Replicas[0].Zone, c.Replicas[1].Zone = "a", "b"
		c.Spill = policy.Spill{InFlight: -1, Latency: -1} // a slow machine is no reason to leave
	}
	base := newDB(t, f.c, inDatabase(f.database), configured(zones))
	changed := newDB(t, f.c, inDatabase(f.database), configured(zones), configured(func(c *readsplit.Config) { c.Zone = "b" }))
	eventually(t, "both to serve", func() bool { return len(servers(t, base, nobody(), 40)) == 2 })
	assert.Equal(t, map[string]int{"replica2": 40}, servers(t, changed, nobody(), 40))
}

func (f fieldTest) replicaZone(t *testing.T) {
	here := func(c *readsplit.Config) { c.Zone, c.Spill = "a", policy.Spill{InFlight: -1, Latency: -1} }
	base := newDB(t, f.c, inDatabase(f.database), configured(here))
	changed := newDB(t, f.c, inDatabase(f.database), configured(here), configured(func(c *readsplit.Config) { c.Replicas[0].Zone = "a" }))
	eventually(t, "both to serve", func() bool { return len(servers(t, base, nobody(), 40)) == 2 })
	assert.Equal(t, map[string]int{"replica1": 40}, servers(t, changed, nobody(), 40))
	// A preference, not a condition.
	require.NoError(t, changed.plugin.Drain(limit(t), "replica1"))
	assert.Equal(t, map[string]int{"replica2": 20}, servers(t, changed, nobody(), 20))
}

func (f fieldTest) weight(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.Replicas[0].Weight = 1000 })
	assert.Greater(t, servers(t, base, nobody(), 100)["replica2"], 20)
	assert.Less(t, servers(t, changed, nobody(), 100)["replica2"], 10)
}

func (f fieldTest) groups(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.Replicas[1].Groups = []string{"reports"} })
	ctx := readsplit.Group(nobody(), "reports")
	require.ErrorIs(t, base.WithContext(ctx).Raw(whoSQL).Scan(new(string)).Error, readsplit.ErrUnknownGroup)
	assert.Equal(t, map[string]int{"replica2": 40}, servers(t, changed, ctx, 40))
	eventually(t, "both to serve", func() bool { return len(servers(t, changed, nobody(), 40)) == 2 })
}

// A server that is a primary is never read from in place of a replica, unless that
// is allowed.
func (f fieldTest) balanced(t *testing.T) {
	said := func(change ...dbOption) readsplit.ServerStatus {
		return newDB(t, f.c, append([]dbOption{inDatabase(f.database)}, change...)...).plugin.Status().Replicas[0]
	}
	base := said()
	assert.False(t, base.Balanced)
	assert.Empty(t, base.Backends)
	changed := said(configured(func(c *readsplit.Config) { c.Replicas[0].Balanced = true }))
	assert.True(t, changed.Balanced)
	require.Len(t, changed.Backends, 1, "that answered so far")
	assert.Equal(t, f.c.Replica(0).Port(), changed.Backends[0].Port)
}

func (f fieldTest) allowPrimary(t *testing.T) {
	one := func(c *readsplit.Config) {
		c.Replicas = c.Replicas[:1]
		c.Replicas[0].Dialector = postgres.Open(f.c.Primary().DSNFor(f.database))
	}
	reason := func(d *testDB, ctx context.Context) (policy.Reason, bool) {
		decision, ok := readsplit.DecisionOf(d.WithContext(ctx).Raw(whoSQL).Scan(new(string)))
		require.True(t, ok)
		return decision.Reason, decision.Replica
	}
	base := newDB(t, f.c, inDatabase(f.database), configured(one))
	for _, ctx := range []context.Context{nobody(), readsplit.Stale(nobody()), readsplit.AnyReplica(nobody())} {
		why, replica := reason(base, ctx)
		assert.False(t, replica)
		assert.Equal(t, policy.ReasonNotAStandby, why)
	}
	assert.Len(t, base.log.matching("warn:", "PRIMARY"), 1)

	allow := func(c *readsplit.Config) { c.Replicas[0].AllowPrimaryAsReplica = true }
	changed := newDB(t, f.c, inDatabase(f.database), configured(one), configured(allow))
	// It shows every write at once.
	replica := 0
	for n := range 50 {
		ctx := nobody()
		require.NoError(t, changed.WithContext(ctx).Exec("UPDATE counters SET n = ? WHERE id = 4", n).Error)
		var got int
		tx := changed.WithContext(ctx).Raw("SELECT n FROM counters WHERE id = 4").Scan(&got)
		require.NoError(t, tx.Error)
		require.Equal(t, n, got)
		if decision, _ := readsplit.DecisionOf(tx); decision.Replica {
			replica++
		}
	}
	assert.Positive(t, replica)
	assert.Empty(t, changed.log.matching("PRIMARY"))
	// But a write that was taken for a read still runs where writes run.
	var readOnly string
	require.NoError(t, changed.WithContext(nobody()).Raw("SHOW default_transaction_read_only").Scan(&readOnly).Error)
	assert.Equal(t, "on", readOnly)
	require.NoError(t, changed.Exec("UPDATE counters SET n = 0").Error)
}

// at runs n reads at the same time and returns how many connections the replica
// sees from this pool, at most.
func (f fieldTest) at(t *testing.T, d *testDB, n int) (most int) {
	t.Helper()
	ctx, end := context.WithCancel(nobody())
	defer end()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				_ = d.WithContext(ctx).Raw("SELECT count(*) FROM lingers").Scan(new(int)).Error
			}
		})
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < 150*time.Millisecond || most == 0; <-tick.C {
		most = max(most, d.plugin.Status().Replicas[0].Pool.InUse)
	}
	end()
	all.Wait()
	return most
}

// poolMaxOpen shows that the bound on open connections holds, wherever it is set.
func (f fieldTest) poolMaxOpen(set func(*readsplit.Config, readsplit.Pool)) func(*testing.T) {
	return func(t *testing.T) {
		base, changed := f.both(t, func(c *readsplit.Config) { set(c, readsplit.Pool{MaxOpen: 1}) })
		eventually(t, "two at the same time", func() bool { return f.at(t, base, 12) > 1 })
		eventually(t, "reads to wait for each other", func() bool {
			assert.Equal(t, 1, f.at(t, changed, 12))
			return changed.plugin.Status().Replicas[0].Pool.WaitCount > 0
		})
	}
}

func (f fieldTest) poolMaxIdle(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.Pool.MaxIdle = 1 })
	f.at(t, base, 12)
	f.at(t, changed, 12)
	idle := func(d *testDB) int { return d.plugin.Status().Replicas[0].Pool.Idle }
	eventually(t, "connections to be kept", func() bool {
		f.at(t, base, 12) // a server that was taken for down in between has lost them
		return idle(base) > 1
	})
	assert.LessOrEqual(t, idle(changed), 1)
	eventually(t, "a connection to be closed because another one is idle", func() bool {
		f.at(t, changed, 12)
		return changed.plugin.Status().Replicas[0].Pool.MaxIdleClosed > 0
	})
}

// backends returns how many different backends serve ten reads, one after the other.
func backends(t *testing.T, d *testDB) int {
	t.Helper()
	pids := map[string]bool{}
	for range 10 {
		var who string
		require.NoError(t, d.WithContext(nobody()).Raw("SELECT current_setting('cluster_name') || pg_backend_pid()").Scan(&who).Error)
		pids[who] = true
	}
	return len(pids)
}

func (f fieldTest) poolMaxLifetime(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.Pool.MaxLifetime = time.Nanosecond })
	assert.LessOrEqual(t, backends(t, base), 2, "one on each replica")
	assert.Greater(t, backends(t, changed), 5)
}

func (f fieldTest) poolMaxIdleTime(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.Pool.MaxIdleTime = time.Millisecond })
	backends(t, base)
	backends(t, changed)
	open := func(d *testDB) int {
		st := d.plugin.Status()
		return st.Replicas[0].Pool.OpenConnections + st.Replicas[1].Pool.OpenConnections
	}
	require.Positive(t, open(base))
	eventually(t, "idle connections to be closed", func() bool { return open(changed) == 0 })
	assert.Positive(t, open(base))
}

// What is stated of a server counts where it does not tell its position, and for
// nothing where it does.
func (f fieldTest) statedLag(t *testing.T) {
	with := reader(t, f.c, f.database, "")
	require.NoError(t, f.c.WaitCaughtUp(limit(t)))
	said := func(with string, lag time.Duration) readsplit.ServerStatus {
		d := newDB(t, f.c, inDatabase(f.database), as(f.c, f.database, with, lag))
		eventually(t, "both servers to have answered", func() bool {
			s := d.plugin.Status()
			return !s.Primary.Sampled.IsZero() && s.Replicas[0].Up
		})
		return d.plugin.Status().Replicas[0]
	}
	base, changed, told := said(with, 0), said(with, time.Second), said("", time.Second)
	assert.True(t, base.NoPosition)
	assert.False(t, base.LagKnown)
	assert.True(t, changed.LagKnown)
	assert.GreaterOrEqual(t, changed.Lag, time.Second)
	assert.Equal(t, time.Second, changed.StatedLag)
	assert.False(t, told.NoPosition)
	assert.Zero(t, told.StatedLag)
}
