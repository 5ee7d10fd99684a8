package monitor_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

func TestWritersShareCaptures(t *testing.T) {
	for name, latency := range map[string]time.Duration{"no latency": 0, "latency below the pace": 300 * time.Microsecond, "latency 3 ms": 3 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(1)
				m := w.start(t)
				w.change(func() { w.primary.latency = latency })
				const writers, writes = 64, 100
				began := time.Now()
				var all sync.WaitGroup
				for range writers {
					all.Go(func() {
						for range writes {
							at := w.write()
							n := m.NextCapture()
							acknowledged := time.Now()
							if !assert.True(t, m.AwaitCapture(t.Context(), n, time.Now().Add(time.Second))) {
								return
							}
							p, started, ok := m.Captured(n, false)
							assert.True(t, ok)
							assert.GreaterOrEqual(t, p.LSN, at, "the capture must cover the write")
							assert.False(t, started.Before(acknowledged))
						}
					})
				}
				all.Wait()
				took := time.Since(began)
				w.mu.Lock()
				defer w.mu.Unlock()
				assert.Equal(t, 1, w.primary.most, "questions in flight")
				const every, burst = 500 * time.Microsecond, 4
				assert.LessOrEqual(t, w.primary.asked, int(took/every)+burst)
				// Who is quick asks again while the others still wake up: two groups.
				assert.Less(t, w.primary.asked, 3*writes, "64 writers must share")
				for i := burst; i < len(w.primary.asks); i++ {
					require.GreaterOrEqual(t, w.primary.asks[i].Sub(w.primary.asks[i-burst]), every, "at most 2,000 a second, bursts of four aside")
				}
			})
		})
	}
}

func TestOneQuestionForAllWhoAskForTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t)
		w.change(func() { w.primary.latency = 3 * time.Millisecond })
		n := m.NextCapture()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { assert.True(t, m.AwaitCapture(t.Context(), n, time.Now().Add(time.Second))) })
			pass(100 * time.Microsecond)
		}
		all.Wait()
		pass(10 * time.Millisecond)
		assert.Equal(t, 1, w.primary.count(&w.primary.asked))
	})
}

func TestNothingIsCapturedWhileNobodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		m := w.start(t)
		began := m.Captures()
		for range 1000 {
			w.write()
			m.NextCapture()
			pass(10 * time.Millisecond)
		}
		assert.Zero(t, w.primary.count(&w.primary.asked))
		assert.InDelta(t, 50, float64(m.Captures()-began), 5, "the samples are captures too")
		assert.Zero(t, w.standbys[0].count(&w.standbys[0].positions), "nor is a replica asked more often")
	})
}

func TestCaptureThatBeganBeforeTheWriteDoesNotCoverIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t)
		w.change(func() { w.primary.latency = 20 * time.Millisecond })
		first := m.NextCapture()
		var all sync.WaitGroup
		all.Go(func() { assert.True(t, m.AwaitCapture(t.Context(), first, time.Now().Add(time.Second))) })
		pass(15 * time.Millisecond) // its answer is fixed and on its way

		written := w.write()
		second := m.NextCapture()
		require.Greater(t, second, first)
		acknowledged := time.Now()
		all.Wait()
		early, _, ok := m.Captured(first, false)
		require.True(t, ok)
		require.Less(t, early.LSN, written, "the test must have written in between")
		_, _, ok = m.Captured(second, false)
		assert.False(t, ok, "a capture that began earlier must not count")

		require.True(t, m.AwaitCapture(t.Context(), second, time.Now().Add(time.Second)))
		late, started, ok := m.Captured(second, false)
		require.True(t, ok)
		assert.Equal(t, written, late.LSN)
		assert.False(t, started.Before(acknowledged))
	})
}

// A write that nobody asked about for a second must be judged by a position from
// soon after it, not by the position of now, which a replica that is a little
// behind never reaches.
func TestLateQuestionGetsAnEarlyPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		w.standbys[0].lag = 300 * time.Millisecond
		m := w.start(t)
		pass(time.Second)
		written := w.write()
		n := m.NextCapture()
		at := time.Now()
		pass(longest)
		for range 100 { // others go on
			w.write()
			require.True(t, m.AwaitCapture(t.Context(), m.NextCapture(), time.Now().Add(time.Second)))
			pass(10 * time.Millisecond)
		}
		asked := w.primary.count(&w.primary.asked)
		require.True(t, m.AwaitCapture(t.Context(), n, time.Now()), "it is there: nothing is asked, nobody waits")
		p, started, ok := m.Captured(n, false)
		require.True(t, ok)
		assert.Equal(t, written, p.LSN)
		assert.LessOrEqual(t, started.Sub(at), longest)
		assert.Equal(t, asked, w.primary.count(&w.primary.asked))
		assert.True(t, replica(m, 0).Applied.Covers(p), "the replica has it, though it lacks what was written since")
		newest := m.Snapshot().Primary.Position
		assert.False(t, replica(m, 0).Applied.Covers(newest))

		since, ok := m.CapturedSince(at)
		require.True(t, ok)
		assert.Equal(t, p, since)
		_, ok = m.CapturedSince(time.Now().Add(time.Nanosecond))
		assert.False(t, ok, "nothing has begun in the future")
	})
}

