package monitor_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
)

// crash puts s into an older state, as a standby is after one of its backends
// was killed: the same postmaster, every connection broken.
func (s *standby) crash(back lsn.LSN) {
	s.w.change(func() {
		s.replays = s.now().Replay - back
		s.connected = false
	})
}

func TestConnectionToAnOlderStateVoidsApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		s := w.standbys[0]
		m := w.start(t)
		for range 10 {
			w.write()
		}
		pass(2 * longest)
		was := replica(m, 0)
		require.True(t, was.Up)
		require.Equal(t, w.write()-96, was.Applied.LSN)
		w.happened()

		// As long as it shows no less, a connection changes nothing.
		require.NoError(t, m.Connected(0, s.connects()))
		assert.Equal(t, was.Generation, m.Generation(0))

		w.change(func() { s.latency = time.Millisecond })
		s.crash(5 * 96)
		news := m.News()
		require.NoError(t, m.Connected(0, s.connects()))
		<-news // published before the connection can be used
		now := replica(m, 0)
		assert.Equal(t, was.Generation+1, m.Generation(0))
		assert.Equal(t, was.Generation+1, now.Generation)
		assert.False(t, now.Up)
		assert.Equal(t, lsn.Position{}, now.Applied)
		assert.Zero(t, now.ReplayedAt)
		assert.Equal(t, []string{"r0 regressed"}, w.happened())
		assert.True(t, replica(m, 1).Up, "the other replica has nothing to do with it")
		assert.Zero(t, m.Generation(1))

		pass(time.Millisecond) // the sampler looks at once
		now = replica(m, 0)
		assert.True(t, now.Up)
		assert.Equal(t, s.connects().Replay, now.Applied.LSN, "what it shows now, and no more")
		assert.Equal(t, was.Generation+1, m.Generation(0))
	})
}

func TestSamplerSeesAnOlderState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		m := w.start(t)
		for range 10 {
			w.write()
		}
		pass(2 * longest)
		w.happened()
		s.crash(5 * 96)
		pass(longest)
		assert.Equal(t, uint64(1), m.Generation(0))
		assert.Equal(t, []string{"r0 regressed"}, w.happened())
		assert.Equal(t, s.connects().Replay, replica(m, 0).Applied.LSN)
		assert.True(t, replica(m, 0).Up)
	})
}

// The answer of a question that is under way may come from before the crash.
func TestSampleUnderWayApprovesNoMoreThanTheConnectionShowed(t *testing.T) {
	for name, c := range map[string]struct {
		shows int64 // what the connection shows, from the known position
		want  int64 // what is approved at the end, from there too
	}{
		"less than was known: the next sample decides":   {-3 * 96, -3 * 96},
		"as much as was known":                           {0, 0},
		"between what was known and what the sample has": {2 * 96, 2 * 96},
		"more than the sample has":                       {9 * 96, 5 * 96},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(1)
				s := w.standbys[0]
				for range 10 {
					w.write()
				}
				m := w.start(t)
				known := replica(m, 0).Applied.LSN
				for range 5 {
					w.write()
				}
				w.change(func() { s.latency = 100 * time.Millisecond })
				// Wait for the next sample; its answer is fixed half-way.
				n := s.count(&s.samples)
				eventually(t, longest, "no sample", func() bool { return s.count(&s.samples) > n })
				pass(60 * time.Millisecond)

				shows := lsn.LSN(int64(known) + c.shows)
				w.change(func() { s.replays = min(shows, known+5*96) })
				require.NoError(t, m.Connected(0, lsn.Connect{Server: s.state.Server, InRecovery: true, Replay: shows}))
				if c.shows < 0 {
					assert.False(t, replica(m, 0).Up)
				}
				pass(40 * time.Millisecond) // the answer arrives
				if c.shows < 0 {
					assert.False(t, replica(m, 0).Up, "what was asked before settles nothing")
					assert.LessOrEqual(t, replica(m, 0).Applied.LSN, shows)
					pass(100 * time.Millisecond)
				}
				assert.True(t, replica(m, 0).Up)
				assert.Equal(t, lsn.LSN(int64(known)+c.want), replica(m, 0).Applied.LSN)
			})
		})
	}
}

func TestConnectionBeforeTheFirstSampleCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		s.latency = 100 * time.Millisecond
		m := w.monitor()
		t.Cleanup(m.Close)
		go m.Start()
		pass(60 * time.Millisecond)
		require.NoError(t, m.Connected(0, lsn.Connect{Server: s.state.Server, InRecovery: true, Replay: 99_000}))
		pass(50 * time.Millisecond)
		assert.Equal(t, lsn.LSN(99_000), replica(m, 0).Applied.LSN)
	})
}

