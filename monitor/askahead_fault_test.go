package monitor_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
)

// What a replica said before the position was known approves nothing once the server, or
// what the name leads to, has changed: between the replica's answer and the primary's.
func TestAnswerFromBeforeTheChangeApprovesNothing(t *testing.T) {
	for name, change := range map[string]func(w *world, s *standby, at lsn.LSN){
		"an older state": func(_ *world, s *standby, at lsn.LSN) { s.replays = at - 1 },
		"a restart": func(_ *world, s *standby, at lsn.LSN) {
			s.state.Started, s.replays = 9000, at-1
		},
		"another server of the cluster": func(_ *world, s *standby, at lsn.LSN) {
			s.state.Server = lsn.Server{System: 7, Started: 9001, Addr: "10.0.9.1", Port: 5432}
			s.replays = at - 1
		},
		"a server of another cluster": func(_ *world, s *standby, _ lsn.LSN) {
			s.state.Server = lsn.Server{System: 8, Started: 9002, Addr: "10.0.9.2", Port: 5432}
		},
		"another timeline, restarted": func(_ *world, s *standby, _ lsn.LSN) {
			s.state.Started, s.state.ReceivedTimeline, s.state.ControlTimeline = 9003, 2, 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(1)
				s := w.standbys[0]
				m := w.start(t)
				const way = 4 * time.Millisecond
				w.change(func() { w.primary.latency, s.latency = way, 200*time.Microsecond })
				pass(20 * time.Millisecond)

				at := w.write()
				before := s.count(&s.positions)
				captured := make(chan bool, 1)
				n := m.NextCapture()
				go func() { captured <- m.AwaitCapture(t.Context(), n, time.Now().Add(10*maxWait)) }()
				pass(time.Millisecond)
				require.Greater(t, s.count(&s.positions), before, "it has been asked ahead")
				require.GreaterOrEqual(t, replica(m, 0).Applied.LSN, at, "and has the position")
				_, _, ok := m.Captured(n, false)
				require.False(t, ok, "which the primary has not told yet")
				approved := m.Generation(0)

				w.change(func() {
					change(w, s, at)
					s.connected = false // none of its connections survived
				})
				_ = m.Connected(0, s.connects()) // the first read that comes there

				require.True(t, <-captured)
				p, _, ok := m.Captured(n, false)
				require.True(t, ok)
				r := replica(m, 0)
				assert.False(t, r.Up && r.Role == policy.RoleStandby && r.Applied.Covers(p), "%+v covers %v", r, p)
				assert.NotEqual(t, approved, m.Generation(0), "a read that the first answer approved counts for nothing")

				pass(2 * longest)
				r = replica(m, 0)
				assert.False(t, r.Up && r.Role == policy.RoleStandby && r.Applied.Covers(p), "%+v covers %v", r, p)
			})
		})
	}
}

