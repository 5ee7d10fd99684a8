package readsplit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// R8: what is known of a server's role may be old. A replica that was promoted a
// moment ago refuses a write that was taken for a read, and the primary runs it.
func TestR08PromotedReplicaRefusesAWrite(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(boundless), configured(func(c *readsplit.Config) {
		// Nothing is noticed by a sample.
		c.SampleEvery, c.MaxSampleAge, c.StickyWindow = time.Hour, 2*time.Hour, 3*time.Hour
		c.Replicas = c.Replicas[:1]
	}))
	counters(t, d, 1)
	// No word of the text says that reading this view writes.
	require.NoError(t, d.Exec("CREATE FUNCTION counted() RETURNS bigint LANGUAGE sql AS 'UPDATE counters SET n = n + 1 WHERE id = 1 RETURNING n'").Error)
	require.NoError(t, d.Exec("CREATE VIEW visits AS SELECT counted() AS n").Error)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	anyone := d.WithContext(readsplit.AnyReplica(context.Background()))
	var readOnly string
	require.NoError(t, anyone.Raw("SHOW default_transaction_read_only").Scan(&readOnly).Error)
	require.Equal(t, "on", readOnly)
	require.Equal(t, "replica1", served(t, anyone)) // its connection outlives the promotion

	undo := injected(t)(c.Replica(0).Promote(t.Context()))
	defer undone(t, undo)
	require.False(t, ask[bool](t, c.Replica(0), "SELECT pg_is_in_recovery()"))
	require.Equal(t, "replica1", served(t, anyone), "nobody has noticed yet")
	ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
	var n int
	tx := d.WithContext(readsplit.AnyReplica(ctx)).Raw("SELECT n FROM visits").Scan(&n)
	require.NoError(t, tx.Error)
	decision, _ := readsplit.DecisionOf(tx)
	assert.Equal(t, policy.ReasonRefusedByReplica, decision.Reason)
	assert.Equal(t, "primary", decision.Server)
	assert.EqualValues(t, 1, d.plugin.Status().Refused)
	const count = "SELECT n FROM counters WHERE id = 1"
	var there, here int
	require.NoError(t, direct(t, c.Replica(0), d.name).QueryRowContext(t.Context(), count).Scan(&there))
	require.NoError(t, direct(t, c.Primary(), d.name).QueryRowContext(t.Context(), count).Scan(&here))
	assert.Zero(t, there, "the promoted server must not have run it")
	assert.Equal(t, 1, here, "the primary ran it once")
	require.NoError(t, d.WithContext(ctx).Raw(count).Scan(&n).Error)
	assert.Equal(t, 1, n, "it counts as a write of its session")
}

// R8: a promoted server is noticed, warned about and not read from.
func TestR08PromotedReplicaIsNotReadFrom(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(patient))
	counters(t, d, 16)
	r := c.Replica(0)
	d.eligible(t, "replica1", "replica2")
	u := startUsers(t, d, 16, nil)
	u.busy(t, r)
	undo := injected(t)(r.Promote(t.Context()))
	promoted := func() bool { return !ask[bool](t, r, "SELECT pg_is_in_recovery()") }
	eventually(t, "the warning", func() bool { return len(d.log.matching("warn:", `replica "replica1"`, "PRIMARY")) > 0 })
	d.eligible(t, "replica2")
	noticed := time.Now()
	u.during(t, 300, promoted)
	assert.False(t, u.servedSince(r, noticed))
	assert.Len(t, d.log.matching("PRIMARY"), 1, "one warning is enough")
	assert.Equal(t, policy.RolePrimary, d.plugin.Status().Replicas[0].Role)
	// Not even by those who ask for nothing but a replica.
	anyone := readsplit.AnyReplica(context.Background())
	for range 50 {
		var name string
		require.NoError(t, d.WithContext(anyone).Raw(whoSQL).Scan(&name).Error)
		require.Equal(t, "replica2", name)
	}
	u.right(t)
	undone(t, undo)
	d.eligible(t, "replica1", "replica2")
}