func TestRestart(t *testing.T) {
	for _, first := range []string{"the sampler sees it first", "a connection sees it first"} {
		t.Run(first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(1)
				s := w.standbys[0]
				m := w.start(t)
				pass(longest)
				w.happened()
				w.change(func() {
					s.state.Started += 500
					s.connected, s.latency = false, time.Millisecond
				})
				generation := uint64(1)
				if first != "the sampler sees it first" {
					require.NoError(t, m.Connected(0, s.connects()))
					assert.False(t, replica(m, 0).Up)
					assert.Equal(t, generation, m.Generation(0))
					generation++ // the sampler cannot know that it is the same news
					pass(time.Millisecond)
				} else {
					pass(longest)
					require.NoError(t, m.Connected(0, s.connects()))
				}
				assert.Equal(t, []string{"r0 restarted"}, w.happened())
				assert.Equal(t, generation, m.Generation(0))
				assert.True(t, replica(m, 0).Up)
				assert.False(t, replica(m, 0).Balanced)
				pass(10 * longest)
				assert.False(t, replica(m, 0).Balanced, "a restart is not a second server")
				assert.Equal(t, generation, m.Generation(0))
			})
		})
	}
}

// A restart that a connection and a sample under way see at the same time is
// one restart, not two servers.
func TestRestartSeenTwiceIsNotBalanced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		m := w.start(t)
		w.change(func() { s.latency = 100 * time.Millisecond; s.state.Started += 500; s.connected = false })
		n := s.count(&s.samples)
		eventually(t, longest, "no sample", func() bool { return s.count(&s.samples) > n })
		pass(60 * time.Millisecond)
		require.NoError(t, m.Connected(0, s.connects()))
		pass(time.Second)
		assert.False(t, replica(m, 0).Balanced)
		assert.True(t, replica(m, 0).Up)
	})
}

// A name moves to another server. A connection that was begun before, and comes after a
// sample has seen the new one, does not make several servers of it; one that was begun later
// does.
func TestConnectionFromBeforeANameMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		m := w.start(t)
		pass(longest)
		w.happened()
		before, old := time.Now(), s.connects()
		pass(time.Millisecond)
		w.change(func() { s.state.Started += 500; s.connected = false })
		pass(longest)
		assert.Equal(t, []string{"r0 restarted"}, w.happened())
		was := replica(m, 0)

		_, err := m.Look(0).Dialed(before).Connected(old)
		require.ErrorIs(t, err, monitor.ErrLeft)
		pass(10 * longest)
		assert.True(t, replica(m, 0).Up)
		assert.Equal(t, was.Generation, m.Generation(0), "nothing was approved by what it said, and nothing is void")
		assert.Empty(t, w.happened())

		_, err = m.Look(0).Dialed(time.Now()).Connected(old)
		require.NoError(t, err)
		assert.False(t, replica(m, 0).Up)
		w.change(func() { s.connected = false }) // and the sampler's own is opened anew
		pass(longest)
		assert.Equal(t, []string{"r0 balanced"}, w.happened())
	})
}

func TestOneNameSeveralServers(t *testing.T) {
	for name, broken := range map[string]bool{"the sampler's connection lives": false, "the sampler's connection broke as well": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(1)
				s := w.standbys[0]
				m := w.start(t)
				pass(longest)
				w.happened()
				other := s.connects()
				other.Started, other.Addr = 9999, "10.0.1.99"
				w.change(func() { s.connected, s.latency = s.connected && !broken, time.Millisecond })
				require.NoError(t, m.Connected(0, other))
				assert.False(t, replica(m, 0).Up, "nothing is known of the server behind that connection")
				assert.Equal(t, uint64(1), m.Generation(0))
				pass(time.Millisecond)
				assert.True(t, replica(m, 0).Balanced)
				assert.Equal(t, []string{"r0 balanced"}, w.happened())
				pass(time.Second)
				assert.True(t, replica(m, 0).Balanced)
				assert.Empty(t, w.happened(), "said once")
				require.NoError(t, m.Connected(0, other))
				assert.Equal(t, uint64(1), m.Generation(0), "nothing is claimed that a connection could contradict")
				assert.True(t, replica(m, 0).Up)
			})
		})
	}
}

