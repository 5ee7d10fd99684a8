package monitor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/monitor"
)

const roundTrip = 100 * time.Millisecond

// region is a world seen from a region whose primary is far away, with one replica
// there, 300 ms behind, and one beside the primary.
func region(t *testing.T) (*world, *monitor.Monitor) {
	w := newWorld(2)
	w.primary.latency, w.standbys[1].latency = roundTrip, roundTrip
	w.standbys[0].lag, w.standbys[1].lag = 300*time.Millisecond, time.Millisecond
	m := w.start(t)
	pass(2 * time.Second)
	return w, m
}

// TestFarPrimaryBoundsLag: the bound on the lag of the region's replica is never less
// than its staleness, and little more than what it is behind, a way to the primary and
// two samples: far below the default of MaxLag.
func TestFarPrimaryBoundsLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := region(t)
		most := time.Duration(0)
		for range 400 {
			pass(25 * time.Millisecond)
			w.write()
			for i := range 2 {
				r := replica(m, i)
				lag, ok := r.Lag(time.Now())
				require.True(t, ok)
				require.GreaterOrEqual(t, lag, w.standbys[i].staleness())
				require.True(t, eligible(m, i))
				require.LessOrEqual(t, time.Since(r.Sampled), 500*time.Millisecond, "half of the default of MaxSampleAge")
				most = max(most, lag)
			}
		}
		assert.Less(t, most, 300*time.Millisecond+2*(longest+roundTrip))
	})
}

// TestNobodyWaitsForAFarCapture: where the answer cannot come in time, whoever asks for
// a capture is told so at once, and it is taken all the same. After a write it is taken
// without being asked for.
func TestNobodyWaitsForAFarCapture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, m := region(t)
		n, began := m.NextCapture(), time.Now()
		assert.False(t, m.AwaitCapture(t.Context(), n, began.Add(maxWait)))
		assert.Zero(t, time.Since(began), "no time was spent on it")
		eventually(t, 2*roundTrip+captureSlack, "the capture that was asked for", func() bool {
			_, _, ok := m.Captured(n, false)
			return ok
		})

		n, began = m.NextCapture(), time.Now()
		m.Foresee(n)
		assert.True(t, m.AwaitCapture(t.Context(), n, began.Add(3*roundTrip)), "who has the time waits")
		assert.LessOrEqual(t, time.Since(began), 2*roundTrip+captureSlack)
		_, at, ok := m.Captured(n, false)
		require.True(t, ok)
		assert.Less(t, at.Sub(began), roundTrip+captureSlack)
	})
}

const captureSlack = 2 * time.Millisecond

// Beside the primary nothing is asked before somebody needs it, and reads wait for it.
func TestNearCapturesAreNotForeseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		w.primary.latency = time.Millisecond
		m := w.start(t)
		pass(time.Second + 7*time.Millisecond)
		asked := w.primary.count(&w.primary.asked)
		for range 50 {
			w.write()
			m.Foresee(m.NextCapture())
			pass(time.Millisecond)
		}
		assert.Equal(t, asked, w.primary.count(&w.primary.asked))
		assert.True(t, m.AwaitCapture(t.Context(), m.NextCapture(), time.Now().Add(maxWait)))
	})
}

// TestFarReplicasAreNotAskedForAWait: who waits a few milliseconds for a position is not
// helped by an answer that takes a hundred, and a replica over there is not asked for
// it again and again.
func TestFarReplicasAreNotAskedForAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := region(t)
		w.change(func() { w.standbys[0].lag = 2 * time.Millisecond })
		pass(time.Second)
		near, far := w.standbys[0].count(&w.standbys[0].positions), w.standbys[1].count(&w.standbys[1].positions)
		for range 20 {
			need, now := w.write(), time.Now()
			m.Want(need, now, now.Add(maxWait))
			eventually(t, maxWait, "the near replica has it", func() bool { return replica(m, 0).Applied.LSN >= need })
			pass(10 * time.Millisecond)
		}
		assert.GreaterOrEqual(t, w.standbys[0].count(&w.standbys[0].positions), near+20)
		assert.LessOrEqual(t, w.standbys[1].count(&w.standbys[1].positions), far+4, "a way there and back each, beside its samples")
	})
}
