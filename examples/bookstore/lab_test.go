package main

import (
	"bytes"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/examples/bookstore/shop"
	"github.com/readsplit/readsplit/internal/orderlab"
	"github.com/readsplit/readsplit/testenv"
)

// startLab returns a lab on a cluster of its own, with a small shop in it.
func startLab(t *testing.T) *lab {
	t.Helper()
	c := testenv.Start(t, testenv.Setting("shared_preload_libraries", extension))
	require.NoError(t, c.CreateDatabase(t.Context(), database))
	db, err := sql.Open("pgx", c.Primary().DSNFor(database))
	require.NoError(t, err)
	require.NoError(t, shop.Create(t.Context(), db, shop.Stock{Customers: customers, Books: books, Orders: 25 * customers}))
	require.NoError(t, db.Close())
	k, err := newCounter(t.Context(), c)
	require.NoError(t, err)
	return &lab{out: new(bytes.Buffer), progress: new(orderlab.Progress), cluster: c, counter: k}
}

// TestTheLab runs one trial of each kind on real servers. It leaves out what
// depends on how busy the machine is: the share of the replicas.
func TestTheLab(t *testing.T) {
	l := startLab(t)
	try := func(phase string, s strategy, orders int, f *orderlab.Fault) *orderlab.Outcome {
		t.Helper()
		o, err := l.trial(s, orderlab.Trial{Phase: phase, Orders: orders, Fault: f}).Run(t.Context(), l.counter)
		require.NoError(t, err)
		require.Empty(t, o.Disagreements)
		require.Zero(t, o.Failed, o.Failure)
		require.Equal(t, orders*(1+orderlab.Others), o.All())
		return o
	}

	t.Run("healthy", func(t *testing.T) {
		o := try("healthy", newRouted(customers), 40, nil)
		assert.Zero(t, o.Missed, o.Evidence)
		assert.Positive(t, o.OnReplicas())
		o = try("healthy", newRoutedWithoutSessions(), 40, nil)
		assert.Zero(t, o.Missed, o.Evidence)
		o = try("healthy", new(resolved), 40, nil)
		assert.Equal(t, 200, o.OnReplicas(), "dbresolver reads from replicas whatever they know")
	})
	t.Run("replay_paused", func(t *testing.T) {
		o := try("replay_paused", new(resolved), 40, pauseReplay(l.cluster.Replicas()))
		assert.Equal(t, 40, o.Missed)
		assert.Equal(t, 200, o.FaultReads)
		o = try("replay_paused", newRouted(customers), 40, pauseReplay(l.cluster.Replicas()))
		assert.Zero(t, o.Missed, o.Evidence)
		assert.Equal(t, 200, o.FaultReads)
		assert.GreaterOrEqual(t, o.OnPrimary(), 40, "no replica has the own order of anybody")
		o = try("replay_paused", newSticky(customers), 40, pauseReplay(l.cluster.Replicas()))
		assert.Zero(t, o.Missed, o.Evidence)
	})
	t.Run("one_replica_paused", func(t *testing.T) {
		o := try("one_replica_paused", newRouted(customers), 60, pauseOne(l.cluster.Replica(0)))
		assert.Zero(t, o.Missed, o.Evidence)
		assert.Equal(t, 300, o.FaultReads)
		assert.Zero(t, o.Late["replica1"], "it is further behind than MaxLag")
		assert.Positive(t, o.Late["replica2"])
	})
	t.Run("replica_killed", func(t *testing.T) {
		o := try("replica_killed", newRouted(customers), 240, killOne(l.cluster.Replica(0)))
		assert.Zero(t, o.Missed, o.Evidence)
		assert.GreaterOrEqual(t, o.FaultReads, orderlab.LeastFaultReads)
		assert.Positive(t, o.Late["replica1"], "it is read from again")
	})
	t.Run("read_only_guard", func(t *testing.T) {
		g, err := tryGuard(t.Context(), l.cluster, l.counter)
		require.NoError(t, err)
		assert.Empty(t, g.problems())
		assert.Equal(t, &guarded{attempts: 8, panicked: 8, control: 3}, g, "BEGIN, INSERT and COMMIT are the control")
	})
}
