package readsplit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// Health.SlowStart is what shows without a failure; what the others do is in
// health_test.go.
func (f fieldTest) health(t *testing.T) {
	slowly := func(d time.Duration) *testDB {
		return newDB(t, f.c, inDatabase(f.database), configured(func(c *readsplit.Config) { c.Health.SlowStart = d }))
	}
	base, changed := slowly(time.Hour), slowly(-1)
	share := func(d *testDB) int {
		d.eligible(t, "replica1", "replica2")
		require.NoError(t, d.plugin.Drain(limit(t), "replica1"))
		require.NoError(t, d.plugin.Resume("replica1"))
		return servers(t, d, nobody(), 60)["replica1"]
	}
	assert.Less(t, share(base), 16, "a tenth of its half")
	assert.Greater(t, share(changed), 16)
}

func (f fieldTest) traffic(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.Traffic = policy.Traffic{KillSwitch: true} })
	assert.NotContains(t, servers(t, base, nobody(), 20), "primary")
	assert.Equal(t, map[string]int{"primary": 20}, servers(t, changed, nobody(), 20))
}
