package monitor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/internal/heldup"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

func exec(t *testing.T, s *testenv.Server, query string, args ...any) {
	t.Helper()
	_, err := s.DB().ExecContext(t.Context(), query, args...)
	require.NoError(t, err, query)
}

func ask[T any](t *testing.T, s *testenv.Server, query string, args ...any) (v T) {
	t.Helper()
	require.NoError(t, s.DB().QueryRowContext(t.Context(), query, args...).Scan(&v), query)
	return v
}

func orders(t *testing.T, c *testenv.Cluster) {
	t.Helper()
	exec(t, c.Primary(), "CREATE TABLE IF NOT EXISTS orders (id bigserial PRIMARY KEY, note text)")
	exec(t, c.Primary(), "ALTER TABLE orders ALTER note SET STORAGE PLAIN")
	require.NoError(t, c.WaitCaughtUp(t.Context()))
}

// TestRealServers runs on one cluster; each part watches it with a Monitor of
// its own and mends what it broke.
func TestRealServers(t *testing.T) {
	c := testenv.Start(t, testenv.Replicas(3))
	orders(t, c)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *testenv.Cluster)
	}{
		{"own writes", ownWrites},
		{"replay paused", replayPaused},
		{"cut off", cutOff},
		{"idle open transaction", idleOpenTransaction},
		{"backend crashed", backendCrashed},
		{"frozen", frozen},
		{"primary killed", primaryKilled},
		{"promoted", promotion},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Cleanup(func() { assert.NoError(t, c.UndoAll()) })
			part.run(t, c)
		})
	}
}

func ownWrites(t *testing.T, c *testenv.Cluster) {
	m, source, w := watch(t, c.Primary(), c.Replicas())
	for i, s := range c.Replicas() {
		within(t, 30*time.Second, "it is not used", func() bool { return usable(m, i) })
		assert.Equal(t, policy.RoleStandby, replica(m, i).Role)
		assert.Equal(t, s.Name(), replica(m, i).Name)
	}
	slow := heldup.Watch(t)
	const writes = 200
	began := time.Now()
	before := m.Captures()
	for n := range writes {
		id := ask[int64](t, c.Primary(), "INSERT INTO orders (note) VALUES (repeat('x', $1)) RETURNING id", n%300)
		next := m.NextCapture()
		require.True(t, m.AwaitCapture(t.Context(), next, time.Now().Add(30*time.Second)))
		need, at, ok := m.Captured(next, n%2 == 0)
		require.True(t, ok)
		for i, s := range c.Replicas() {
			deadline := time.Now().Add(30 * time.Second)
			for {
				news := m.News()
				if replica(m, i).Applied.Covers(need) {
					break
				}
				m.Want(need.LSN, at, deadline)
				require.True(t, m.AwaitNews(t.Context(), news, deadline), "%s did not reach %v", s.Name(), need)
			}
			require.Equal(t, 1, ask[int](t, s, "SELECT count(*) FROM orders WHERE id = $1", id), "%s has replayed %v and lacks the order", s.Name(), need)
		}
	}
	captures := m.Captures() - before
	took := time.Since(began)
	assert.LessOrEqual(t, captures, uint64(writes)+uint64(took/(40*time.Millisecond))+2, "a capture per write and the regular samples, no more")
	assert.Less(t, replica(m, 0).CatchUp, 50*time.Millisecond+10*slow())
	assert.NotContains(t, strings.Join(w.happened(), " "), "regressed")
	assert.LessOrEqual(t, source.nudges.Load(), int64(took/time.Second)+1)
}

func replayPaused(t *testing.T, c *testenv.Cluster) {
	m, _, _ := watch(t, c.Primary(), c.Replicas())
	within(t, 30*time.Second, "not in use", func() bool { return usable(m, 0) && usable(m, 1) })
	undo, err := c.Replica(0).PauseReplay(t.Context())
	require.NoError(t, err)
	exec(t, c.Primary(), "INSERT INTO orders (note) VALUES ('while paused')")
	written := time.Now()
	slow := heldup.Watch(t)
	reads := 0
	during(2*realLag, func() {
		reads++
		r := replica(m, 0)
		lag, ok := r.Lag(time.Now())
		require.True(t, !r.Up || !ok || lag >= time.Since(written)-10*time.Millisecond, "lag %v, and the write is %v old", lag, time.Since(written))
		require.True(t, near(m, 1, slow()))
	})
	require.Greater(t, reads, 100)
	assert.True(t, replica(m, 0).Paused)
	assert.False(t, usable(m, 0))
	assert.Positive(t, replica(m, 0).BehindBytes)
	assert.Equal(t, 0, ask[int](t, c.Replica(0), "SELECT count(*) FROM orders WHERE note = 'while paused'"), "the fault was in force")
	require.NoError(t, undo())
	within(t, 30*time.Second, "it does not come back", func() bool { return usable(m, 0) })
	assert.False(t, replica(m, 0).Paused)
}

