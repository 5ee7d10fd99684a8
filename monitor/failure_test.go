package monitor_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
)

func TestFrozenReplicaIsDeclaredDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(3)
		m := w.start(t)
		pass(longest)
		w.happened()
		w.standbys[1].freeze()
		frozen := time.Now()
		const bound = longest + 2*sampleTimeout
		for time.Since(frozen) < 10*time.Second {
			pass(10 * time.Millisecond)
			now := time.Now()
			for _, i := range []int{0, 2} {
				require.True(t, replica(m, i).Up)
				require.LessOrEqual(t, now.Sub(replica(m, i).Sampled), longest, "replica %d waits for the frozen one", i)
			}
			require.LessOrEqual(t, now.Sub(m.Snapshot().Primary.Sampled), longest)
			if since := time.Since(frozen); since > longest+sampleTimeout {
				require.False(t, replica(m, 1).Up, "after %v", since)
			}
			if since := time.Since(frozen); since >= bound {
				w.change(func() { require.Equal(t, []string{"dead 1"}, w.calls, "after %v", since) })
			} else if since < 2*sampleTimeout {
				w.change(func() { require.Empty(t, w.calls) })
			}
		}
		assert.Equal(t, []string{"dead 1"}, w.called(), "told once")
		assert.Equal(t, []string{"r1 suspect", "r1 down"}, w.happened())

		w.standbys[1].thaw()
		took := eventually(t, longest+sampleTimeout, "it does not come back", func() bool { return replica(m, 1).Up })
		assert.LessOrEqual(t, took, longest+sampleTimeout)
		assert.Equal(t, []string{"alive 1"}, w.called())
		assert.Equal(t, []string{"r1 up"}, w.happened())
		assert.Equal(t, 1, w.standbys[1].count(&w.standbys[1].most))
	})
}

// Reads that the news of a server's return brings must find it open.
func TestAliveIsToldBeforeItIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		var m *monitor.Monitor
		var upThen []bool
		m = w.monitor(func(c *monitor.Config) {
			c.OnAlive = func(i int) { w.change(func() { upThen = append(upThen, m.Snapshot().Replicas[i].Up) }) }
		})
		m.Start()
		t.Cleanup(m.Close)
		w.standbys[0].breaks(errRefused)
		pass(time.Second)
		w.standbys[0].breaks(nil)
		pass(2 * longest)
		require.True(t, replica(m, 0).Up)
		w.change(func() { assert.Equal(t, []bool{false}, upThen) })
	})
}

func TestRefusedConnectionIsTriedAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		m := w.start(t)
		w.happened()
		s.breaks(errRefused)
		n := s.count(&s.samples)
		eventually(t, longest, "not asked", func() bool { return s.count(&s.samples) > n })
		assert.Equal(t, n+2, s.count(&s.samples), "the server may only have restarted")
		assert.Equal(t, []string{"dead 0"}, w.called())
		assert.Equal(t, []string{"r0 suspect", "r0 down"}, w.happened())
		pass(10 * time.Second)
		assert.InDelta(t, n+26, s.count(&s.samples), 4, "and then less and less often")
		assert.Empty(t, w.happened())
		assert.False(t, replica(m, 0).Up)
		pass(2 * time.Minute)
		n = s.count(&s.samples)
		pass(20 * sampleEvery)
		assert.InDelta(t, n+2, s.count(&s.samples), 1, "down for long")
		s.breaks(nil)
		pass(10 * longest)
		assert.True(t, replica(m, 0).Up)
	})
}

func TestSuspectIsOutUntilItAnswersAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		s := w.standbys[0]
		m := w.start(t)
		pass(longest)
		w.happened()
		w.change(func() { s.latency = 10 * time.Millisecond })
		// Not while a regular question is under way, whose answer would settle nothing.
		for n := s.count(&s.samples); s.count(&s.samples) == n; {
			pass(time.Millisecond)
		}
		pass(20 * time.Millisecond)
		n := s.count(&s.samples)
		m.Suspect(0, errors.New("unexpected EOF"))
		assert.False(t, replica(m, 0).Up, "at once")
		assert.True(t, replica(m, 1).Up)
		m.Suspect(0, errors.New("unexpected EOF"))
		assert.Equal(t, []string{"r0 suspect"}, w.happened(), "said once")
		pass(20 * time.Millisecond)
		// Once for both, or once more where the first question was on its way when the
		// second failure came.
		assert.Contains(t, []int{n + 1, n + 2}, s.count(&s.samples), "asked at once, everything")
		assert.True(t, replica(m, 0).Up)
		assert.Equal(t, []string{"r0 up"}, w.happened())
		assert.Empty(t, w.called(), "one failure is not death")
	})
}

