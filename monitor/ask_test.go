package monitor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
)

// What a change of primary looks like has the primary asked at once, and a thousand
// failures no more often than a hundred times a second.
func TestPrimaryIsAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t, func(c *monitor.Config) { c.SampleEvery = time.Hour })
		pass(time.Minute)
		w.change(func() { w.state.Timeline, w.state.Started = 2, 9000 })
		before := w.primary.count(&w.primary.samples)
		m.AskPrimary()
		pass(time.Millisecond)
		require.Equal(t, before+1, w.primary.count(&w.primary.samples))
		require.EqualValues(t, 2, m.Snapshot().Primary.Position.Timeline)

		before = w.primary.count(&w.primary.samples)
		for range 1000 {
			m.AskPrimary()
			pass(100 * time.Microsecond)
		}
		assert.InDelta(t, 10, w.primary.count(&w.primary.samples)-before, 2, "in 100 ms")
	})
}

func TestWritable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t)
		_, ok := m.Writable(0)
		assert.False(t, ok, "a standby")
		w.change(func() {
			s := &w.standbys[0].state
			s.InRecovery, s.Timeline = false, 2
		})
		pass(longest)
		server, ok := m.Writable(0)
		assert.True(t, ok)
		assert.Equal(t, lsn.Server{System: 7, Started: 2000, Addr: "10.0.1.0", Port: 5432}, server)
		w.standbys[0].breaks(errRefused)
		pass(longest)
		_, ok = m.Writable(0)
		assert.False(t, ok, "it does not answer")
	})
}