func cutOff(t *testing.T, c *testenv.Cluster) {
	m, source, _ := watch(t, c.Primary(), c.Replicas())
	within(t, 30*time.Second, "not in use", func() bool { return usable(m, 0) && usable(m, 1) })
	undo, err := c.Replica(0).Cut(t.Context())
	require.NoError(t, err)
	nudges := source.nudges.Load()
	exec(t, c.Primary(), "INSERT INTO orders (note) SELECT 'while cut off' FROM generate_series(1, 1000)")
	written := time.Now()
	slow := heldup.Watch(t)
	during(2*realLag, func() {
		r := replica(m, 0)
		lag, ok := r.Lag(time.Now())
		require.True(t, !ok || lag >= time.Since(written)-10*time.Millisecond)
		require.True(t, near(m, 1, slow()))
	})
	assert.True(t, replica(m, 0).Up, "it answers")
	assert.False(t, usable(m, 0))
	const formula = "SELECT CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0 ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp()) END::float8"
	assert.Zero(t, ask[float64](t, c.Replica(0), formula), "its own formula sees nothing")
	assert.Equal(t, 0, ask[int](t, c.Replica(0), "SELECT count(*) FROM orders WHERE note = 'while cut off'"))
	assert.Equal(t, nudges, source.nudges.Load(), "a nudge would tell nothing")
	require.NoError(t, undo())
	within(t, 30*time.Second, "it does not come back", func() bool { return usable(m, 0) })
	assert.Equal(t, 1000, ask[int](t, c.Replica(0), "SELECT count(*) FROM orders WHERE note = 'while cut off'"))
}

// idleOpenTransaction leaves a flush position inside a record: a healthy replica
// seems to fall behind, and must stay in use.
func idleOpenTransaction(t *testing.T, c *testenv.Cluster) {
	for name, allowed := range map[string]bool{"nudge forbidden": false, "nudge allowed": true} {
		t.Run(name, func(t *testing.T) {
			m, source, _ := watch(t, c.Primary(), c.Replicas(), func(c *monitor.Config) { c.Nudge = allowed })
			ready := func() bool { return usable(m, 0) && usable(m, 1) && usable(m, 2) }
			// Something else on the server may finish the record before it matters.
			for attempt := 1; ; attempt++ {
				require.LessOrEqual(t, attempt, 5, "no record was left unfinished for long enough")
				within(t, 30*time.Second, "not in use", ready)
				end := restInside(t, c)
				nudges, out, slow := source.nudges.Load(), false, heldup.Watch(t)
				during(2*realLag, func() {
					out = out || !ready()
					fine := near(m, 0, slow()) && near(m, 1, slow()) && near(m, 2, slow())
					require.True(t, fine || !allowed, "a healthy replica was thrown out: %+v", m.Snapshot().Replicas)
				})
				nudges = source.nudges.Load() - nudges
				end()
				if allowed {
					assert.LessOrEqual(t, nudges, int64(2), "once, or twice where the nudge's own commit ran into another record")
				} else {
					assert.Zero(t, nudges)
				}
				if out || nudges > 0 {
					return // it mattered
				}
			}
		})
	}
}

// restInside opens transactions until one leaves the flush position inside a
// record, and returns what ends it. The WAL writer flushes whole pages of what an
// open transaction has written; a record that goes on over the next page is
// flushed in part.
func restInside(t *testing.T, c *testenv.Cluster) (end func()) {
	for kilobytes := 100; kilobytes < 200; kilobytes += 3 {
		tx, err := c.Primary().DB().BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "INSERT INTO orders (note) SELECT repeat('x', 1000) FROM generate_series(1, $1)", kilobytes)
		require.NoError(t, err)
		if restsInside(t, c) {
			return func() { require.NoError(t, tx.Rollback()) }
		}
		require.NoError(t, tx.Rollback())
	}
	require.Fail(t, "no flush position rested inside a record")
	return nil
}

