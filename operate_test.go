package readsplit_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// pooled counts the connections of a database on a server that have run a read.
const pooled = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND query LIKE 'SELECT n, current_setting%'"

// A replica is taken out of service and put back under load, and nobody notices.
func TestDrainAndResume(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(patient))
	counters(t, d, 16)
	r := c.Replica(0)
	d.eligible(t, "replica1", "replica2")
	u := startUsers(t, d, 16, nil)
	u.busy(t, r)

	require.NoError(t, d.plugin.Drain(limit(t), "replica1"))
	drained := time.Now()
	eventually(t, "the server to have closed its connections", func() bool { return ask[int](t, r, pooled, d.name) == 0 })
	u.during(t, 200, func() bool { return d.plugin.Status().Replicas[0].Drained })
	assert.False(t, u.servedSince(r, drained))
	assert.Zero(t, ask[int](t, r, pooled, d.name))
	st := d.plugin.Status().Replicas[0]
	assert.True(t, st.Up, "it is still watched")
	assert.True(t, st.LagKnown)
	assert.Zero(t, st.Pool.OpenConnections)

	require.NoError(t, d.plugin.Resume("replica1"))
	eventually(t, "it to serve again", func() bool { return u.servedSince(r, drained) })
	u.right(t)
	assert.Zero(t, u.lost.Load())
	assert.Positive(t, u.by["replica2"])
	assert.NotEmpty(t, d.log.matching("replica1", "drained"))
	assert.NotEmpty(t, d.log.matching("replica1", "resumed"))
}

// Drain waits for what the application still reads, and says so when it may not
// wait any longer.
func TestDrainWaitsForOpenRows(t *testing.T) {
	d := newDB(t, cluster(t), configured(func(c *readsplit.Config) { c.Replicas = c.Replicas[:1] }))
	eventually(t, "reads go to the replica", func() bool { return isReplica(served(t, d.DB)) })
	rows, err := d.Raw("SELECT i, current_setting('cluster_name') FROM generate_series(1, 100000) i").Rows()
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err = d.plugin.Drain(ctx, "replica1")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, `readsplit: replica "replica1" is out of service, but it still runs 0 reads on 1 connections`)
	assert.Equal(t, "primary", served(t, d.DB), "it is out of service all the same")
	tx := d.Raw(whoSQL).Scan(new(string))
	assert.Equal(t, policy.ReasonDrained, reason(t, tx))

	done := make(chan error)
	go func() { done <- d.plugin.Drain(context.WithoutCancel(t.Context()), "replica1") }()
	seen := 0
	for rows.Next() {
		seen++
	}
	require.NoError(t, rows.Err())
	assert.Equal(t, 100000, seen, "what was being read is read to its end")
	require.NoError(t, <-done)

	for _, name := range []string{"replica9", "", "primary"} {
		assert.ErrorContains(t, d.plugin.Drain(t.Context(), name), "the replicas are replica1")
		assert.ErrorContains(t, d.plugin.Resume(name), "the replicas are replica1")
	}
}

// Replicas come and go under load.
func TestAddAndRemoveReplicas(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(patient), configured(func(c *readsplit.Config) { c.Replicas = c.Replicas[:1] }))
	counters(t, d, 16)
	replica := func(i int) readsplit.Replica {
		s := c.Replica(i)
		return readsplit.Replica{Name: s.Name(), Dialector: postgres.Open(s.DSNFor(d.name)), Groups: []string{"group of " + s.Name()}}
	}
	d.eligible(t, "replica1")
	u := startUsers(t, d, 16, nil)
	u.busy(t, c.Replica(0))

	require.NoError(t, d.plugin.AddReplica("", replica(1)))
	u.busy(t, c.Replica(1))
	for i := range 4 {
		out, other := c.Replica(i%2), c.Replica((i+1)%2)
		removed := time.Now()
		require.NoError(t, d.plugin.RemoveReplica(limit(t), out.Name()))
		gone := time.Now()
		eventually(t, "all its connections to be closed", func() bool {
			return ask[int](t, out, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1", d.name) == 0
		})
		u.during(t, 50, func() bool { return len(d.plugin.Status().Replicas) == 1 })
		assert.Equal(t, other.Name(), d.plugin.Status().Replicas[0].Name)
		assert.False(t, u.servedSince(out, gone), "removed %v ago", time.Since(removed))
		require.NoError(t, d.plugin.AddReplica("", replica(i%2)))
		require.Len(t, d.plugin.Status().Replicas, 2)
		eventually(t, "it to serve again", func() bool { return u.servedSince(out, gone) })
	}
	u.right(t)
	assert.Zero(t, u.lost.Load())

	var server string
	require.NoError(t, d.WithContext(readsplit.Group(t.Context(), "group of replica2")).Raw(whoSQL).Scan(&server).Error)
	assert.Equal(t, "replica2", server, "groups come with it")
}

