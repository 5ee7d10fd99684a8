package readsplit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
)

func (f fieldTest) attemptTimeout(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.AttemptTimeout = 20 * time.Millisecond })
	for d, replica := range map[*testDB]bool{base: true, changed: false} {
		ctx := readsplit.Stale(t.Context())
		replicasServe(t, d.WithContext(ctx))
		tx := d.WithContext(ctx).Raw("SELECT sum(i) FROM generate_series(1, 3000000) i").Scan(new(int64))
		require.NoError(t, tx.Error)
		decision, _ := readsplit.DecisionOf(tx)
		assert.Equal(t, replica, decision.Replica)
	}
}

func testConflictGroup(t *testing.T) {
	assert.NoError(t, used(t, readsplit.Config{}))
	assert.ErrorContains(t, used(t, readsplit.Config{ConflictGroup: "reports"}), `Config.ConflictGroup is "reports": no replica is in this group`)
}
