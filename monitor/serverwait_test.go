package monitor_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
)

// behind starts a monitor of one standby with a lag, whose server knows WAIT FOR LSN, and
// has its connection for that opened.
func behind(t *testing.T, lag time.Duration, edits ...func(*monitor.Config)) (*world, *waiting, *monitor.Monitor) {
	w := newWorld(1)
	all, edit := w.can(lsn.WaitVersion)
	s := w.standbys[0]
	s.lag, s.latency = lag, 100*time.Microsecond
	m := w.start(t, append([]func(*monitor.Config){edit}, edits...)...)
	rounds(t, w, m, 3, 0)
	f := all[0]
	require.Equal(t, 1, f.count(&f.opened))
	return w, f, m
}

// A wait of 4 ms is one question to the server and two for the position, where polling
// is seven; and it ends when the position is there, and not up to a millisecond later.
func TestServerSaysWhenAPositionIsReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f, m := behind(t, 4*time.Millisecond)
		before, waits := f.count(&f.positions), len(f.real())
		const n = 20
		for range n {
			need, at := w.write(), time.Now()
			_, ok := reader(t, m, need, at)
			require.True(t, ok)
			// A question to find it missing, half a question back, and one for the position.
			assert.LessOrEqual(t, time.Since(at), 4*time.Millisecond+200*time.Microsecond)
			pass(50 * time.Millisecond)
		}
		assert.Equal(t, n, len(f.real())-waits, "one wait each")
		assert.LessOrEqual(t, f.count(&f.positions)-before, 2*n)
		assert.Equal(t, 1, f.count(&f.opened), "on one connection")
		for _, a := range f.real() {
			assert.LessOrEqual(t, a.most, maxWait)
			assert.Positive(t, a.most)
		}
	})
}

func TestThousandReadersAreOneWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f, m := behind(t, 4*time.Millisecond)
		before, waits := f.count(&f.positions), len(f.real())
		need, at := w.write(), time.Now()
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				_, ok := reader(t, m, need, at)
				assert.True(t, ok)
			})
		}
		all.Wait()
		pass(20 * time.Millisecond)
		assert.Equal(t, 1, len(f.real())-waits)
		assert.Equal(t, 2, f.count(&f.positions)-before)
		assert.Equal(t, 1, f.count(&f.mostAway))
	})
}

// Whoever needs less than what the server waits for does not wait for that.
func TestLowerTargetDoesNotWaitForAHigherOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f, m := behind(t, 2*time.Millisecond)
		low, at := w.write(), time.Now()
		var far lsn.LSN
		w.change(func() { f.s.replays = low }) // no further than that
		far = w.write()
		far += 96
		waits := len(f.real())
		m.Want(far, at, at.Add(maxWait))
		pass(time.Millisecond)
		require.Len(t, f.real(), waits+1)
		require.Equal(t, far, f.real()[waits].to)
		_, ok := reader(t, m, low, at)
		require.True(t, ok)
		assert.LessOrEqual(t, time.Since(at), 2*time.Millisecond+monitor.PollMost+200*time.Microsecond)
		assert.True(t, f.real()[waits].done.IsZero(), "the wait for the other goes on")
	})
}

// And whoever needs more comes next, without being polled for.
func TestTargetsAreWaitedForInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f, m := behind(t, 3*time.Millisecond)
		waits, before := len(f.real()), f.count(&f.positions)
		var needs []lsn.LSN
		var all sync.WaitGroup
		for range 4 {
			need, at := w.write(), time.Now()
			needs = append(needs, need)
			all.Go(func() {
				_, ok := reader(t, m, need, at)
				assert.True(t, ok)
				assert.LessOrEqual(t, time.Since(at), 3*time.Millisecond+400*time.Microsecond)
			})
			pass(400 * time.Microsecond)
		}
		all.Wait()
		var to []lsn.LSN
		for _, a := range f.real()[waits:] {
			to = append(to, a.to)
		}
		assert.Equal(t, needs, to)
		assert.LessOrEqual(t, f.count(&f.positions)-before, 3*len(needs))
	})
}

// More positions than are remembered are polled for.
func TestCrowdOfTargetsIsPolledFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, m := behind(t, 4*time.Millisecond)
		var all sync.WaitGroup
		at := time.Now()
		for range 300 {
			need := w.write()
			all.Go(func() {
				_, ok := reader(t, m, need, at)
				assert.True(t, ok)
			})
		}
		all.Wait()
		assert.LessOrEqual(t, time.Since(at), maxWait)
	})
}

func TestServerThatDoesNotKnowTheStatementIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		all, edit := w.can(lsn.WaitVersion)
		f, s := all[0], w.standbys[0]
		f.hang = monitor.ErrCannotWait
		s.lag = 3 * time.Millisecond
		m := w.start(t, edit)
		_, found := rounds(t, w, m, 100, 0)
		assert.Equal(t, 100, found, "polled for")
		assert.Len(t, f.waits, 1, "for ever")

		// Another run may be another version.
		w.change(func() { s.state.Started++; s.connected, f.hang = false, nil })
		pass(time.Second)
		_, found = rounds(t, w, m, 10, 0)
		assert.Equal(t, 10, found)
		assert.NotEmpty(t, f.real())
	})
}

func TestOlderServersAreNotAskedToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, forbidden := range []bool{false, true} {
			w := newWorld(1)
			version := lsn.WaitVersion - 1
			if forbidden {
				version = lsn.WaitVersion
			}
			all, edit := w.can(version)
			w.standbys[0].lag = 3 * time.Millisecond
			m := w.start(t, edit, func(c *monitor.Config) { c.NoServerWait = forbidden })
			_, found := rounds(t, w, m, 20, 0)
			assert.Equal(t, 20, found)
			assert.Empty(t, all[0].waits)
		}
	})
}

// A wait that fails costs nobody a wait, and is tried ever more seldom.
func TestWaitsThatFailAreReplacedByPolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		all, edit := w.can(lsn.WaitVersion)
		f, s := all[0], w.standbys[0]
		f.hang = errTooMany
		s.lag = 3 * time.Millisecond
		m := w.start(t, edit)
		_, found := rounds(t, w, m, 200, 0) // 10 s
		assert.Equal(t, 200, found)
		assert.LessOrEqual(t, len(f.waits), 8)
		assert.Greater(t, len(f.waits), 3)
		w.change(func() { f.hang = nil })
		pass(15 * time.Second)
		rounds(t, w, m, 5, 0)
		assert.NotEmpty(t, f.real(), "used again")
	})
}

// A wait that does not end (a frozen server, a network that lost the answer) is not
// waited for: the position is polled for after its time, and the reads after it at once.
func TestWaitThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f, m := behind(t, 3*time.Millisecond)
		w.change(func() { f.frozen = true })
		for i := range 20 {
			need, at := w.write(), time.Now()
			_, ok := reader(t, m, need, at)
			if i > 0 {
				assert.True(t, ok, i)
			}
			pass(20 * time.Millisecond)
		}
		pass(2 * sampleTimeout)
		w.change(func() { f.frozen = false })
		pass(time.Second)
		n := len(f.real())
		rounds(t, w, m, 5, 0)
		assert.Greater(t, len(f.real()), n)
		assert.Equal(t, 2, f.count(&f.opened), "on another connection")
	})
}

// What the server says is no proof: the connection may lead to another server.
func TestWaitThatEndsTooEarlyProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f, m := behind(t, 3*time.Millisecond)
		w.change(func() { f.lies = true })
		n := len(f.real())
		for range 100 { // 5 s
			need, at := w.write(), time.Now()
			_, ok := reader(t, m, need, at)
			require.True(t, ok)
			shown := f.s.connects().Replay
			require.GreaterOrEqual(t, shown, need)
			pass(50 * time.Millisecond)
		}
		assert.LessOrEqual(t, len(f.real())-n, 10, "it is polled for instead")
	})
}

// Another run of the server, or another server: another connection.
func TestAnotherRunIsAnotherConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f, m := behind(t, 3*time.Millisecond)
		before := m.Generation(0)
		// It recovers from its last restartpoint while the old connection still waits for
		// what it had nearly replayed: a success there says nothing of this state.
		w.change(func() { f.s.replays = 99_000; f.s.connected = false })
		pass(2 * longest)
		require.Greater(t, m.Generation(0), before)
		assert.False(t, eligible(m, 0))
		w.change(func() { f.s.replays = free })
		pass(time.Second)
		_, found := rounds(t, w, m, 10, 0)
		assert.GreaterOrEqual(t, found, 9)
		assert.Equal(t, 2, f.count(&f.opened))
		last := f.real()[len(f.real())-1]
		assert.Equal(t, m.Generation(0), last.run)
	})
}

// A standby that is promoted while it waits says so at once, and is no replica any more.
func TestPromotedWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f, m := behind(t, 3*time.Millisecond)
		need, at := w.write(), time.Now()
		w.change(func() { f.s.replays = need - 1 })
		m.Want(need, at, at.Add(maxWait))
		pass(time.Millisecond)
		w.change(func() {
			f.s.state.InRecovery, f.s.state.Timeline, f.s.state.Flush, f.s.state.Insert = false, 2, need, need
		})
		pass(time.Millisecond)
		assert.False(t, f.real()[len(f.real())-1].done.IsZero())
		assert.Equal(t, "primary", replica(m, 0).Role.String())
		assert.True(t, replica(m, 0).Applied.LSN < need)
	})
}

func TestCloseEndsAWaitOnTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f, m := behind(t, 3*time.Millisecond, func(c *monitor.Config) { c.MaxWait = time.Hour })
		w.change(func() { f.s.replays = w.state.Flush })
		m.Want(w.write(), time.Now(), time.Now().Add(time.Hour))
		pass(5 * time.Millisecond)
		require.Equal(t, 1, f.count(&f.under))
		m.Close()
		assert.Zero(t, f.count(&f.under))
	})
}