func TestWhichPositionACaptureGives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t)
		set := func(flush, insert lsn.LSN, async bool) {
			w.change(func() { w.state.Flush, w.state.Insert, w.state.AsyncCommit = flush, insert, async })
		}
		captured := func() (flush, insert lsn.LSN) {
			n := m.NextCapture()
			require.True(t, m.AwaitCapture(t.Context(), n, time.Now().Add(time.Second)))
			f, _, _ := m.Captured(n, false)
			i, _, _ := m.Captured(n, true)
			assert.Equal(t, lsn.History{System: 7, Timeline: 1, Incarnation: 1000}, f.History)
			return f.LSN, i.LSN
		}
		set(200_000, 200_500, false)
		flush, insert := captured()
		assert.Equal(t, lsn.LSN(200_000), flush)
		assert.Equal(t, lsn.LSN(200_500), insert)

		set(25*8192, 25*8192+24, false)
		_, insert = captured()
		assert.Equal(t, lsn.LSN(25*8192), insert, "corrected at the page edge, with the sizes of the full sample")
		set(16<<20, 16<<20+40, false)
		_, insert = captured()
		assert.Equal(t, lsn.LSN(16<<20), insert)

		set(17_000_000, 17_000_500, true)
		flush, insert = captured()
		assert.Equal(t, lsn.LSN(17_000_500), flush, "commits may not have been flushed")
		assert.Equal(t, flush, insert)

		set(18_000_000, 18_000_500, false)
		pass(longest) // a full sample says so again
		flush, _ = captured()
		assert.Equal(t, lsn.LSN(18_000_000), flush)
		m.MarkAsync()
		flush, insert = captured()
		assert.Equal(t, lsn.LSN(18_000_500), flush, "this process said so")
		assert.Equal(t, flush, insert)
	})
}

func TestAwaitCaptureGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t)
		assert.False(t, m.AwaitCapture(t.Context(), m.NextCapture(), time.Now()), "no time to wait")
		pass(longest)

		w.primary.freeze()
		began := time.Now()
		assert.False(t, m.AwaitCapture(t.Context(), m.NextCapture(), began.Add(5*time.Millisecond)))
		assert.Equal(t, 5*time.Millisecond, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
		defer cancel()
		began = time.Now()
		assert.False(t, m.AwaitCapture(ctx, m.NextCapture(), began.Add(time.Hour)))
		assert.Equal(t, 3*time.Millisecond, time.Since(began))

		began = time.Now()
		assert.False(t, m.AwaitCapture(t.Context(), m.NextCapture(), began.Add(time.Hour)), "ends when the primary is lost")
		assert.LessOrEqual(t, time.Since(began), 2*sampleTimeout)
		require.True(t, m.Snapshot().Primary.Lost)

		w.primary.breaks(errRefused)
		w.primary.thaw()
		pass(sampleTimeout)
		questions := func() int { return w.primary.count(&w.primary.samples) + w.primary.count(&w.primary.asked) }
		before, began := questions(), time.Now()
		for range 1000 {
			assert.False(t, m.AwaitCapture(t.Context(), m.NextCapture(), time.Now().Add(time.Hour)), "lost: at once")
			pass(time.Millisecond)
		}
		assert.Equal(t, time.Second, time.Since(began))
		assert.LessOrEqual(t, questions()-before, 7, "a lost primary must not be stormed")

		w.primary.breaks(nil)
		pass(longest)
		assert.True(t, m.AwaitCapture(t.Context(), m.NextCapture(), time.Now().Add(time.Second)), "it is back")
	})
}

// The name of the primary may lead to a standby that takes over in this moment,
// on the same connection: what it captures is not of the old primary's history.
func TestCaptureFromAStandbyThatTakesOver(t *testing.T) {
	for range 20 { // the monitor may or may not look at the clock first
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(0)
			m := w.start(t)
			w.change(func() { w.primary.latency = 20 * time.Millisecond })
			samples := w.primary.count(&w.primary.samples)
			w.change(func() { w.state.InRecovery, w.state.Started, w.state.Timeline = true, 8000, 2 })
			eventually(t, longest, "not asked", func() bool { return w.primary.count(&w.primary.samples) > samples })
			pass(15 * time.Millisecond) // the answer is on its way: in recovery
			w.change(func() { w.state.InRecovery = false })
			n := m.NextCapture()
			require.True(t, m.AwaitCapture(t.Context(), n, time.Now().Add(time.Second)))
			p, _, ok := m.Captured(n, true)
			require.True(t, ok)
			assert.Equal(t, lsn.History{System: 7, Timeline: 2, Incarnation: 8000}, p.History)
		})
	}
}

// A capture over a connection that was opened just now could come from another
// run of the primary: it must bring its history along.
func TestCaptureOnANewConnectionNamesItsHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t)
		w.change(func() {
			w.primary.connected = false
			w.state.Started, w.state.Timeline = 3000, 2
		})
		n := m.NextCapture()
		require.True(t, m.AwaitCapture(t.Context(), n, time.Now().Add(time.Second)))
		p, _, ok := m.Captured(n, true)
		require.True(t, ok)
		assert.Equal(t, lsn.History{System: 7, Timeline: 2, Incarnation: 3000}, p.History)
		assert.Zero(t, w.primary.count(&w.primary.asked), "only full samples name a history")
	})
}
