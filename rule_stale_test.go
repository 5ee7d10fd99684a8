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

// R11: the modes that accept stale data lift MaxLag, and what the process wrote,
// but never what the session itself wrote. Only AnyReplica does, and says so.
func TestR11StaleModes(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(patient), configured(func(c *readsplit.Config) { c.MaxLag = time.Second }))
	counters(t, d, 2)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	writer, reader := nobody(), nobody()
	read := func(ctx context.Context) (n int, reason policy.Reason) {
		tx := d.WithContext(ctx).Raw("SELECT n FROM counters WHERE id = 1").Scan(&n)
		require.NoError(t, tx.Error)
		decision, ok := readsplit.DecisionOf(tx)
		require.True(t, ok)
		return n, decision.Reason
	}
	defer still(t, c)()
	require.NoError(t, d.WithContext(writer).Exec("UPDATE counters SET n = 1 WHERE id = 1").Error)
	eventually(t, "MaxLag to pass", func() bool {
		_, reason := read(reader)
		return reason == policy.ReasonLagging
	})
	for range 50 {
		n, reason := read(readsplit.Stale(writer))
		assert.Equal(t, 1, n, "its own write")
		assert.Contains(t, []policy.Reason{policy.ReasonBehindSession, policy.ReasonWaitExpired, policy.ReasonPositionPending}, reason)
		n, reason = read(readsplit.Stale(reader))
		assert.Zero(t, n, "from before the pause")
		assert.Equal(t, policy.ReasonStale, reason)
		n, reason = read(readsplit.Stale(context.Background()))
		assert.Zero(t, n, "the process's own writes are given up")
		assert.Equal(t, policy.ReasonStale, reason)
		n, reason = read(readsplit.AnyReplica(writer))
		assert.Zero(t, n, "everything is given up")
		assert.Equal(t, policy.ReasonAnyReplica, reason)
	}
}
