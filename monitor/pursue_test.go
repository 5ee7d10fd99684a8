package monitor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/monitor"
)

// writes lets the process write every 5 ms for a second, as a router tells of it, and
// returns how many captures there were.
func writes(w *world, m *monitor.Monitor) int {
	before := w.primary.count(&w.primary.asked)
	for range 200 {
		w.write()
		m.Foresee(m.NextCapture())
		pass(5 * time.Millisecond)
	}
	return w.primary.count(&w.primary.asked) - before
}

// Where replicas are so slow that nobody waits, positions of writes are asked for without
// anybody who waits: for a second after a read had to see one, a few in the time that a
// replica takes, and not at all where replicas are quick.
func TestPositionsOfWritesArePursued(t *testing.T) {
	for name, c := range map[string]struct {
		lag           time.Duration
		sought        bool
		fewest, most  int
		quickest, end time.Duration
	}{
		"quick":                          {time.Millisecond, true, 0, 0, 0, maxWait},
		"slow, and nobody reads":         {200 * time.Millisecond, false, 0, 0, 150 * time.Millisecond, 250 * time.Millisecond},
		"slow, and somebody had to look": {200 * time.Millisecond, true, 20, 42, 150 * time.Millisecond, 250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(2)
				for _, s := range w.standbys {
					s.lag = c.lag
				}
				m := w.start(t)
				for range 5 { // so that it is known how slow they are
					m.Want(w.write(), time.Now(), time.Now())
					pass(300 * time.Millisecond)
				}
				require.GreaterOrEqual(t, m.Quickest(), c.quickest)
				require.LessOrEqual(t, m.Quickest(), c.end)
				if c.sought {
					m.Sought()
				}
				got := writes(w, m)
				assert.GreaterOrEqual(t, got, c.fewest)
				assert.LessOrEqual(t, got, c.most)
				pass(2 * time.Second)
				assert.Zero(t, writes(w, m), "nobody has looked for a while")
			})
		})
	}
}

// Of replicas that are down, drained or paused nobody waits for, none is the quickest; a
// name of several servers may always have what is needed.
func TestQuickest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		w.standbys[0].lag, w.standbys[1].lag = 200*time.Millisecond, 50*time.Millisecond
		m := w.start(t)
		for range 5 {
			m.Want(w.write(), time.Now(), time.Now())
			pass(300 * time.Millisecond)
		}
		assert.InDelta(t, 50*time.Millisecond, m.Quickest(), float64(15*time.Millisecond))
		m.Drain(1, true)
		assert.InDelta(t, 200*time.Millisecond, m.Quickest(), float64(50*time.Millisecond))
		m.Drain(0, true)
		assert.Zero(t, m.Quickest(), "nothing is known of whom one could wait for")
	})
}