// longOnReplica1 takes minutes there and no time elsewhere. It is not worth
// compiling to the planner, which no cancellation would interrupt.
const longOnReplica1 = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE current_setting('cluster_name') = 'replica1') SELECT max(current_setting('cluster_name')) FROM r WHERE i < 100"

// A long read does not keep a replica from being removed for longer than the
// operator waits, and is no error for the reader.
func TestRemoveBreaksOffWhatIsTooLong(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c)
	d.eligible(t, "replica1", "replica2")
	require.NoError(t, d.plugin.Drain(limit(t), "replica2"))
	done := make(chan error)
	var server string
	go func() {
		done <- d.Raw(longOnReplica1).Scan(&server).Error
	}()
	eventually(t, "the read to run", func() bool {
		return ask[int](t, c.Replica(0), "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND state = 'active' AND query = $2", d.name, longOnReplica1) == 1
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.NoError(t, d.plugin.RemoveReplica(ctx, "replica1"))
	require.NoError(t, <-done)
	assert.Equal(t, "primary", server)
	eventually(t, "the server to have stopped it too", func() bool {
		return ask[int](t, c.Replica(0), "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND state = 'active' AND query = $2", d.name, longOnReplica1) == 0
	})
}

// A plugin that began without replicas gets its first one, and what comes with it:
// functions are known, and the guard knows them.
func TestFirstReplicaIsAdded(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(func(c *readsplit.Config) { c.Replicas = nil }))
	require.NoError(t, d.Exec("CREATE FUNCTION total() RETURNS int STABLE LANGUAGE sql AS 'SELECT 7'").Error)
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	require.Equal(t, "primary", served(t, d.DB))
	require.NoError(t, d.plugin.AddReplica("", readsplit.Replica{Name: "replica1", Dialector: postgres.Open(c.Replica(0).DSNFor(d.name))}))
	eventually(t, "reads go to the replica", func() bool { return isReplica(served(t, d.DB)) })
	known(t, d.plugin)
	tx := d.WithContext(readsplit.Stale(t.Context())).Raw("SELECT total()").Scan(new(int))
	require.NoError(t, tx.Error)
	decision, ok := readsplit.DecisionOf(tx)
	require.True(t, ok)
	assert.Equal(t, "replica1", decision.Server, "%v", decision.Reason)

	require.NoError(t, d.plugin.RemoveReplica(limit(t), "replica1"))
	tx = d.Raw(whoSQL).Scan(new(string))
	assert.Equal(t, policy.ReasonNoReplicas, reason(t, tx))
	assert.Empty(t, d.plugin.Status().Replicas)
}

// What is wrong with a replica is said, and nothing is added.
func TestBadReplicaIsNotAdded(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c)
	good := postgres.Open(c.Replica(0).DSNFor(d.name))
	for want, r := range map[string]readsplit.Replica{
		"Replica.Name is empty":                            {Dialector: good},
		`Replica.Name is "primary"`:                        {Name: "primary", Dialector: good},
		`Replica.Name is "replica1", as that of a replica`: {Name: "replica1", Dialector: good},
		"Replica.Dialector is nil":                         {Name: "r"},
		"Replica.Weight is -1":                             {Name: "r", Dialector: good, Weight: -1},
		"Replica.Pool.MaxOpen is -1":                       {Name: "r", Dialector: good, Pool: readsplit.Pool{MaxOpen: -1}},
		`Replica.Dialector ("r")`:                          {Name: "r", Dialector: postgres.Open("host=localhost port=none")},
	} {
		require.ErrorContains(t, d.plugin.AddReplica("", r), want)
	}
	require.Len(t, d.plugin.Status().Replicas, 2)
	require.ErrorIs(t, d.plugin.AddReplica("nowhere", readsplit.Replica{Name: "r", Dialector: good}), readsplit.ErrUnknownGroup)
	require.ErrorContains(t, d.plugin.RemoveReplica(t.Context(), "r"), "the replicas are replica1, replica2")
	require.ErrorContains(t, readsplit.New(readsplit.Config{}).AddReplica("", readsplit.Replica{}), "set Config.Replicas instead")
	closed := newDB(t, c)
	require.NoError(t, closed.plugin.Close(limit(t)))
	require.ErrorIs(t, closed.plugin.AddReplica("", readsplit.Replica{Name: "r", Dialector: good}), readsplit.ErrClosed)
}