func TestAReplicaThatIsAPrimary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(3)
		w.standbys[2].answer = w.primary.answer // the primary itself, meant to serve reads as well
		m := w.start(t, func(c *monitor.Config) { c.Replicas[1].AllowPrimary, c.Replicas[2].AllowPrimary = true, true })
		pass(longest)
		w.happened()
		for _, s := range w.standbys[:2] {
			w.change(func() { s.state.InRecovery = false })
		}
		err := m.Connected(0, w.standbys[0].connects())
		require.ErrorIs(t, err, monitor.ErrNotStandby)
		assert.EqualError(t, err, `readsplit: not a standby: replica "r0" is a primary and is not read from; set Replica.AllowPrimaryAsReplica if that is meant`)
		require.NoError(t, m.Connected(1, w.standbys[1].connects()))
		synctest.Wait()
		assert.Equal(t, policy.RolePrimary, replica(m, 0).Role, "the connection made the sampler look")
		assert.Equal(t, []string{"r0 writable"}, w.happened())
		pass(longest)
		assert.Equal(t, policy.RolePrimary, replica(m, 1).Role)
		assert.Empty(t, w.happened(), "replica 1 may be one")
		assert.True(t, replica(m, 1).Up)
		assert.False(t, replica(m, 1).AllowPrimary, "promoted, it writes a history of its own")
		assert.Equal(t, policy.RolePrimary, replica(m, 2).Role)
		assert.True(t, replica(m, 2).AllowPrimary)
		assert.NoError(t, m.Connected(2, lsn.Connect{Server: w.state.Server}))
		require.False(t, replica(m, 0).Applied.Zero(), "what it replayed while it was a standby")
		w.change(func() { w.state.Started = 9000; w.primary.connected = false })
		pass(longest)
		assert.True(t, replica(m, 0).Applied.Zero(), "is not in the new primary's history")
	})
}

// A sample that overtakes the answer of a new connection must not make the
// connection seem to have reached an older state.
func TestConnectionThatIsOvertakenLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		m := w.start(t)
		pass(longest)
		w.happened()
		look := m.Look(0)
		answer := s.connects()
		w.write()
		pass(longest) // a sample is quicker than the answer
		again, err := look.Connected(answer)
		require.NoError(t, err)
		assert.True(t, again)
		assert.Zero(t, m.Generation(0), "nothing has become void")
		assert.True(t, replica(m, 0).Up)
		assert.Empty(t, w.happened())

		look = m.Look(0)
		again, err = look.Connected(s.connects())
		require.NoError(t, err)
		assert.False(t, again)
		assert.Zero(t, m.Generation(0))

		// It does not excuse an older state: asked again, that shows.
		look = m.Look(0)
		answer = s.connects()
		w.write()
		pass(longest)
		s.crash(2 * 96)
		again, err = look.Connected(answer)
		require.NoError(t, err)
		require.True(t, again)
		again, err = m.Look(0).Connected(s.connects())
		require.NoError(t, err)
		assert.False(t, again)
		assert.Equal(t, uint64(1), m.Generation(0))
		assert.False(t, replica(m, 0).Up)

		// News of another run, too, mean to look again.
		look = m.Look(0)
		answer = s.connects()
		w.change(func() { s.state.Started += 500; s.connected = false })
		pass(longest)
		generation := m.Generation(0)
		again, err = look.Connected(answer)
		require.NoError(t, err)
		assert.True(t, again, "the answer is of a run that has ended")
		assert.Equal(t, generation, m.Generation(0))
		pass(longest)
		assert.False(t, replica(m, 0).Balanced)
	})
}

// A name moves twice. What was begun to be opened before the first move is from before
// both.
func TestConnectionFromBeforeANameMovedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		m := w.start(t)
		pass(longest)
		w.happened()
		before, old := time.Now(), s.connects()
		pass(time.Millisecond)
		for range 2 {
			w.change(func() { s.state.Started += 500; s.connected = false })
			pass(longest)
		}
		assert.Equal(t, []string{"r0 restarted", "r0 restarted"}, w.happened())
		_, err := m.Look(0).Dialed(before).Connected(old)
		require.ErrorIs(t, err, monitor.ErrLeft)
		w.change(func() { s.connected = false })
		pass(10 * longest)
		assert.False(t, replica(m, 0).Balanced)
		assert.Empty(t, w.happened())
	})
}

// Behind a name that leads to its servers in strict turns, the sampler's new connections
// and a reader's never come to the same one, nor the sampler's to the one before. It is
// recognised all the same, and not taken for one that moves on for ever.
func TestNameThatLeadsToItsServersInTurns(t *testing.T) {
	for _, servers := range []int64{2, 3, 4, 5, 9} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(1)
				s := w.standbys[0]
				m := w.start(t)
				pass(longest)
				turn := int64(0)
				next := func() { turn++; s.state.Started = 2000 + turn%servers }
				for range servers {
					w.change(next)
					require.NoError(t, m.Connected(0, s.connects()))
					w.change(func() { next(); s.connected = false })
					pass(longest)
				}
				assert.True(t, replica(m, 0).Balanced, "after %v", w.happened())
				assert.True(t, replica(m, 0).Up)
			})
		})
	}
}
