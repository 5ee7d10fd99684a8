package monitor_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/monitor"
)

// idle has servers sampled seldom when nobody asks.
func idle(every time.Duration) func(*monitor.Config) {
	return func(c *monitor.Config) { c.IdleSampleEvery, c.MaxSampleAge = every, time.Second }
}

// samplesIn counts samples of every server while time passes.
func samplesIn(w *world, d time.Duration) (primary, replica int) {
	p, r := w.primary.count(&w.primary.samples), w.standbys[0].count(&w.standbys[0].samples)
	pass(d)
	return w.primary.count(&w.primary.samples) - p, w.standbys[0].count(&w.standbys[0].samples) - r
}

func TestServersAreSampledSeldomWhenNobodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t, idle(800*time.Millisecond))
		pass(4 * time.Second)
		p, r := samplesIn(w, 8*time.Second)
		assert.InDelta(t, 10, p, 2)
		assert.InDelta(t, 10, r, 2)

		// Whoever reads finds news within MaxSampleAge and MaxLag, and waits for nothing.
		require.True(t, eligible(m, 0))
		began := time.Now()
		require.True(t, m.Use())
		m.Rouse(t.Context(), began.Add(maxWait))
		assert.Zero(t, time.Since(began))
		assert.False(t, m.Use(), "awake")
		p, r = 0, 0
		for range 40 { // 8 s
			m.Use()
			dp, dr := samplesIn(w, 200*time.Millisecond)
			p, r = p+dp, r+dr
		}
		assert.InDelta(t, 40, p, 3)
		assert.InDelta(t, 40, r, 3)
	})
}

// Samples of an hour ago, on a primary that writes all the time: the first reads wait for
// an answer of one replica, all together, and find it.
func TestFirstReadAfterALongSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		for _, s := range w.standbys {
			s.lag, s.latency = time.Millisecond, 100*time.Microsecond
		}
		w.primary.latency = 100 * time.Microsecond
		m := w.start(t, idle(time.Hour))
		pass(10 * time.Second)
		for range 2000 {
			w.write()
			pass(10 * time.Millisecond)
		}
		require.False(t, eligible(m, 0) || eligible(m, 1), "nothing is known any more")
		require.Empty(t, w.happened()[3:], "and nobody is told of a lag")
		before := w.standbys[0].count(&w.standbys[0].positions) + w.standbys[1].count(&w.standbys[1].positions)
		var served atomic.Int32
		var all sync.WaitGroup
		for range 1000 {
			w.write()
			all.Go(func() {
				began := time.Now()
				if m.Use() {
					m.Rouse(t.Context(), began.Add(maxWait))
				}
				if eligible(m, 0) || eligible(m, 1) {
					served.Add(1)
				}
				assert.LessOrEqual(t, time.Since(began), 2*time.Millisecond)
			})
			if time.Now().Nanosecond()%7 == 0 {
				pass(time.Microsecond)
			}
		}
		all.Wait()
		assert.Equal(t, int32(1000), served.Load())
		asked := w.standbys[0].count(&w.standbys[0].positions) + w.standbys[1].count(&w.standbys[1].positions) - before
		assert.LessOrEqual(t, asked, 20)
		for _, s := range w.standbys {
			assert.Less(t, s.staleness(), 2*time.Millisecond)
		}
	})
}

// Where nobody answers, the first reads wait as long as for any replica, and those after
// them do not: the rules say what is done.
func TestFirstReadWhenNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t, idle(time.Hour))
		pass(10 * time.Second)
		w.standbys[0].freeze()
		w.primary.freeze()
		t.Cleanup(w.standbys[0].thaw)
		t.Cleanup(w.primary.thaw)
		pass(time.Minute)
		began := time.Now()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				require.True(t, m.Use())
				m.Rouse(t.Context(), began.Add(maxWait))
			})
		}
		all.Wait()
		assert.Equal(t, maxWait, time.Since(began))
		assert.False(t, m.Use())
		assert.False(t, eligible(m, 0))
		pass(5 * sampleTimeout)
		assert.False(t, replica(m, 0).Up)
		assert.True(t, m.Snapshot().Primary.Lost)
	})
}

func TestRouseEndsWithItsContextAndItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t, idle(time.Hour))
		pass(time.Minute)
		w.standbys[0].latency = time.Second // nobody asks now
		began := time.Now()
		require.True(t, m.Use())
		m.Rouse(t.Context(), began) // reads that never wait (MaxWait Off)
		assert.Zero(t, time.Since(began))
		pass(3 * time.Second)
		assert.True(t, eligible(m, 0), "asked all the same")
	})
}

// Something that goes on (a report that takes minutes) needs to be told of a dead server.
func TestWhatIsUnderWayKeepsAwake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var underWay atomic.Bool
		w := newWorld(1)
		underWay.Store(true)
		m := w.start(t, idle(time.Hour), func(c *monitor.Config) { c.UnderWay = underWay.Load })
		pass(time.Minute)
		p, r := samplesIn(w, 8*time.Second)
		assert.InDelta(t, 40, p, 3)
		assert.InDelta(t, 40, r, 3)
		assert.False(t, m.Use())
		underWay.Store(false)
		pass(10 * time.Second)
		assert.True(t, m.Use())
	})
}

// A write wakes: a capture long after it would bind its session to what others wrote since.
func TestWriteWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t, idle(time.Hour))
		pass(time.Minute)
		covers := w.write()
		n := m.NextCapture()
		pass(time.Millisecond)
		w.write()
		at, _, ok := m.Captured(n, false)
		require.True(t, ok)
		assert.Equal(t, covers, at.LSN)
		pass(time.Second)
		assert.False(t, m.Use())
	})
}

// Processes that are started at once do not ask at once.
func TestProcessesDoNotAskInStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		const processes = 100
		began := time.Now()
		for seed := range processes {
			w.start(t, func(c *monitor.Config) { c.Seed = uint64(seed) })
		}
		pass(2 * time.Second)
		s := w.standbys[0]
		per := map[int]int{}
		for _, at := range s.sampleStarts {
			if d := at.Sub(began); d > 0 {
				per[int(d/(10*time.Millisecond))]++
			}
		}
		for slot, n := range per {
			assert.LessOrEqual(t, n, processes/5, "%d0 ms after they were started", slot) // 5 on average
		}
		assert.InDelta(t, 10*processes, len(s.sampleStarts), processes)
	})
}

// What is stated of a server that tells no position counts from the primary's newest
// sample: the first read after a silence waits for that, as for any news.
func TestFirstReadWhereTheLagIsStated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		w.standbys[0].mute()
		w.primary.latency, w.standbys[0].latency = time.Millisecond, 100*time.Microsecond
		m := w.start(t, idle(800*time.Millisecond), states(1500*time.Millisecond, 3*time.Second))
		pass(longest)
		require.True(t, eligible(m, 0))
		pass(10 * time.Second)
		eventually(t, time.Minute, "what is known to be too old", func() bool { return !eligible(m, 0) })
		require.True(t, m.Use())
		began := time.Now()
		m.Rouse(t.Context(), began.Add(maxWait))
		assert.True(t, eligible(m, 0))
		assert.LessOrEqual(t, time.Since(began), 2*time.Millisecond)
	})
}
