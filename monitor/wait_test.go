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
	"github.com/readsplit/readsplit/monitor"
)

// reader reads its own write as a router does: it waits for the replica when
// that can succeed within maxWait, and only measures when it cannot.
func reader(t *testing.T, m *monitor.Monitor, need lsn.LSN, at time.Time) (waited, found bool) {
	deadline := time.Now().Add(maxWait)
	for {
		news := m.News()
		r := replica(m, 0)
		if r.Applied.LSN >= need {
			return waited, true
		}
		if !time.Now().Before(deadline) {
			return waited, false
		}
		if r.CatchUp > maxWait {
			m.Want(need, at, time.Now())
			return waited, false
		}
		waited = true
		m.Want(need, at, deadline)
		m.AwaitNews(t.Context(), news, deadline)
	}
}

// rounds lets a session write and read its own write, 50 ms apart, n times.
func rounds(t *testing.T, w *world, m *monitor.Monitor, n int, think time.Duration) (waits, found int) {
	for range n {
		need, at := w.write(), time.Now()
		pass(think)
		waited, ok := reader(t, m, need, at)
		if waited {
			waits++
		}
		if ok {
			found++
		}
		pass(50*time.Millisecond - think)
	}
	return waits, found
}

func TestQuickReplicaIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		w.standbys[0].lag = 700 * time.Microsecond
		m := w.start(t)
		waits, found := rounds(t, w, m, 100, 0)
		assert.GreaterOrEqual(t, waits, 95)
		assert.Equal(t, 100, found)
		assert.Less(t, replica(m, 0).CatchUp, 2*time.Millisecond)

		// How long one of them waits is the delay and one question more.
		need, at := w.write(), time.Now()
		_, ok := reader(t, m, need, at)
		require.True(t, ok)
		assert.Less(t, time.Since(at), 1500*time.Microsecond)
	})
}

// A replica that is always 20 ms behind must not add 5 ms to every read, and is
// used again soon after it has become quick.
func TestWaitsThatCannotSucceedAreNotStarted(t *testing.T) {
	for name, quick := range map[string]struct{ lag, think time.Duration }{
		"then 1 ms behind":                               {time.Millisecond, 0},
		"then quicker than the first question":           {0, 0},
		"then quick, and read 2 ms after the write":      {time.Millisecond, 2 * time.Millisecond},
		"then quick, and read well after it has arrived": {0, 4 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(1)
				s := w.standbys[0]
				s.lag = 20 * time.Millisecond
				m := w.start(t)
				rounds(t, w, m, 20, 0)
				waits, found := rounds(t, w, m, 100, 0)
				assert.Zero(t, waits, "every one of them would have been in vain")
				assert.Zero(t, found)

				w.change(func() { s.lag = quick.lag })
				rounds(t, w, m, 5, quick.think)
				waits, found = rounds(t, w, m, 100, quick.think)
				assert.GreaterOrEqual(t, found, 95, "waits %d, catch-up %v", waits, replica(m, 0).CatchUp)
			})
		})
	}
}

func TestLongPauseIsSoonForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		m := w.start(t)
		rounds(t, w, m, 10, 0)
		w.change(func() { s.replays, s.state.Paused = w.state.Flush, true })
		waits, _ := rounds(t, w, m, 2000, 0)
		assert.LessOrEqual(t, waits, 3)
		w.change(func() { s.replays, s.state.Paused = free, false })
		pass(time.Second)
		rounds(t, w, m, 5, 0)
		_, found := rounds(t, w, m, 100, 0)
		assert.Equal(t, 100, found)
	})
}

func TestWaitersShareQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		s.lag, s.latency = 3*time.Millisecond, 100*time.Microsecond
		m := w.start(t)
		need, at := w.write(), time.Now()
		before := s.count(&s.positions)
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				_, ok := reader(t, m, need, at)
				assert.True(t, ok)
			})
		}
		all.Wait()
		synctest.Wait()
		assert.LessOrEqual(t, s.count(&s.positions)-before, 10, "1,000 readers, one questioner")
		assert.Equal(t, 1, s.count(&s.most))
		n := s.count(&s.positions)
		pass(10 * time.Second)
		assert.Equal(t, n, s.count(&s.positions), "nobody waits any more")
	})
}

