package monitor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/monitor"
)

func TestReplicasComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(3)
		m := w.start(t, func(c *monitor.Config) { c.Replicas = c.Replicas[:2] })
		w.happened()
		add := func(name string, s *standby) (place int) {
			m.Add(monitor.Target{Name: name, Source: s.fake}, func(i int) {
				place = i
				assert.False(t, replica(m, i).Up, "asked before anybody knew of its place")
			})
			return place
		}

		require.Equal(t, 2, add("r2", w.standbys[2]))
		assert.True(t, replica(m, 2).Up, "asked when Add returns")
		pass(3 * longest)
		assert.True(t, eligible(m, 2))
		assert.True(t, replica(m, 2).Since.IsZero(), "it never was away")

		before := m.Generation(1)
		m.Remove(1)
		assert.True(t, replica(m, 1).Gone)
		assert.Greater(t, m.Generation(1), before, "what was read there meanwhile counts for nothing")
		assert.Contains(t, w.happened(), "r1 removed")
		n := w.standbys[1].count(&w.standbys[1].samples)
		m.Want(1<<60, time.Now(), time.Now().Add(time.Second))
		pass(5 * time.Second)
		assert.Equal(t, n, w.standbys[1].count(&w.standbys[1].samples), "nobody asks it any more")
		assert.False(t, replica(m, 1).Up)

		before = m.Generation(1)
		require.Equal(t, 1, add("another", w.standbys[1]), "its place is taken over")
		assert.Greater(t, m.Generation(1), before)
		assert.Equal(t, "another", replica(m, 1).Name)
		assert.False(t, replica(m, 1).Gone)
		pass(3 * longest)
		assert.True(t, eligible(m, 1))
	})
}

func TestDrainAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t)
		w.happened()
		m.Drain(0, true)
		m.Drain(0, true)
		assert.True(t, replica(m, 0).Drained)
		pass(time.Second)
		assert.True(t, replica(m, 0).Up, "it is still watched")
		m.Drain(0, false)
		assert.False(t, replica(m, 0).Drained)
		assert.WithinDuration(t, time.Now(), replica(m, 0).Since, 0, "it starts slowly")
		assert.Equal(t, []string{"r0 drained", "r0 resumed"}, w.happened())
	})
}