// restsInside reports whether a replica that has received all that is flushed
// lacks the end of it for 400 ms, and not only until it gets round to it.
func restsInside(t *testing.T, c *testenv.Cluster) bool {
	since, at := time.Time{}, ""
	for began := time.Now(); time.Since(began) < 2*time.Second; {
		flush := ask[string](t, c.Primary(), "SELECT pg_current_wal_flush_lsn()::text")
		const question = "SELECT pg_last_wal_receive_lsn() = $1::text::pg_lsn AND pg_last_wal_replay_lsn() < $1::text::pg_lsn"
		switch {
		case !ask[bool](t, c.Replica(0), question, flush):
			at = ""
		case flush != at:
			since, at = time.Now(), flush
		case time.Since(since) > 400*time.Millisecond:
			return true
		}
	}
	return false
}

func backendCrashed(t *testing.T, c *testenv.Cluster) {
	m, _, w := watch(t, c.Primary(), c.Replicas())
	s := c.Replica(0)
	within(t, 30*time.Second, "not in use", func() bool { return usable(m, 0) })
	conn, _, err := opens(t.Context(), m, 0, s)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	exec(t, c.Primary(), "INSERT INTO orders (note) SELECT 'before the crash' FROM generate_series(1, 1000)")
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	newest := lsnOf(t, c.Primary(), "SELECT pg_current_wal_flush_lsn()::text")
	within(t, 30*time.Second, "its position is not seen", func() bool { return replica(m, 0).Applied.LSN >= newest })
	before := replica(m, 0)
	w.happened()

	// What was written a moment ago is replayed anew after the crash, and the
	// delay keeps the server in the state before it.
	delay, err := s.Delay(t.Context(), time.Minute)
	require.NoError(t, err)
	started := ask[time.Time](t, s, "SELECT pg_postmaster_start_time()")
	undo, err := s.CrashBackend(t.Context())
	require.NoError(t, err)
	reached, shown := 0, before.Applied.LSN
	within(t, 30*time.Second, "no connection showed an older state", func() bool {
		conn, connect, err := opens(t.Context(), m, 0, s)
		if err != nil {
			return false // starting up
		}
		defer conn.Close(t.Context())
		reached++
		shown = connect.Replay
		return shown < before.Applied.LSN
	})
	assert.Greater(t, m.Generation(0), before.Generation, "from the first connection on")
	during(time.Second, func() {
		if r := replica(m, 0); r.Up && !r.Applied.Zero() {
			require.Less(t, r.Applied.LSN, before.Applied.LSN, "it is believed to show what it lost")
		}
	})
	assert.Less(t, lsnOf(t, s, "SELECT pg_last_wal_replay_lsn()::text"), newest, "the fault was in force")
	assert.Equal(t, started, ask[time.Time](t, s, "SELECT pg_postmaster_start_time()"), "nothing else tells")
	assert.Contains(t, w.happened(), "replica1 regressed")
	require.NoError(t, delay())
	require.NoError(t, undo())
	within(t, 30*time.Second, "it does not come back", func() bool { return usable(m, 0) && replica(m, 0).Applied.LSN >= newest })
	assert.Equal(t, 1000, ask[int](t, s, "SELECT count(*) FROM orders WHERE note = 'before the crash'"))
}

func lsnOf(t *testing.T, s *testenv.Server, query string) lsn.LSN {
	t.Helper()
	l, err := lsn.ParseLSN(ask[string](t, s, query))
	require.NoError(t, err)
	return l
}

func frozen(t *testing.T, c *testenv.Cluster) {
	const timeout = 500 * time.Millisecond
	m, _, w := watch(t, c.Primary(), c.Replicas(), func(c *monitor.Config) { c.SampleTimeout = timeout })
	within(t, 30*time.Second, "not in use", func() bool { return usable(m, 0) && usable(m, 1) })
	w.happened()
	slow := heldup.Watch(t)
	undo, err := c.Replica(1).Freeze(t.Context())
	require.NoError(t, err)
	took := within(t, 30*time.Second, "it is not declared dead", func() bool { return len(w.called()) > 0 })
	// One question, its repetition on a new connection, the pause before them, and
	// half a second for the scheduler of a busy machine, and more where it needs more.
	assert.Less(t, took, 2*timeout+55*time.Millisecond+200*time.Millisecond+500*time.Millisecond+10*slow())
	assert.False(t, replica(m, 1).Up)
	during(time.Second, func() { require.True(t, near(m, 0, slow()), "the other server has nothing to do with it") })
	require.NoError(t, undo())
	within(t, 30*time.Second, "it does not come back", func() bool { return usable(m, 1) })
	assert.Equal(t, []string{"alive 1"}, w.called())
	assert.Equal(t, []string{"replica2 suspect", "replica2 down", "replica2 up"}, w.happened())
}

