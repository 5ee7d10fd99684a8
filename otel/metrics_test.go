package otel

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
)

// TestStatements: who served what and why, as the plugin tells for each statement and
// the servers themselves say.
func TestStatements(t *testing.T) {
	x := newApp(t, Options{}, nil)
	want := x.collect(t).of("readsplit.statements")
	assert.Empty(t, x.collect(t).of("readsplit.reads.replica.share"), "nothing was read")
	runs := func(operation string, tx *gorm.DB) (server string) {
		t.Helper()
		require.NoError(t, tx.Error)
		d, ok := readsplit.DecisionOf(tx)
		require.True(t, ok)
		role := "primary"
		if d.Replica {
			role = "replica"
		}
		want[fmt.Sprintf("readsplit.operation=%s,readsplit.reason=%s,readsplit.server.name=%s,readsplit.server.role=%s", operation, d.Reason, d.Server, role)]++
		return d.Server
	}
	for range 6 {
		var server string
		require.Equal(t, runs("read", x.user().Raw(whoSQL).Scan(&server)), server)
		require.NotEqual(t, "primary", server)
	}
	for range 2 {
		require.Equal(t, "primary", runs("read", x.WithContext(readsplit.Fresh(context.Background())).Raw(whoSQL).Scan(new(string))))
	}
	for range 3 {
		runs("write", x.user().Exec("INSERT INTO orders (customer) VALUES ('ann')"))
	}
	m := x.collect(t)
	assert.Equal(t, want, m.of("readsplit.statements"))
	assert.InDelta(t, 2, m.sum("readsplit.statements", "readsplit.reason=fresh", "readsplit.server.role=primary"), 0)
	assert.InDelta(t, 6.0/8, m["readsplit.reads.replica.share{}"], 1e-9)
}

// TestWaits: who waited for a replica, and nobody else, is in the histogram.
func TestWaits(t *testing.T) {
	ring := observe.NewRing(1000)
	x := newApp(t, Options{}, func(cfg *readsplit.Config) {
		cfg.Replicas = cfg.Replicas[:1]
		cfg.Observers = append(cfg.Observers, ring)
	})
	_, err := x.c.Replica(0).Delay(limit(t), 100*time.Millisecond)
	require.NoError(t, err)
	waited := func() map[string]float64 {
		n := map[string]float64{}
		for _, d := range ring.Decisions() {
			switch {
			case d.Waited > 0 && d.Replica:
				n["readsplit.server.role=replica"]++
			case d.Waited > 0:
				n["readsplit.server.role=primary"]++
			}
		}
		return n
	}
	eventually(t, "a read that waits", func() bool {
		me := x.user()
		require.NoError(t, me.Exec("INSERT INTO orders (customer) VALUES ('ann')").Error)
		orders(t, me)
		return len(waited()) > 0
	})
	m := x.collect(t)
	assert.Equal(t, waited(), m.of("readsplit.decision.wait"))
	assert.Positive(t, m["readsplit.capture.duration{}"], "the primary was asked for the position")
	eventually(t, "the time that the replica took", func() bool {
		return x.collect(t)["readsplit.replica.catch_up{readsplit.server.name=replica1}"] > 0
	})
}

// TestTokensAndTraffic: what sessions bring along, and what operators set.
func TestTokensAndTraffic(t *testing.T) {
	x := newApp(t, Options{}, nil)
	s := readsplit.NewSession()
	require.NoError(t, x.WithContext(readsplit.WithSession(context.Background(), s)).Exec("INSERT INTO orders (customer) VALUES ('ann')").Error)
	good, err := s.Token(limit(t))
	require.NoError(t, err)
	for _, text := range []string{good, good, "forged", good + "x"} {
		joined := readsplit.NewSession()
		joined.Join(text)
		orders(t, x.WithContext(readsplit.WithSession(context.Background(), joined)))
	}
	m := x.collect(t)
	assert.Equal(t, map[string]float64{"readsplit.token.outcome=accepted": 2, "readsplit.token.outcome=refused": 2}, m.of("readsplit.tokens"))
	traffic := func() [3]float64 {
		m := x.collect(t)
		return [3]float64{m["readsplit.traffic.allowed{}"], m["readsplit.traffic.kill_switch{}"], m["readsplit.traffic.shadow{}"]}
	}
	assert.Equal(t, [3]float64{100, 0, 0}, traffic())
	require.NoError(t, x.plugin.SetTraffic(policy.Traffic{Percent: 5}))
	assert.Equal(t, [3]float64{5, 0, 0}, traffic())
	require.NoError(t, x.plugin.SetTraffic(policy.Traffic{KillSwitch: true, Percent: 5}))
	assert.Equal(t, [3]float64{0, 1, 0}, traffic())
	require.NoError(t, x.plugin.SetTraffic(policy.Traffic{Shadow: true}))
	assert.Equal(t, [3]float64{100, 0, 1}, traffic())
	for range 3 {
		orders(t, x.user())
	}
	m = x.collect(t)
	assert.InDelta(t, 3, m.sum("readsplit.shadow.reads", "readsplit.server.role=replica"), 0)
	assert.InDelta(t, 3, m.sum("readsplit.statements", "readsplit.reason=shadow", "readsplit.server.name=primary"), 0)
}

