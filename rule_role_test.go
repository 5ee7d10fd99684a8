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

// R8: what is known of a server's role may be old. A replica is promoted, under
// the eyes of three plugins.
func TestR08Promotion(t *testing.T) {
	c := breakable(t)
	r := c.Replica(0)
	aware := newDB(t, c, configured(patient))
	counters(t, aware, 17)
	// No word of the text says that reading this view writes.
	require.NoError(t, aware.Exec("CREATE FUNCTION counted() RETURNS bigint LANGUAGE sql AS 'UPDATE counters SET n = n + 1 WHERE id = 16 RETURNING n'").Error)
	require.NoError(t, aware.Exec("CREATE VIEW visits AS SELECT counted() AS n").Error)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	// Nothing is noticed by a sample of this one.
	unaware := newDB(t, c, inDatabase(aware.name), configured(boundless), saidToRead("counted"), configured(func(c *readsplit.Config) {
		c.SampleEvery, c.MaxSampleAge, c.StickyWindow = time.Hour, 2*time.Hour, 3*time.Hour
		c.Replicas = c.Replicas[:1]
	}))
	anywhere := unaware.WithContext(readsplit.AnyReplica(context.Background()))
	var readOnly string
	require.NoError(t, anywhere.Raw("SHOW default_transaction_read_only").Scan(&readOnly).Error)
	require.Equal(t, "on", readOnly)
	require.Equal(t, "replica1", served(t, anywhere)) // its connection outlives the promotion
	allowed := newDB(t, c, inDatabase(aware.name), configured(func(c *readsplit.Config) {
		c.Replicas = c.Replicas[:1]
		c.Replicas[0].AllowPrimaryAsReplica = true
	}))
	eventually(t, "it to serve", func() bool { return served(t, allowed.WithContext(nobody())) == "replica1" })
	aware.eligible(t, "replica1", "replica2")
	u := startUsers(t, aware, 16, nil)
	u.busy(t, r)

	undo := injected(t)(r.Promote(t.Context()))
	promoted := func() bool { return !ask[bool](t, r, "SELECT pg_is_in_recovery()") }
	require.True(t, promoted())

	t.Run("noticed, warned about and not read from", func(t *testing.T) {
		eventually(t, "the warning", func() bool { return len(aware.log.matching("warn:", `replica "replica1"`, "PRIMARY")) > 0 })
		aware.eligible(t, "replica2")
		noticed := time.Now()
		u.during(t, 200, promoted)
		assert.False(t, u.servedSince(r, noticed))
		assert.Len(t, aware.log.matching("PRIMARY"), 1, "one warning is enough")
		assert.Equal(t, policy.RolePrimary, aware.plugin.Status().Replicas[0].Role)
		assert.Equal(t, map[string]int{"replica2": 50}, servers(t, aware, readsplit.AnyReplica(nobody()), 50), "not even by who asks for nothing")
		u.right(t)
		assert.Zero(t, u.lost.Load())
	})
	t.Run("refuses a write that was taken for a read", func(t *testing.T) {
		require.Equal(t, "replica1", served(t, anywhere), "nobody has noticed yet")
		ctx := nobody()
		var n int
		tx := unaware.WithContext(readsplit.AnyReplica(ctx)).Raw("SELECT n FROM visits").Scan(&n)
		require.NoError(t, tx.Error)
		decision, _ := readsplit.DecisionOf(tx)
		assert.Equal(t, policy.ReasonRefusedByReplica, decision.Reason)
		assert.Equal(t, "primary", decision.Server)
		assert.EqualValues(t, 1, unaware.plugin.Status().Refused)
		const count = "SELECT n FROM counters WHERE id = 16"
		var there, here int
		require.NoError(t, direct(t, r, aware.name).QueryRowContext(t.Context(), count).Scan(&there))
		require.NoError(t, direct(t, c.Primary(), aware.name).QueryRowContext(t.Context(), count).Scan(&here))
		assert.Zero(t, there, "the promoted server must not have run it")
		assert.Equal(t, 1, here, "the primary ran it once")
		require.NoError(t, unaware.WithContext(ctx).Raw(count).Scan(&n).Error)
		assert.Equal(t, 1, n, "it counts as a write of its session")
	})
	// What the promoted server shows is not what we write, whatever is allowed.
	t.Run("does not stand in for our primary", func(t *testing.T) {
		for n := 1; n <= 200; n++ {
			ctx := nobody()
			require.NoError(t, allowed.WithContext(ctx).Exec("UPDATE counters SET n = ?", n).Error)
			var got int
			require.NoError(t, allowed.WithContext(ctx).Raw("SELECT n FROM counters WHERE id = 1").Scan(&got).Error)
			require.Equal(t, n, got)
		}
		eventually(t, "it to be noticed", func() bool { return served(t, allowed.WithContext(nobody())) == "primary" })
	})
	require.True(t, promoted())
	undone(t, undo)
	aware.eligible(t, "replica1", "replica2")
}
