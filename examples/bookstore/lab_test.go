package main

import (
	"bytes"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/examples/bookstore/shop"
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
	return &lab{out: new(bytes.Buffer), progress: new(progress), cluster: c, counter: k}
}

// TestTheLab runs one trial of each kind on real servers. It leaves out what
// depends on how busy the machine is: the share of the replicas.
func TestTheLab(t *testing.T) {
	l := startLab(t)
	try := func(phase string, s strategy, orders int, f *fault) *outcome {
		t.Helper()
		tr := &trial{phase: phase, strategy: s, orders: orders, fault: f}
		o, err := tr.run(t.Context(), l.cluster, l.counter, 1, func(int) {})
		require.NoError(t, err)
		require.Empty(t, o.disagreements)
		require.Zero(t, o.failed, o.failure)
		require.Equal(t, orders*(1+others), o.all())
		return o
	}

	t.Run("healthy", func(t *testing.T) {
		o := try("healthy", newRouted(customers), 40, nil)
		assert.Zero(t, o.missed, o.evidence)
		assert.Positive(t, o.onReplicas())
		o = try("healthy", newRoutedWithoutSessions(), 40, nil)
		assert.Zero(t, o.missed, o.evidence)
		o = try("healthy", new(resolved), 40, nil)
		assert.Equal(t, 200, o.onReplicas(), "dbresolver reads from replicas whatever they know")
	})
	t.Run("replay_paused", func(t *testing.T) {
		o := try("replay_paused", new(resolved), 40, pauseReplay(l.cluster.Replicas()))
		assert.Equal(t, 40, o.missed)
		assert.Equal(t, 200, o.faultReads)
		o = try("replay_paused", newRouted(customers), 40, pauseReplay(l.cluster.Replicas()))
		assert.Zero(t, o.missed, o.evidence)
		assert.Equal(t, 200, o.faultReads)
		assert.GreaterOrEqual(t, o.onPrimary(), 40, "no replica has the own order of anybody")
		o = try("replay_paused", newSticky(customers), 40, pauseReplay(l.cluster.Replicas()))
		assert.Zero(t, o.missed, o.evidence)
	})
	t.Run("one_replica_paused", func(t *testing.T) {
		o := try("one_replica_paused", newRouted(customers), 60, pauseOne(l.cluster.Replica(0)))
		assert.Zero(t, o.missed, o.evidence)
		assert.Equal(t, 300, o.faultReads)
		assert.Zero(t, o.late["replica1"], "it is further behind than MaxLag")
		assert.Positive(t, o.late["replica2"])
	})
	t.Run("replica_killed", func(t *testing.T) {
		o := try("replica_killed", newRouted(customers), 240, killOne(l.cluster.Replica(0)))
		assert.Zero(t, o.missed, o.evidence)
		assert.GreaterOrEqual(t, o.faultReads, leastFaultReads)
		assert.Positive(t, o.late["replica1"], "it is read from again")
	})
	t.Run("read_only_guard", func(t *testing.T) {
		g, err := tryGuard(t.Context(), l.cluster, l.counter)
		require.NoError(t, err)
		assert.Empty(t, g.problems())
		assert.Equal(t, &guarded{attempts: 8, panicked: 8, control: 3}, g, "BEGIN, INSERT and COMMIT are the control")
	})
}