// TestRefusals: a replica refuses what was taken for a read, and it is counted where.
func TestRefusals(t *testing.T) {
	x := newApp(t, Options{}, func(cfg *readsplit.Config) { cfg.ReadFunctions = []string{"count_up"} })
	require.NoError(t, x.Exec("CREATE SEQUENCE ups").Error)
	require.NoError(t, x.Exec("CREATE FUNCTION count_up() RETURNS bigint LANGUAGE sql AS $$ SELECT nextval('ups') $$").Error)
	eventually(t, "the catalogue", func() bool { return x.plugin.Status().Catalog.Current })
	require.NoError(t, x.c.WaitCaughtUp(limit(t)))
	require.NoError(t, x.user().Raw("SELECT count_up()").Scan(new(int)).Error)
	m := x.collect(t)
	assert.InDelta(t, 1, m["readsplit.refusals{}"], 0)
	assert.InDelta(t, 1, m.sum("readsplit.retries", "readsplit.retry.cause=read_only_refusal"), 0)
	assert.InDelta(t, 1, m.sum("readsplit.statements", "readsplit.reason=refused_by_replica", "readsplit.server.name=primary"), 0)
	assert.Positive(t, m["readsplit.catalog.functions{}"])
	assert.InDelta(t, 1, m["readsplit.catalog.current{}"], 0)
}

// TestConnections: the pools of all servers, and what the servers take.
func TestConnections(t *testing.T) {
	x := newApp(t, Options{}, func(cfg *readsplit.Config) {
		for i := range cfg.Replicas {
			cfg.Replicas[i].Pool = readsplit.Pool{MaxOpen: 7 + i}
		}
	})
	err := x.Connection(func(*gorm.DB) error {
		assert.InDelta(t, 1, x.collect(t)["db.client.connection.count{db.client.connection.pool.name=primary,db.client.connection.state=used}"], 0)
		return nil
	})
	require.NoError(t, err)
	m := x.collect(t)
	assert.Equal(t, map[string]float64{
		"db.client.connection.pool.name=replica1": 7, "db.client.connection.pool.name=replica2": 8,
	}, m.of("db.client.connection.max"), "the primary's has no limit")
	assert.Len(t, m.of("db.client.connection.count"), 6)
	st := x.plugin.Status().Connections
	require.Len(t, st, 3)
	for _, c := range st {
		server := "readsplit.connections.server=" + c.Servers[0]
		assert.InDelta(t, c.Available, m.sum("readsplit.connections.available", server), 0)
		assert.InDelta(t, c.Needed, m.sum("readsplit.connections.needed", server), 0)
		assert.Positive(t, c.Available)
	}
}

// TestBudgetAndFailover: what is there only where it is configured.
func TestBudgetAndFailover(t *testing.T) {
	x := newApp(t, Options{}, func(cfg *readsplit.Config) {
		cfg.PrimaryBudget.Reads = 3
		cfg.FollowPrimary = true
	})
	m := x.collect(t)
	assert.InDelta(t, 3, m["readsplit.fallback.limit{}"], 0)
	for _, zero := range []string{"in_use", "waiting", "waits", "wait_time", "refused", "served_stale"} {
		assert.Contains(t, m, "readsplit.fallback."+zero+"{}")
		assert.InDelta(t, 0, m["readsplit.fallback."+zero+"{}"], 0, zero)
	}
	assert.Equal(t, map[string]float64{
		"readsplit.failover.state=elected": 1, "readsplit.failover.state=unknown": 0, "readsplit.failover.state=lost": 0,
		"readsplit.failover.state=tied": 0, "readsplit.failover.state=superseded": 0,
	}, m.of("readsplit.failover.state"))
	assert.InDelta(t, float64(x.plugin.Status().Failover.Timeline), m["readsplit.failover.timeline{}"], 0)
	assert.Positive(t, m["readsplit.failover.timeline{}"])
}

// TestResolvers: what belongs to a resolver says so, and what it shares with the
// plugin is not there twice.
func TestResolvers(t *testing.T) {
	x := newApp(t, Options{}, func(cfg *readsplit.Config) {
		cfg.PrimaryBudget.Reads = 3
		cfg.Resolvers = []readsplit.Resolver{{Tables: []any{"orders"}, Replicas: cfg.Replicas[1:]}}
		cfg.Replicas = cfg.Replicas[:1]
	})
	assert.Equal(t, "replica2", orders(t, x.user()))
	m := x.collect(t)
	assert.InDelta(t, 1, m.sum("readsplit.statements", "readsplit.resolver.name=orders", "readsplit.server.name=replica2"), 0)
	assert.InDelta(t, 1, m["readsplit.reads.replica.share{readsplit.resolver.name=orders}"], 0)
	assert.Equal(t, map[string]float64{
		"readsplit.server.name=primary,readsplit.server.role=primary":                                 1,
		"readsplit.server.name=replica1,readsplit.server.role=replica":                                1,
		"readsplit.resolver.name=orders,readsplit.server.name=replica2,readsplit.server.role=replica": 1,
	}, m.of("readsplit.server.up"), "one primary, once")
	assert.Equal(t, map[string]float64{"": 3}, m.of("readsplit.fallback.limit"))
	assert.Len(t, m.of("readsplit.catalog.loads"), 1)
	assert.Contains(t, m.of("db.client.connection.count"), "db.client.connection.pool.name=orders/replica2,db.client.connection.state=idle,readsplit.resolver.name=orders")
	assert.NotContains(t, m.of("db.client.connection.count"), "db.client.connection.pool.name=orders/primary,db.client.connection.state=idle,readsplit.resolver.name=orders")
}