// However many readers there are, and whatever they want, a replica is asked at
// most every 200 us while somebody waits, three in a row aside, and every ms when it is only
// measured.
func TestQuestionsArePaced(t *testing.T) {
	for name, c := range map[string]struct {
		wait time.Duration
		most int
	}{"waiting": {maxWait, 53}, "measuring": {0, 11}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(1)
				s := w.standbys[0]
				s.lag = time.Minute
				m := w.start(t)
				pass(50 * time.Millisecond)
				for range 500 { // 10 ms, ever further positions
					m.Want(w.write(), time.Now(), time.Now().Add(c.wait))
					pass(20 * time.Microsecond)
				}
				assert.LessOrEqual(t, s.count(&s.positions), c.most)
				assert.GreaterOrEqual(t, s.count(&s.positions), c.most/3)
			})
		})
	}
}

// Of many replicas only the two that are most likely to be first are asked.
func TestAtMostTwoReplicasAreAskedPerWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6)
		for _, s := range w.standbys {
			s.lag = 10 * time.Second
		}
		m := w.start(t)
		asked := func() (n int) {
			for _, s := range w.standbys {
				if s.count(&s.positions) > 0 {
					n++
				}
			}
			return n
		}
		pass(50 * time.Millisecond)
		need, at := w.write(), time.Now()
		for range 20 { // as often as the waiters hear news
			m.Want(need, at, at.Add(maxWait))
			pass(100 * time.Microsecond)
		}
		assert.Equal(t, 2, asked())
		pass(maxWait)
		for range 6 {
			m.Want(w.write(), time.Now(), time.Now())
			pass(2 * time.Millisecond)
		}
		assert.Equal(t, 6, asked(), "equally quick ones take turns")
	})
}

func TestAwaitNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t)
		news := m.News()
		assert.Equal(t, news, m.News(), "one channel for all who wait")
		assert.False(t, m.AwaitNews(t.Context(), news, time.Now()))
		began := time.Now()
		assert.False(t, m.AwaitNews(t.Context(), news, began.Add(time.Millisecond)))
		assert.Equal(t, time.Millisecond, time.Since(began))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.False(t, m.AwaitNews(ctx, news, began.Add(time.Hour)))
		assert.True(t, m.AwaitNews(t.Context(), news, began.Add(time.Hour)))
		assert.LessOrEqual(t, time.Since(began), longest)
		assert.True(t, m.AwaitNews(t.Context(), news, time.Now().Add(time.Hour)), "what was published already is news")
	})
}

// Answers that bring nobody what they wait for wake nobody: a thousand readers would look
// a thousand times, at each.
func TestAnswersWakeThoseWhoWaitForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		s.latency = 50 * time.Microsecond
		m := w.start(t)
		pass(time.Second)
		first := w.write()
		w.change(func() { s.replays = first - 1 })
		second, at := w.write(), time.Now()
		until := at.Add(time.Hour)
		looks := func(need lsn.LSN) (n *int, done chan struct{}) {
			n, done = new(int), make(chan struct{})
			go func() {
				defer close(done)
				for {
					news := m.News()
					*n++
					if replica(m, 0).Applied.LSN >= need {
						return
					}
					m.Want(need, at, until)
					m.AwaitNews(t.Context(), news, until)
				}
			}()
			return n, done
		}
		one, oneDone := looks(first)
		two, twoDone := looks(second)
		before := s.count(&s.positions)
		pass(time.Second)
		assert.Greater(t, s.count(&s.positions)-before, 500)
		assert.LessOrEqual(t, *one+*two, 2*(5+5+3), "regular samples of two servers, and no more")
		w.change(func() { s.replays = first })
		pass(2 * time.Millisecond)
		<-oneDone
		w.change(func() { s.replays = free })
		pass(2 * time.Millisecond)
		<-twoDone
	})
}

// A reader who looks just before an answer is stored, and says what it waits for just
// after, is woken by it all the same.
func TestNoAnswerIsMissedBetweenLookingAndWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		m := w.start(t)
		pass(time.Second)
		low := w.write()
		w.change(func() { s.replays = low - 1 })
		high, at := w.write(), time.Now()
		m.Want(high, at, at.Add(time.Hour)) // somebody else
		pass(5 * time.Millisecond)

		news := m.News()
		require.Less(t, replica(m, 0).Applied.LSN, low)
		w.change(func() { s.replays = low })
		eventually(t, 10*time.Millisecond, "the answer", func() bool { return replica(m, 0).Applied.LSN >= low })
		began := time.Now()
		m.Want(low, at, at.Add(time.Hour))
		require.True(t, m.AwaitNews(t.Context(), news, began.Add(time.Hour)))
		assert.Zero(t, time.Since(began))
	})
}