// Whatever becomes of the replica that is asked ahead, or of the capture, those that are
// well are asked ahead again, sampled as ever, and nothing hangs.
func TestAskingAheadSurvives(t *testing.T) {
	for name, c := range map[string]struct {
		breaks, mends func(w *world, m *monitor.Monitor)
	}{
		"the replica is removed": {
			func(_ *world, m *monitor.Monitor) { m.Remove(0) },
			func(w *world, m *monitor.Monitor) {
				m.Add(monitor.Target{Name: "r0", Source: w.standbys[0].fake}, func(int) {})
			},
		},
		"the replica never answers": {
			func(w *world, _ *monitor.Monitor) { w.standbys[0].freeze() },
			func(w *world, _ *monitor.Monitor) { w.standbys[0].thaw() },
		},
		"the capture fails": {
			func(w *world, _ *monitor.Monitor) { w.primary.breaks(errors.New("reset")) },
			func(w *world, _ *monitor.Monitor) { w.primary.breaks(nil) },
		},
		"the primary never answers": {
			func(w *world, _ *monitor.Monitor) { w.primary.freeze() },
			func(w *world, _ *monitor.Monitor) { w.primary.thaw() },
		},
		"the replica is suspected": {
			func(_ *world, m *monitor.Monitor) { m.Suspect(0, errors.New("reset")) },
			func(*world, *monitor.Monitor) {},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(2)
				m := w.start(t)
				const way = time.Millisecond
				w.change(func() {
					w.primary.latency = way
					for _, s := range w.standbys {
						s.latency = way
					}
				})
				reads := func(n int) (ahead int) {
					for range n {
						pass(20 * time.Millisecond)
						w.write()
						began := time.Now()
						n := m.NextCapture()
						if !m.AwaitCapture(t.Context(), n, began.Add(maxWait)) {
							continue
						}
						p, _, ok := m.Captured(n, false)
						require.True(t, ok)
						synctest.Wait()
						if time.Since(began) == way && slices.ContainsFunc(m.Snapshot().Replicas, func(r policy.Replica) bool { return r.Up && r.Applied.Covers(p) }) {
							ahead++
						}
					}
					return ahead
				}
				require.Greater(t, reads(30), 20)
				for _, after := range []time.Duration{0, way / 4, way / 2, way * 3 / 4} { // of the capture, and of the replica's answer
					w.write()
					n := m.NextCapture()
					done := make(chan struct{})
					go func() { m.AwaitCapture(t.Context(), n, time.Now().Add(maxWait)); close(done) }()
					if after > 0 {
						pass(after)
					}
					c.breaks(w, m)
					<-done
					samples := w.standbys[1].count(&w.standbys[1].samples)
					reads(100)
					assert.GreaterOrEqual(t, w.standbys[1].count(&w.standbys[1].samples)-samples, 8, "the other one is sampled as ever")
					c.mends(w, m)
					pass(15 * sampleEvery)
					reads(40)
					assert.Greater(t, reads(30), 20, "%v after the question", after)
				}
			})
		})
	}
}

// The monitor is closed while both are asked.
func TestCloseWhileAReplicaIsAskedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t)
		w.change(func() { w.primary.latency, w.standbys[0].latency = time.Millisecond, time.Millisecond })
		pass(20 * time.Millisecond)
		w.write()
		done := make(chan bool)
		n := m.NextCapture()
		go func() { done <- m.AwaitCapture(t.Context(), n, time.Now().Add(time.Second)) }()
		pass(100 * time.Microsecond)
		m.Close()
		assert.False(t, <-done)
		assert.Equal(t, 1, w.standbys[0].count(&w.standbys[0].closed))
	})
}

// Replicas that no read can go to do not take the questions of those that it can go to.
func TestWhoCannotBeReadFromIsNotWaitedFor(t *testing.T) {
	for name, out := range map[string]func(m *monitor.Monitor, i int){
		"drained": func(m *monitor.Monitor, i int) { m.Drain(i, true) },
		"ejected": func(m *monitor.Monitor, i int) {
			for range 3 {
				m.Struck(i, false, errRead)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(3)
				m := w.start(t, func(c *monitor.Config) { c.Health.Eject, c.Health.MaxEject = time.Hour, time.Hour })
				const way = time.Millisecond
				w.change(func() {
					w.primary.latency = way
					for i, s := range w.standbys {
						s.latency = way
						if i == 2 {
							s.lag = way / 4
						}
					}
				})
				for i := range 2 {
					out(m, i)
				}
				pass(2 * longest)
				served := 0
				for range 100 {
					pass(20 * time.Millisecond)
					w.write()
					began := time.Now()
					n := m.NextCapture()
					require.True(t, m.AwaitCapture(t.Context(), n, began.Add(maxWait)))
					p, at, ok := m.Captured(n, false)
					require.True(t, ok)
					for until := began.Add(maxWait); ; {
						news := m.News()
						if r := replica(m, 2); r.Applied.Covers(p) {
							if time.Since(began) == way {
								served++
							}
							break
						}
						m.Want(p.LSN, at, until)
						if !m.AwaitNews(t.Context(), news, until) {
							break
						}
					}
				}
				assert.Greater(t, served, 90, "reads that waited for one way there and back")
			})
		})
	}
}