func primaryKilled(t *testing.T, c *testenv.Cluster) {
	m, _, w := watch(t, c.Primary(), c.Replicas())
	within(t, 30*time.Second, "not in use", func() bool { return usable(m, 0) && usable(m, 1) })
	old := m.Snapshot().Primary.Position.History
	w.happened()
	undo, err := c.Primary().Kill(t.Context())
	require.NoError(t, err)
	within(t, 30*time.Second, "it is not lost", func() bool { return m.Snapshot().Primary.Lost })
	assert.False(t, m.AwaitCapture(t.Context(), m.NextCapture(), time.Now().Add(time.Minute)), "at once")
	during(2*realLag, func() { require.True(t, replica(m, 0).Up && replica(m, 1).Up) })
	assert.False(t, usable(m, 0), "no bound can be proven")
	require.NoError(t, undo())
	within(t, 30*time.Second, "it does not come back", func() bool { return !m.Snapshot().Primary.Lost })
	now := m.Snapshot().Primary.Position.History
	assert.Equal(t, old.System, now.System)
	assert.Equal(t, old.Timeline, now.Timeline)
	assert.NotEqual(t, old.Incarnation, now.Incarnation, "the same data, another run")
	within(t, 30*time.Second, "the replicas do not come back", func() bool { return usable(m, 0) && usable(m, 1) })
	assert.Equal(t, now, replica(m, 0).Applied.History)
	events := w.happened()
	for _, e := range []string{"primary down", "primary new_history", "primary up"} {
		assert.Contains(t, events, e)
	}
}

// promotion comes last: afterwards the cluster has two primaries.
func promotion(t *testing.T, c *testenv.Cluster) {
	loser, winner, stays, changes := c.Primary(), c.Replica(0), c.Replica(1), c.Replica(2)
	m, _, w := watch(t, loser, c.Replicas())
	within(t, 30*time.Second, "not in use", func() bool { return usable(m, 0) && usable(m, 1) && usable(m, 2) })
	old := m.Snapshot().Primary.Position
	w.happened()
	_, err := winner.Promote(t.Context())
	require.NoError(t, err)
	within(t, 30*time.Second, "its new role is not seen", func() bool { return replica(m, 0).Role == policy.RolePrimary })
	assert.Contains(t, w.happened(), "replica1 writable")
	assert.False(t, usable(m, 0))
	_, _, err = opens(t.Context(), m, 0, winner)
	require.ErrorIs(t, err, monitor.ErrNotStandby)
	within(t, 30*time.Second, "it still follows the primary that we watch", func() bool { return usable(m, 1) })
	_, err = changes.Follow(t.Context(), winner)
	require.NoError(t, err)
	within(t, 30*time.Second, "a replica that changed sides is still trusted", func() bool { return replica(m, 2).Applied.Zero() })
	assert.Contains(t, w.happened(), "replica3 foreign")

	// Another process, or this one after the name has moved, has the winner for
	// its primary. Replica 2 is the loser's: its numbers prove nothing.
	m2, _, w2 := watch(t, winner, []*testenv.Server{stays, changes})
	h := m2.Snapshot().Primary.Position.History
	assert.Equal(t, old.System, h.System)
	assert.Equal(t, old.Timeline+1, h.Timeline, "at once")
	exec(t, loser, "INSERT INTO orders (note) SELECT 'written to the loser' FROM generate_series(1, 1000)")
	exec(t, winner, "INSERT INTO orders (note) VALUES ('written to the winner')")
	n := m2.NextCapture()
	require.True(t, m2.AwaitCapture(t.Context(), n, time.Now().Add(30*time.Second)))
	need, at, ok := m2.Captured(n, true)
	require.True(t, ok)
	assert.Equal(t, lsn.Incomparable, lsn.Compare(old, need), "positions of two histories")
	within(t, 30*time.Second, "it does not follow the loser", func() bool {
		return lsnOf(t, stays, "SELECT pg_last_wal_replay_lsn()::text") > need.LSN
	})
	within(t, 30*time.Second, "the one that changed sides is not used", func() bool {
		m2.Want(need.LSN, at, time.Now())
		return usable(m2, 1) && replica(m2, 1).Applied.Covers(need)
	})
	assert.Equal(t, 1, ask[int](t, changes, "SELECT count(*) FROM orders WHERE note = 'written to the winner'"))
	during(time.Second, func() {
		require.True(t, replica(m2, 0).Applied.Zero(), "it has passed the position in its own history, and lacks the order")
		require.False(t, usable(m2, 0))
	})
	assert.Equal(t, 0, ask[int](t, stays, "SELECT count(*) FROM orders WHERE note = 'written to the winner'"))
	assert.NotContains(t, w2.happened(), "replica2 proven")
}
