package monitor_test

import (
	"context"
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

// What a decision costs grows with the replicas that there were at the same time, and
// not with those that there have ever been.
func TestPlacesOfTenThousandReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		m := w.start(t, func(c *monitor.Config) { c.Replicas = c.Replicas[:1] })
		last := -1
		for range 10000 {
			place := -1
			m.Add(monitor.Target{Name: "r", Source: w.standbys[1].fake}, func(i int) { place = i })
			if last >= 0 {
				m.Remove(last)
			}
			last = place
		}
		require.Len(t, m.Snapshot().Replicas, 3, "one that stays, one that comes and one that goes")
		pass(3 * longest)
		assert.True(t, eligible(m, last))
	})
}

// Several replicas are asked at the same time: that many are down costs no more than
// that one is.
func TestAddAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(4)
		m := w.start(t, func(c *monitor.Config) { c.Replicas = c.Replicas[:1] })
		var targets []monitor.Target
		for _, s := range w.standbys[1:] {
			s.freeze()
			targets = append(targets, monitor.Target{Name: "frozen", Source: s.fake})
		}
		began := time.Now()
		var places []int
		m.AddAll(t.Context(), targets, func(i, place int) {
			assert.Len(t, places, i)
			places = append(places, place)
		})
		assert.Equal(t, []int{1, 2, 3}, places)
		assert.Equal(t, sampleTimeout, time.Since(began))

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began = time.Now()
		m.AddAll(ctx, targets[:1], func(int, int) {})
		assert.Zero(t, time.Since(began), "nobody waits any more")
	})
}

// A replica may be the primary itself, or another replica, under another name.
func TestWhoIsWho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		m := w.start(t, func(c *monitor.Config) { c.Replicas = c.Replicas[:1] })
		add := func(name string, s monitor.Source) (place int) {
			m.Add(monitor.Target{Name: name, Source: s}, func(i int) { place = i })
			return place
		}
		same := add("same", w.standbys[0].fake)
		other := add("other", w.standbys[1].fake)
		itself := add("itself", w.primary)
		name, twin := m.Twin(same)
		assert.True(t, twin)
		assert.Equal(t, "r0", name)
		_, twin = m.Twin(other)
		assert.False(t, twin)
		assert.True(t, m.IsPrimary(itself))
		assert.False(t, m.IsPrimary(other))

		m.Reweigh(other, 7)
		assert.Equal(t, 7, replica(m, other).Weight)
		m.Remove(other)
		m.Reweigh(other, 9)
		assert.True(t, replica(m, other).Gone)
	})
}

// A server that has got another address is not the twin of its old one, where nobody
// answers any more: else nobody would read from it until the old one is forgotten.
func TestMovedServerIsNoTwin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t)
		s := w.standbys[0]
		s.breaks(errRefused)
		pass(3 * longest)
		require.False(t, replica(m, 0).Up)
		moved := &fake{answer: s.now, w: w}
		var place int
		m.Add(monitor.Target{Name: "moved", Source: moved}, func(i int) { place = i })
		require.True(t, replica(m, place).Up)
		_, twin := m.Twin(place)
		assert.False(t, twin)
		s.breaks(nil)
		pass(time.Minute)
		name, twin := m.Twin(place)
		assert.True(t, twin)
		assert.Equal(t, "r0", name)
	})
}
