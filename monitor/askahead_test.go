package monitor_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
)

// readAfterWrite writes, waits as a reader does, and returns for how long.
func readAfterWrite(t *testing.T, w *world, m *monitor.Monitor) time.Duration {
	w.write()
	began := time.Now()
	n := m.NextCapture()
	require.True(t, m.AwaitCapture(t.Context(), n, began.Add(maxWait)))
	p, at, ok := m.Captured(n, false)
	require.True(t, ok)
	for until := began.Add(maxWait); ; {
		news := m.News()
		if slices.ContainsFunc(m.Snapshot().Replicas, func(r policy.Replica) bool { return r.Applied.Covers(p) }) {
			return time.Since(began)
		}
		m.Want(p.LSN, at, until)
		require.True(t, m.AwaitNews(t.Context(), news, until))
	}
}

// A replica that replays within the way to the primary is asked meanwhile: a read after a
// write waits for one way there and back, and not for two.
func TestReplicaIsAskedWhileThePrimaryIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		const way = time.Millisecond
		m := w.start(t)
		w.change(func() {
			w.primary.latency = way
			for _, s := range w.standbys {
				s.lag, s.latency = way/2, way
			}
		})
		var served [2]int
		soon := 0
		for range 100 {
			pass(20 * time.Millisecond)
			if readAfterWrite(t, w, m) == way {
				soon++
			}
			for i, r := range m.Snapshot().Replicas {
				if r.Applied.Covers(m.Snapshot().Primary.Position) {
					served[i]++
				}
			}
		}
		assert.Greater(t, soon, 90, "all but those that meet a regular question")
		assert.Greater(t, min(served[0], served[1]), 30, "those that are as quick take turns, or one would have all reads after writes")
	})
}

// One that is slower than that is asked when it is known what for, and now and then it is
// tried again.
func TestReplicaThatIsSlowIsNotAskedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		m := w.start(t)
		const way, reads = 200 * time.Microsecond, 320
		w.change(func() {
			w.primary.latency, s.latency = way, way
			s.lag = 2 * time.Millisecond
		})
		asked := func() int {
			before := s.count(&s.positions)
			for range reads {
				pass(20 * time.Millisecond)
				readAfterWrite(t, w, m)
			}
			return s.count(&s.positions) - before
		}
		slow := asked()
		w.change(func() { s.lag = way / 2 })
		for range 100 {
			pass(20 * time.Millisecond)
			readAfterWrite(t, w, m)
		}
		pass(20 * time.Millisecond)
		assert.Equal(t, way, readAfterWrite(t, w, m), "it has become quick, and that was found out")
		// Six questions until it has it, as without: 200 us, and then half as long again each
		// time, up to a millisecond.
		assert.Less(t, slow, reads*6+reads/16)
	})
}
