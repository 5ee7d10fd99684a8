package nemesis_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of the test's own connections
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv"
	"github.com/readsplit/readsplit/verify/history"
	"github.com/readsplit/readsplit/verify/nemesis"
	"github.com/readsplit/readsplit/verify/network"
	"github.com/readsplit/readsplit/verify/workload"
)

func newEnv(t *testing.T) *nemesis.Env {
	t.Helper()
	cluster := testenv.Start(t)
	require.NoError(t, cluster.CreateDatabase(t.Context(), "verified"))
	db, err := sql.Open("pgx", cluster.Primary().DSNFor("verified"))
	require.NoError(t, err)
	require.NoError(t, workload.Create(t.Context(), db))
	require.NoError(t, db.Close())
	require.NoError(t, cluster.WaitCaughtUp(t.Context()))
	post, err := nemesis.NewPost("sixteen bytes or more")
	require.NoError(t, err)
	env := &nemesis.Env{Cluster: cluster, Database: "verified", Rows: 100, Post: post, Replicas: map[string]*network.Address{},
		Operate: func(context.Context, int, workload.Operation) error { return nil }}
	address := func(s *testenv.Server) *network.Address {
		a, err := network.Listen(s.Addr())
		require.NoError(t, err)
		t.Cleanup(a.Close)
		return a
	}
	env.Address = address(cluster.Primary())
	for _, r := range cluster.Replicas() {
		env.Replicas[r.Name()] = address(r)
	}
	require.NoError(t, env.Settle(t.Context()))
	return env
}

// Every fault can be injected on servers that are well, is recorded, and leaves them
// well.
func TestEveryFault(t *testing.T) {
	env := newEnv(t)
	for _, name := range nemesis.Names() {
		f, ok := nemesis.Lookup(name)
		require.True(t, ok)
		assert.NotEmpty(t, f.What)
		on := map[nemesis.Lane]string{nemesis.Replica: "replica1", nemesis.Primary: "primary", nemesis.Data: "data", nemesis.Tokens: "tokens"}[f.Lane]
		if on == "" {
			on = string(f.Lane)
		}
		var events []history.Event
		err := nemesis.Run(t.Context(), env, []nemesis.Step{{Fault: name, On: on, For: 20 * time.Millisecond, Size: 7}},
			func(e history.Event) { events = append(events, e) },
			func(_ nemesis.Step, err error) { assert.NoError(t, err, name) })
		require.NoError(t, err, name)
		require.Len(t, events, 1, name)
		assert.Equal(t, name, events[0].Fault)
		assert.Equal(t, f.Breaks, events[0].Breaks)
		assert.GreaterOrEqual(t, events[0].Return-events[0].Invoke, int64(20*time.Millisecond))
		assert.Empty(t, env.Cluster.Server("replica1").Faults(), name)
		assert.Empty(t, env.Cluster.Primary().Faults(), name)
		require.NoError(t, env.Cluster.WaitCaughtUp(t.Context()), name)
	}
}

// The heir takes over the address, the other replica follows it, and what it was cut
// off from is gone.
func TestFailover(t *testing.T) {
	env := newEnv(t)
	var events []history.Event
	heir, _, err := nemesis.Failover(t.Context(), env, nemesis.Takeover{Old: nemesis.Killed, Loses: true}, func(ctx context.Context) {
		_, err := env.Cluster.Primary().DB().ExecContext(ctx, "CREATE TABLE late ()")
		assert.NoError(t, err)
	}, func(e history.Event) { events = append(events, e) })
	require.NoError(t, err)
	assert.Equal(t, "replica1", heir.Name())
	require.Len(t, events, 1)
	assert.Equal(t, "replica1", events[0].Promoted)
	var late bool
	require.NoError(t, heir.DB().QueryRowContext(t.Context(), "SELECT to_regclass('late') IS NOT NULL").Scan(&late))
	assert.False(t, late)
	_, err = heir.DB().ExecContext(t.Context(), "CREATE TABLE later ()")
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var there bool
		require.NoError(c, env.Cluster.Replica(1).DB().QueryRowContext(t.Context(), "SELECT to_regclass('later') IS NOT NULL").Scan(&there))
		assert.True(c, there)
	}, 20*time.Second, 20*time.Millisecond)
}