// The kill switch sends every read to the primary at once, whatever its context
// asks for, and back.
func TestKillSwitch(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		tx := x.Begin(&sql.TxOptions{ReadOnly: true})
		require.NoError(t, tx.Error)
		require.True(t, isReplica(served(t, tx)))
		require.NoError(t, x.plugin.SetTraffic(policy.Traffic{KillSwitch: true}))
		for name, ctx := range map[string]context.Context{
			"plain": t.Context(), "stale": readsplit.Stale(t.Context()), "any": readsplit.AnyReplica(t.Context()), "replica": readsplit.UseReplica(t.Context()),
		} {
			got := x.WithContext(ctx).Raw(whoSQL).Scan(new(string))
			assert.Equal(t, policy.ReasonKillSwitch, reason(t, got), name)
			assert.Equal(t, "primary", served(t, x.WithContext(ctx)), name)
		}
		var found author
		require.NoError(t, x.Preload("Books").Take(&found).Error)
		assert.Equal(t, "primary", found.Server)
		assert.Equal(t, "primary", found.Books[0].Server)
		assert.Equal(t, "primary", served(t, tx), "a transaction that had begun on a replica goes on on the primary")
		require.NoError(t, tx.Rollback().Error)
		assert.Equal(t, policy.ReasonFresh, reason(t, x.fresh().Raw(whoSQL).Scan(new(string))))
		assert.True(t, x.plugin.Status().Traffic.KillSwitch)
		assert.NotEmpty(t, x.log.matching("kill switch true"))

		require.ErrorContains(t, x.plugin.SetTraffic(policy.Traffic{Percent: 101}), "Traffic.Percent is 101")
		assert.Equal(t, "primary", served(t, x.DB), "what is wrong changes nothing")
		require.NoError(t, x.plugin.SetTraffic(policy.Traffic{}))
		assert.True(t, isReplica(served(t, x.DB)))
	})
}

func TestKillSwitchFromTheConfiguration(t *testing.T) {
	d := newDB(t, cluster(t), configured(func(c *readsplit.Config) { c.Traffic.KillSwitch = true }))
	assert.Equal(t, policy.ReasonKillSwitch, reason(t, d.Raw(whoSQL).Scan(new(string))))
	require.NoError(t, d.plugin.SetTraffic(policy.Traffic{}))
	eventually(t, "reads go to a replica", func() bool { return isReplica(served(t, d.DB)) })
}

// A share of the reads stays on the primary, and what belongs together is not torn
// apart.
func TestPercentOfReads(t *testing.T) {
	x := newTrap(t)
	require.NoError(t, x.plugin.SetTraffic(policy.Traffic{Percent: 30}))
	replica := 0
	const all = 600
	for range all {
		var found author
		tx := x.Preload("Books").Take(&found)
		require.NoError(t, tx.Error)
		require.Equal(t, found.Server, found.Books[0].Server, "children are read where their parent was")
		if isReplica(found.Server) {
			replica++
		} else {
			require.Equal(t, policy.ReasonPercent, reason(t, tx))
		}
	}
	assert.InDelta(t, 0.3, float64(replica)/all, 0.08)
}

// Shadow mode runs everything on the primary, and counts what would have been.
func TestShadowMode(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		require.NoError(t, x.plugin.SetTraffic(policy.Traffic{Shadow: true}))
		got := x.Raw(whoSQL).Scan(new(string))
		require.Equal(t, policy.ReasonShadow, reason(t, got))
		count := func() policy.ShadowCounts { return x.plugin.Status().Shadow }
		before := count()
		for range 10 {
			require.Equal(t, "primary", served(t, x.DB))
		}
		require.Equal(t, policy.ShadowCounts{Replica: before.Replica + 10, Primary: before.Primary, Stale: before.Stale}, count(), "replicas have everything")

		x.stale(t)
		db, _ := x.session()
		require.NoError(t, db.Create(&book{Title: "three"}).Error)
		before = count()
		for range 10 {
			reads(t, db, true, "one", "two", "three")
		}
		require.Equal(t, policy.ShadowCounts{Replica: before.Replica, Primary: before.Primary + 10, Stale: before.Stale + 10}, count(), "no replica has the session's write")

		other, _ := x.session()
		before = count()
		require.Equal(t, "primary", served(t, other))
		require.Equal(t, policy.ShadowCounts{Replica: before.Replica + 1, Primary: before.Primary, Stale: before.Stale}, count(), "who wrote nothing may read there")
		tx := x.Begin(&sql.TxOptions{ReadOnly: true})
		require.NoError(t, tx.Error)
		require.Equal(t, "primary", served(t, tx))
		require.NoError(t, tx.Rollback().Error)
		require.NoError(t, x.cluster.UndoAll())
	})
}
