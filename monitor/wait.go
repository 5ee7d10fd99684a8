package monitor

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// want is the furthest position that somebody waits for on the replicas.
type want struct {
	lsn   lsn.LSN
	at    time.Time // when the primary was known to have it
	until time.Time // when the last waiter gives up
}

// NextCapture returns the number of the first capture that starts after this
// call. A write that was acknowledged before the call is covered by it.
func (m *Monitor) NextCapture() uint64 {
	n := m.captures.after()
	if m.Use() {
		m.rouse()
	}
	return n
}

// Captures returns how many captures have begun, samples of the primary included.
func (m *Monitor) Captures() uint64 { return m.captures.started.Load() }

// Captured returns the position of the earliest finished capture numbered n or
// later, and when that capture began; ok is false when there is none yet.
// insert asks for the insert position, for a write whose commit may have been
// acknowledged before it was flushed.
func (m *Monitor) Captured(n uint64, insert bool) (p lsn.Position, at time.Time, ok bool) {
	c, ok := m.captures.covering(n)
	if !ok {
		return lsn.Position{}, time.Time{}, false
	}
	return c.position(insert), c.started, true
}

// CapturedSince is [Monitor.Captured] for the earliest capture that began at t
// or later: a server that has replayed it shows everything older than t.
func (m *Monitor) CapturedSince(t time.Time) (p lsn.Position, ok bool) {
	c, ok := m.captures.since(t)
	if !ok {
		return lsn.Position{}, false
	}
	return c.position(false), true
}

// AwaitCapture waits until a capture numbered n or later has finished, asking
// for one if need be: at most one question is in flight and at most 2,000 a
// second are sent, whoever asks. It reports false when until has passed, ctx
// is done, the primary is lost, or so far away that the answer comes after until: then
// at once, and the capture is asked for all the same.
func (m *Monitor) AwaitCapture(ctx context.Context, n uint64, until time.Time) bool {
	return m.await(ctx, until, func() bool {
		_, ok := m.captures.covering(n)
		return ok
	}, func() bool {
		if m.snap.Load().Primary.Lost {
			return false // asking a thousand times a second does not bring it back
		}
		m.primary.awaited.Store(true)
		m.primary.demand(n)
		return m.comesBy(n, until)
	})
}

// AwaitNews waits until something is published after news was fetched (see
// [Monitor.News]); it reports false when until has passed or ctx is done.
func (m *Monitor) AwaitNews(ctx context.Context, news <-chan struct{}, until time.Time) bool {
	d := time.Until(until)
	if d <= 0 {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-news:
		return true
	case <-t.C:
	case <-ctx.Done():
	case <-m.ctx.Done():
	}
	return false
}

func (m *Monitor) await(ctx context.Context, until time.Time, done, hope func() bool) bool {
	for {
		news := m.News()
		if done() {
			return true
		}
		if !hope() || !m.AwaitNews(ctx, news, until) {
			return done()
		}
	}
}

// Want says that somebody waits, until the given time, for a replica to replay
// need; the primary had that position at time at. The two replicas that will
// most likely be first are asked at once, and again and again until they have it
// or nobody waits any more, once for all who wait. With until in the past it only
// measures how long the replicas take.
func (m *Monitor) Want(need lsn.LSN, at, until time.Time) {
	m.mu.Lock()
	if need > m.want.lsn {
		m.want.lsn, m.want.at = need, at
	}
	if until.After(m.want.until) {
		m.want.until = until
	}
	defer m.mu.Unlock()
	asked := 0
	waiting := time.Now().Before(until)
	if waiting {
		m.needs.add(need, until, 0)
		if need <= m.hushed {
			m.publish(func(*policy.Snapshot) {})
		}
	}
	for _, r := range m.all() {
		if r.pollFor >= need {
			asked++ // by itself, until it has it or nobody waits any more
			if waiting {
				r.awaits(need, until)
			}
			if r.hangs.beyond(need) {
				r.wake() // the server waits for more, and would not say it
			}
		}
	}
	if asked >= askedPerWait {
		return
	}
	for i, r := range m.quickest(need) {
		if r == nil || r.pollFor >= need {
			continue
		}
		if waiting {
			if !r.answersBy(until) {
				continue // far away: whoever waits has gone by then
			}
			r.pollFor = need
			r.awaits(need, until)
		} else if i > 0 && r.distance.is() > farWait || r.measured.lsn != 0 {
			continue // one that lacks what was wanted before is looked at by itself
		}
		r.wake()
	}
}

// askedPerWait is how many replicas are asked for one position: asking all of
// many replicas would cost more than the wait saves.
const askedPerWait = 2

// quickest returns the replicas that will most likely reach need first. Equally
// quick ones take turns. The caller holds m.mu.
func (m *Monitor) quickest(need lsn.LSN) (best [askedPerWait]*replica) {
	m.turn++
	all := m.all()
	n := len(all)
	for k := range n {
		r := all[(k+m.turn)%n]
		switch {
		case !r.serves() || r.known >= need:
		case best[0] == nil || r.news() < best[0].news():
			best[0], best[1] = r, best[0]
		case best[1] == nil || r.news() < best[1].news():
			best[1] = r
		}
	}
	return best
}

// serves reports whether a read may go to r once it has replayed enough. One that was
// drained is as quick as ever, and would take the questions of those that are read from.
// The caller holds Monitor.mu.
func (r *replica) serves() bool {
	return r.up && !r.balanced && !r.drained && r.role == policy.RoleStandby && !r.sample.Paused
}

// news is how long it most likely takes until it is known here that r has a position
// which the primary has now. The caller holds Monitor.mu.
func (r *replica) news() time.Duration {
	if d := r.distance.is(); d > farWait {
		return r.estimate.delay + d
	}
	return r.estimate.delay
}

// Suspect says that a read on replica i failed in a way that makes what is known
// of the server doubtful: it is not read from until it has answered again.
func (m *Monitor) Suspect(i int, err error) {
	r := m.all()[i]
	m.mu.Lock()
	r.doubts++
	if r.up {
		r.up = false
		r.publish()
	}
	news := !r.suspect
	r.suspect = true
	m.mu.Unlock()
	if news {
		m.changed(i, StateSuspect, err)
	}
	r.wake()
}