// An answer to a question that was sent before the failure does not refute it.
func TestAnswerFromBeforeTheFailureSettlesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		m := w.start(t)
		w.change(func() { s.latency = 100 * time.Millisecond })
		n := s.count(&s.samples)
		eventually(t, longest, "not asked", func() bool { return s.count(&s.samples) > n })
		pass(60 * time.Millisecond) // the answer is on its way
		s.breaks(errRefused)
		m.Suspect(0, errRefused)
		pass(40 * time.Millisecond) // it is there
		assert.False(t, replica(m, 0).Up)
		pass(time.Second)
		assert.False(t, replica(m, 0).Up)
		assert.Equal(t, []string{"dead 0"}, w.called())
	})
}

func TestPrimaryIsLostAfterTwoFailuresAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		m := w.start(t)
		w.write()
		pass(longest)
		w.happened()
		last := m.Snapshot().Primary.Position

		// One failure is not a loss: the second question comes at once.
		n := w.primary.count(&w.primary.samples)
		w.primary.freeze()
		took := eventually(t, 2*sampleTimeout, "not asked again", func() bool { return w.primary.count(&w.primary.samples) == n+2 })
		assert.LessOrEqual(t, took, longest+sampleTimeout)
		assert.False(t, m.Snapshot().Primary.Lost)
		w.primary.thaw()
		pass(longest)
		assert.False(t, m.Snapshot().Primary.Lost)
		assert.Empty(t, w.happened())

		w.primary.breaks(errRefused)
		took = eventually(t, time.Second, "it is not lost", func() bool { return m.Snapshot().Primary.Lost })
		assert.LessOrEqual(t, took, longest)
		assert.Equal(t, []string{"primary down"}, w.happened())
		pass(5 * time.Second)
		assert.Empty(t, w.happened(), "said once")
		assert.Equal(t, last, m.Snapshot().Primary.Position, "what is known stays")
		for i := range w.standbys {
			assert.True(t, replica(m, i).Up, "replicas are still sampled")
			assert.LessOrEqual(t, time.Since(replica(m, i).Sampled), longest)
			assert.GreaterOrEqual(t, lagOf(t, m, i), 5*time.Second, "no bound can be proven without the primary")
		}

		w.primary.breaks(nil)
		took = eventually(t, time.Second, "it does not come back", func() bool { return !m.Snapshot().Primary.Lost })
		assert.LessOrEqual(t, took, longest)
		assert.Equal(t, []string{"primary up"}, w.happened())
		assert.LessOrEqual(t, lagOf(t, m, 0), longest)
	})
}

func TestPrimaryThatBecameAStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t)
		w.happened()
		w.change(func() { w.state.InRecovery = true })
		pass(longest)
		assert.True(t, m.Snapshot().Primary.Lost)
		assert.Equal(t, []string{"primary standby"}, w.happened())
		w.change(func() { w.state.InRecovery = false })
		pass(longest)
		assert.False(t, m.Snapshot().Primary.Lost)
		assert.Equal(t, []string{"primary up"}, w.happened())
	})
}

func TestNothingAnswersAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		w.primary.err = errRefused
		w.standbys[0].err = errRefused
		w.standbys[1].frozen = make(chan struct{})
		began := time.Now()
		m := w.start(t)
		assert.LessOrEqual(t, time.Since(began), 3*sampleTimeout, "a start that waits for the dead has a bound")
		for i := range w.standbys {
			assert.False(t, replica(m, i).Up)
			assert.Equal(t, policy.RoleUnknown, replica(m, i).Role)
		}
		pass(3 * time.Second)
		assert.True(t, m.Snapshot().Primary.Lost)
		assert.True(t, m.Snapshot().Primary.Position.Zero())

		w.standbys[0].breaks(nil)
		pass(2 * longest)
		assert.True(t, replica(m, 0).Up)
		assert.True(t, replica(m, 0).Applied.Zero(), "nothing is proven without a primary")
		w.primary.breaks(nil)
		w.standbys[1].thaw()
		pass(sampleTimeout + longest)
		for i := range w.standbys {
			assert.True(t, eligible(m, i), "replica %d has joined", i)
		}
		events := w.happened()
		for _, e := range []string{"primary up", "r0 up", "r1 up", "r0 proven", "r1 proven"} {
			assert.Contains(t, events, e)
		}
	})
}

func TestNewHistoryVoidsEveryPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		m := w.start(t)
		w.write()
		pass(2 * longest)
		w.happened()
		// A failover: the name of the primary now leads to the winner. Replica 0
		// follows it, replica 1 stays with the loser and replays on.
		w.change(func() {
			w.state.Timeline, w.state.Started = 2, 8000
			w.standbys[0].state.ReceivedTimeline = 2
			w.primary.connected = false
		})
		w.write()
		pass(2 * longest)
		events := w.happened()
		assert.Contains(t, events, "primary new_history")
		assert.Contains(t, events, "r0 proven")
		assert.NotContains(t, events, "r1 proven")
		h := lsn.History{System: 7, Timeline: 2, Incarnation: 8000}
		assert.Equal(t, h, m.Snapshot().Primary.Position.History)
		assert.Equal(t, h, replica(m, 0).Applied.History)
		assert.True(t, eligible(m, 0))
		assert.True(t, replica(m, 1).Applied.Zero())
		assert.False(t, eligible(m, 1))

		// A snapshot is restored: the same timeline, an older position.
		// The replica cannot follow it and stays where it is.
		w.change(func() {
			w.standbys[0].answer = fixed(w.standbys[0].now())
			w.state.Started, w.state.Flush, w.state.Insert = 9000, w.state.Flush-96, w.state.Insert-96
			w.primary.connected = false
		})
		pass(2 * longest)
		assert.Contains(t, w.happened(), "r0 foreign")
		assert.True(t, replica(m, 0).Applied.Zero())
		for range 5 {
			w.write() // it overtakes
		}
		pass(2 * longest)
		assert.True(t, replica(m, 0).Applied.Zero(), "the same numbers, other writes")
		assert.Equal(t, lsn.History{System: 7, Timeline: 2, Incarnation: 9000}, m.Snapshot().Primary.Position.History)
	})
}

// A bound that was proven in one history says nothing in the next.
func TestNewHistoryVoidsEveryBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		m := w.start(t)
		pass(longest)
		require.True(t, eligible(m, 0))
		w.change(func() {
			s.replays, s.state.ReceivedTimeline = w.state.Flush, 2 // it has replayed nothing of the new history
			w.state.Timeline, w.state.Started = 2, 8000
			w.state.Flush, w.state.Insert = w.state.Flush+96, w.state.Insert+96
			w.primary.connected = false
		})
		pass(2 * longest)
		r := replica(m, 0)
		require.False(t, r.Applied.Zero(), "it does follow the new history")
		_, ok := r.Lag(time.Now())
		assert.False(t, ok, "%+v", r)
		w.change(func() { s.replays = free; w.log = append(w.log, entry{time.Now(), w.state.Flush}) })
		pass(2 * longest)
		assert.True(t, eligible(m, 0))
	})
}

// A primary that was restored starts further back than the one before it had
// been: a standby that was built anew from it must be usable all the same.
func TestRestoredPrimaryWithANewReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		s.replays = 90_000
		w.log = []entry{{time.Now().Add(-time.Minute), 95_000}}
		m := w.start(t)
		pass(time.Second)
		w.change(func() {
			w.state.Started, w.state.Flush, w.state.Insert = 9000, 95_000, 95_000
			s.state.Started, s.replays = 9500, free
			w.primary.connected, s.connected = false, false
			w.primary.err = errRefused
		})
		pass(2 * longest) // the new standby is seen first: the old one was beyond the new primary
		w.primary.breaks(nil)
		pass(5 * time.Second)
		assert.True(t, eligible(m, 0), "%+v", replica(m, 0))
	})
}

func TestReplicasAreUsableAfterStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(3)
		for _, s := range w.standbys {
			s.lag = time.Millisecond
			s.latency = 5 * time.Millisecond // the primary writes meanwhile
		}
		w.write()
		w.primary.latency = 10 * time.Millisecond
		go func() {
			for range 100 {
				w.write()
				<-time.After(time.Millisecond)
			}
		}()
		m := w.start(t)
		for i := range w.standbys {
			assert.True(t, eligible(m, i), "replica %d: %+v", i, replica(m, i))
		}
		assert.False(t, m.Snapshot().Primary.Lost)
		pass(time.Second)
	})
}

func fixed(s lsn.Sample) func() lsn.Sample {
	s.Receive = s.Replay
	return func() lsn.Sample { return s }
}
