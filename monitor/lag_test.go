package monitor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
)

func lagOf(t *testing.T, m *monitor.Monitor, i int) time.Duration {
	t.Helper()
	r := replica(m, i)
	lag, ok := r.Lag(time.Now())
	require.True(t, ok, "no bound is proven: %+v", r)
	return lag
}

func TestIdleReplicaStaysNearZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t)
		for range 1000 {
			assert.LessOrEqual(t, lagOf(t, m, 0), longest)
			pass(10 * time.Millisecond)
		}
		assert.Zero(t, replica(m, 0).BehindBytes)
		assert.Zero(t, w.primary.count(&w.primary.nudges))
	})
}

func TestLagOfABusyPrimary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		w.standbys[0].lag = 50 * time.Millisecond
		w.standbys[1].lag = time.Second
		m := w.start(t)
		write := func(d time.Duration, each func()) {
			for range int(d / (10 * time.Millisecond)) {
				w.write()
				pass(10 * time.Millisecond)
				each()
			}
		}
		write(3*time.Second, func() {})
		write(10*time.Second, func() {
			for i, s := range w.standbys {
				lag := lagOf(t, m, i)
				require.GreaterOrEqual(t, lag, s.staleness(), "replica %d", i)
				require.LessOrEqual(t, lag, s.lag+2*longest, "replica %d: the bound must be useful too", i)
			}
		})
		assert.Positive(t, replica(m, 1).BehindBytes)
		pass(time.Second + 2*longest)
		assert.Zero(t, replica(m, 1).BehindBytes)
		assert.Equal(t, m.Snapshot().Primary.Position, replica(m, 1).Applied)
	})
}

func TestLagGrowsWhileCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		m := w.start(t)
		pass(time.Second)
		w.change(func() { s.gets, s.state.ReceivedTimeline = w.state.Flush, 0 })
		w.write()
		cut := time.Now()
		for range 600 {
			pass(10 * time.Millisecond)
			lag := lagOf(t, m, 0)
			require.GreaterOrEqual(t, lag, time.Since(cut))
			require.LessOrEqual(t, lag, time.Since(cut)+longest)
			require.True(t, replica(m, 0).Up, "it answers, and its own formula says 0")
		}
		assert.False(t, eligible(m, 0))

		// A restart does not make it fresh, though it has forgotten what it received.
		w.change(func() { s.state.Started = 5000; s.connected = false })
		pass(longest)
		assert.Contains(t, w.happened(), "r0 restarted")
		assert.GreaterOrEqual(t, lagOf(t, m, 0), time.Since(cut))

		w.change(func() { s.gets = free })
		back := eventually(t, time.Second, "it does not come back", func() bool { return eligible(m, 0) })
		assert.LessOrEqual(t, back, 2*longest)
		assert.LessOrEqual(t, lagOf(t, m, 0), 2*longest)
	})
}

func TestLagAfterAPauseAndAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		m := w.start(t)
		w.change(func() { s.replays, s.state.Paused = w.state.Flush, true })
		pass(longest)
		assert.True(t, replica(m, 0).Paused)
		w.write()
		paused := time.Now()
		// Nobody can ask the primary, and it goes on.
		w.primary.breaks(errRefused)
		for range 30 {
			pass(100 * time.Millisecond)
			w.write()
			require.GreaterOrEqual(t, lagOf(t, m, 0), time.Since(paused))
		}
		w.primary.breaks(nil)
		for range 10 {
			pass(100 * time.Millisecond)
			require.GreaterOrEqual(t, lagOf(t, m, 0), time.Since(paused))
		}
		// It replays half of it: the bound is that of what it still lacks.
		w.change(func() { s.replays = w.log[15].lsn })
		for range 10 {
			pass(100 * time.Millisecond)
			require.GreaterOrEqual(t, lagOf(t, m, 0), s.staleness())
		}
		w.change(func() { s.replays, s.state.Paused = free, false })
		eventually(t, 2*longest, "it does not come back", func() bool { return eligible(m, 0) })
		assert.False(t, replica(m, 0).Paused)
	})
}

func TestMarginOfAsynchronousCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t)
		require.Zero(t, replica(m, 0).Margin)
		m.MarkAsync()
		assert.Equal(t, 600*time.Millisecond, replica(m, 0).Margin, "at once: the next commit may be such a one")
		pass(time.Second)
		assert.Equal(t, 600*time.Millisecond, replica(m, 0).Margin)
		assert.GreaterOrEqual(t, lagOf(t, m, 0), 600*time.Millisecond)

		w2 := newWorld(1)
		w2.state.AsyncCommit, w2.state.WalWriterDelay = true, 10*time.Millisecond
		m2 := w2.start(t)
		assert.Equal(t, 30*time.Millisecond, replica(m2, 0).Margin)
		w2.change(func() { w2.state.AsyncCommit = false })
		pass(longest)
		assert.Zero(t, replica(m2, 0).Margin)
	})
}

// One transaction whose COMMIT is not waited for makes lags larger until it is flushed,
// and no longer: by as much as that takes.
func TestLagWhileACommitIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newWorld(1).start(t)
		pass(time.Second)
		require.Less(t, lagOf(t, m, 0), 600*time.Millisecond)
		m.AsyncBegins()
		m.AsyncBegins()
		pass(time.Second)
		assert.GreaterOrEqual(t, lagOf(t, m, 0), 600*time.Millisecond)
		m.AsyncEnds()
		pass(time.Second)
		assert.GreaterOrEqual(t, lagOf(t, m, 0), 600*time.Millisecond, "the other one is open")
		m.AsyncEnds()
		pass(500 * time.Millisecond)
		assert.GreaterOrEqual(t, lagOf(t, m, 0), 600*time.Millisecond, "it is acknowledged, and may not be flushed")
		pass(time.Second)
		assert.Less(t, lagOf(t, m, 0), 600*time.Millisecond)
		assert.Zero(t, replica(m, 0).Margin)
	})
}

// TestLagIsNeverTooSmall lets everything happen to two replicas at random and
// compares the bound with the truth, which only the test knows.
func TestLagIsNeverTooSmall(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 0))
				w := newWorld(2)
				m := w.start(t, func(c *monitor.Config) { c.Seed = seed })
				checked := 0
				for range 6000 { // one fake minute
					if rng.IntN(3) == 0 {
						w.write()
					}
					i := rng.IntN(len(w.standbys))
					if rng.IntN(50) == 0 {
						disturb(t, rng, w, m, i)
					}
					pass(10 * time.Millisecond)
					for i, s := range w.standbys {
						r := replica(m, i)
						if lag, ok := r.Lag(time.Now()); ok && r.Up {
							checked++
							require.GreaterOrEqual(t, lag, s.staleness(), "replica %d", i)
						}
						if r.Up && !r.Applied.Zero() {
							require.LessOrEqual(t, r.Applied.LSN, s.connects().Replay, "replica %d is believed to show more than it does", i)
						}
					}
				}
				require.Greater(t, checked, 3000, "the replicas must have been up for some of the time")
			})
		})
	}
}

func disturb(t *testing.T, rng *rand.Rand, w *world, m *monitor.Monitor, i int) {
	s := w.standbys[i]
	w.mu.Lock()
	what := rng.IntN(10)
	switch what {
	case 0:
		s.gets = w.state.Flush // cut off
	case 1:
		s.gets = free
	case 2:
		s.replays = s.now().Replay // replay paused
		s.state.Paused = true
	case 3:
		s.replays, s.state.Paused = free, false
	case 4:
		// Where the delay grows it shows an older state, as after a crash.
		s.lag, s.connected = time.Duration(rng.IntN(2)*rng.IntN(3000))*time.Millisecond, false
	case 5, 6: // restart, or a crash that the postmaster survives: an older state
		if what == 5 {
			s.state.Started += 1_000_000
		}
		back := s.now().Replay - min(s.now().Replay, lsn.LSN(rng.IntN(50)*96))
		s.replays, s.connected = max(back, 100_000), false
	case 7:
		w.primary.err = errRefused
	case 8, 9:
		w.primary.err = nil
	}
	w.mu.Unlock()
	if what == 4 || what == 5 || what == 6 {
		// The plugin sees every new connection of its pool.
		require.NoError(t, m.Connected(i, s.connects()))
	}
}
