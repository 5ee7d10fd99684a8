package readsplit_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
)

// seldom is how often a sample of a replica comes while nothing is asked: the shortest
// of three pauses.
func seldom(d *testDB) time.Duration {
	shortest, last := time.Hour, d.plugin.Status().Replicas[0].Sampled
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n := 0; n < 3; <-tick.C {
		if now := d.plugin.Status().Replicas[0].Sampled; now != last {
			shortest, last = min(shortest, now.Sub(last)), now
			n++
		}
	}
	return shortest
}

// Both are left alone: one samples each 400 ms instead of 200, the default each 800.
func (f fieldTest) idleSampleEvery(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.IdleSampleEvery = 400 * time.Millisecond })
	eventually(t, "the default to rest", func() bool { return seldom(base) > 600*time.Millisecond })
	eventually(t, "the other to ask more often", func() bool {
		pause := seldom(changed)
		return 330*time.Millisecond < pause && pause < 600*time.Millisecond
	})
}

// After a silence with hardly any samples the first reads ask, all together, and are
// served by a replica, with what was committed by others in the silence.
func TestFirstReadsAfterASilence(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(func(c *readsplit.Config) {
		c.IdleSampleEvery, c.MaxWait, c.SampleTimeout = time.Hour, 10*time.Second, 10*time.Second
		c.MaxSampleAge, c.MaxLag = 4*time.Second, 4*time.Second
	}))
	counters(t, d, 4)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d.eligible(t, "replica1", "replica2")
	old := func() bool {
		s := d.plugin.Status()
		return time.Since(s.Replicas[0].Sampled) > 4100*time.Millisecond && time.Since(s.Replicas[1].Sampled) > 4100*time.Millisecond
	}
	other := newDB(t, c, inDatabase(d.name))
	eventually(t, "old news", old) // over MaxLag and MaxSampleAge
	require.NoError(t, other.Exec("UPDATE counters SET n = 1 WHERE id = 1").Error)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			var read struct {
				N      int
				Server string
			}
			if assert.NoError(t, d.WithContext(nobody()).Raw("SELECT "+readersSelect+" FROM counters WHERE id = 1").Scan(&read).Error) {
				assert.Equal(t, 1, read.N)
				assert.NotEqual(t, "primary", read.Server)
			}
		})
	}
	all.Wait()
}
