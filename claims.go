package readsplit

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

const (
	// tokenLifetime is how long a token counts. A position that is older proves
	// nothing that the lag bound does not prove already.
	tokenLifetime = time.Hour
	// tokenWait is the longest that Token waits for a capture.
	tokenWait = time.Second
)

// wrote records a write that was acknowledged: for the session, if there is
// one, for everybody in this process who has none, and, when there is no session
// or the schema changed, for every session of the process. insert says that the
// commit may have been acknowledged before it was flushed.
//
// began is the primary's history before the write was sent, see writtenIn.
func (rt *router) wrote(m *marks, insert, everybody bool, began lsn.History) {
	now := time.Now()
	for _, q := range plugins.sharing(rt) {
		// Read after the acknowledgement: a capture that starts from now on
		// covers the write.
		next, h := q.monitor.NextCapture(), q.writtenIn(began)
		after := func(c session.Claim) session.Claim { return c.AfterWrite(next, insert, h, now) }
		q.process.update(after)
		if m.session == nil || everybody {
			q.unscoped.update(after)
		}
		if m.session != nil {
			m.session.ledgerOf(q).claim.update(after)
		}
	}
	if m.request != nil {
		m.request.wrote.Store(true)
	}
}

// unsure records an event whose outcome is unknown: whoever may have written
// reads from the primary for the sticky window, and after it until a position
// captured then is reached. Until when, because the server may still carry the
// statement out after the connection broke.
func (rt *router) unsure(m *marks) {
	now := time.Now()
	for _, q := range plugins.sharing(rt) {
		until := now.Add(q.cfg.StickyWindow)
		after := func(c session.Claim) session.Claim { return c.AfterUnsure(until, now) }
		q.process.update(after)
		if m.session == nil {
			q.unscoped.update(after)
		} else {
			m.session.ledgerOf(q).claim.update(after)
		}
	}
	if m.request != nil {
		m.request.wrote.Store(true)
	}
	rt.counters.unsure.Add(1)
}

// history returns the primary's current history; zero before the first sample.
func (rt *router) history() lsn.History {
	return rt.monitor.Snapshot().Primary.Position.History
}

// demand adds what the reads of m must see to q. It waits, at most until
// deadline, for a position that is still to be captured.
func (rt *router) demand(ctx context.Context, m *marks, q *policy.Query, deadline time.Time) (at time.Time) {
	rt.sweepOpen(q, m)
	if q.Mode == policy.AnyReplica {
		return time.Time{}
	}
	if m.session == nil {
		if q.Mode != policy.Stale {
			at = rt.claimed(ctx, &rt.process, true, q, deadline)
		}
		return at
	}
	l := m.session.ledgerOf(rt)
	if l.accepted.Load() < m.session.joined.Load() {
		rt.acceptTokens(m.session, l)
	}
	at = rt.claimed(ctx, &l.claim, false, q, deadline)
	if q.Mode != policy.Stale {
		if t := rt.claimed(ctx, &rt.unscoped, true, q, deadline); t.After(at) {
			at = t
		}
	}
	return at
}

// claimed adds one register's claim to q and returns when the primary was known
// to have the position.
func (rt *router) claimed(ctx context.Context, r *register, shared bool, q *policy.Query, deadline time.Time) time.Time {
	c := r.load()
	if c.LastWrite.After(q.LastWrite) {
		q.LastWrite = c.LastWrite
	}
	if c.Empty() {
		return time.Time{}
	}
	if !c.Unsure.IsZero() {
		if time.Now().Before(c.Unsure) {
			q.Unsure = true
			return time.Time{}
		}
		next, h := rt.monitor.NextCapture(), rt.history()
		settled := r.update(func(c session.Claim) session.Claim {
			if c.Unsure.IsZero() || time.Now().Before(c.Unsure) {
				return c
			}
			return c.Expire(next, h)
		})
		c = &settled
	}
	if c.Capture != 0 {
		settled, ok := rt.settle(ctx, r, c, q, deadline)
		if !ok {
			// A dead primary cannot be asked. What is shared by the whole process
			// must not bind those who never wrote for longer than the window.
			if !shared || !rt.lost() || rt.cfg.PrimaryLost != ServeReplicas || time.Since(c.LastWrite) <= rt.cfg.StickyWindow {
				q.Pending = true
				return time.Time{}
			}
			// What is known of earlier writes binds them all the same.
			known := *c
			known.Capture = 0
			settled = &known
		}
		c = settled
	}
	if c.Verify != 0 {
		if c = rt.verify(ctx, r, c, deadline); c.Verify != 0 {
			q.Pending = true
			return time.Time{}
		}
		if !c.Unsure.IsZero() {
			q.Unsure = true
			return time.Time{}
		}
	}
	if c.Position.Zero() {
		return time.Time{}
	}
	if h := rt.history(); !h.Zero() && h != c.Position.History {
		if shared && time.Since(c.LastWrite) > rt.cfg.StickyWindow {
			// Written long ago: a restart of the primary must not send everybody
			// there. Whatever has survived of it lies before a capture of now.
			rt.rebase(r, c.Position)
			return rt.claimed(ctx, r, shared, q, deadline)
		}
		rt.otherHistory(r, c.Position.History)
		q.Foreign = true
		return time.Time{}
	}
	if q.Need.Zero() || lsn.Compare(q.Need, c.Position) == lsn.Before {
		q.Need = c.Position
	}
	return c.At
}

// rebase replaces a position of another history by a capture of the current one.
func (rt *router) rebase(r *register, old lsn.Position) {
	next, h := rt.monitor.NextCapture(), rt.history()
	r.update(func(c session.Claim) session.Claim {
		if c.Position != old {
			return c // another reader, or another write, was quicker
		}
		c.Position, c.Verify = lsn.Position{}, 0
		return c.AfterDoubt(next, h)
	})
}

func (rt *router) lost() bool { return rt.monitor.Snapshot().Primary.Lost }

// settle replaces the number of a capture by the position that it found.
func (rt *router) settle(ctx context.Context, r *register, c *session.Claim, q *policy.Query, deadline time.Time) (*session.Claim, bool) {
	pos, at, ok := rt.monitor.Captured(c.Capture, c.Insert)
	if !ok {
		if !rt.monitor.AwaitCapture(ctx, c.Capture, deadline) {
			return nil, false
		}
		if pos, at, ok = rt.monitor.Captured(c.Capture, c.Insert); !ok {
			return nil, false
		}
	}
	moved := false
	settled := r.update(func(now session.Claim) session.Claim {
		moved = false
		if now.Capture != c.Capture || now.Insert != c.Insert {
			return now // another write, or another reader, was quicker
		}
		moved = !now.History.Zero() && now.History != pos.History
		return now.Settle(pos, at)
	})
	if moved {
		// The write was acknowledged in a history that the primary no longer
		// writes: whether it survived is not known here.
		rt.otherHistory(r, lsn.History{})
		q.Foreign = true
	}
	if settled.Capture != 0 {
		// Somebody wrote meanwhile. What was settled here is enough for a read
		// that began before that write was acknowledged.
		settled.Capture = 0
		if lsn.Compare(settled.Position, pos) != lsn.After {
			settled.Position, settled.At, settled.Verify = pos, at, 0
		}
	}
	return &settled, true
}

// otherHistory handles a claim from before a change of primary: it cannot be
// compared any more, and it may be lost. Its session reads from the primary for
// the sticky window, and after it sees at least what the primary has then.
func (rt *router) otherHistory(r *register, old lsn.History) {
	until := time.Now().Add(rt.cfg.StickyWindow)
	r.update(func(c session.Claim) session.Claim {
		if !old.Zero() && c.Position.History != old {
			return c // done already
		}
		c.Position, c.Verify = lsn.Position{}, 0
		if until.After(c.Unsure) {
			c.Unsure = until
		}
		return c
	})
	rt.counters.otherHistory.Add(1)
}

// verify compares a position that came from outside with an insert position
// that was captured after it came. Further than that no write of this history
// can be.
func (rt *router) verify(ctx context.Context, r *register, c *session.Claim, deadline time.Time) *session.Claim {
	pos, _, ok := rt.monitor.Captured(c.Verify, true)
	if !ok && rt.monitor.AwaitCapture(ctx, c.Verify, deadline) {
		pos, _, ok = rt.monitor.Captured(c.Verify, true)
	}
	if !ok {
		return c
	}
	foreign := pos.History == c.Position.History && c.Position.LSN > pos.LSN
	until := time.Now().Add(rt.cfg.StickyWindow)
	checked := r.update(func(now session.Claim) session.Claim {
		if now.Verify != c.Verify || now.Position != c.Position {
			return now
		}
		now.Verify = 0
		if foreign {
			now.Position = lsn.Position{}
			now.Unsure = until
		}
		return now
	})
	if foreign {
		rt.counters.tokensForeign.Add(1)
	}
	return &checked
}

// acceptTokens judges the tokens that were joined to s and that p has not seen
// yet. What cannot be trusted makes the session unsure and is counted; it is
// never an error.
func (rt *router) acceptTokens(s *Session, l *ledger) {
	s.mu.Lock()
	done := int(l.accepted.Load())
	tokens := s.tokens[done:]
	s.mu.Unlock()
	for _, text := range tokens {
		rt.acceptToken(s, l, text)
	}
	l.accepted.Store(int32(done + len(tokens)))
}

func (rt *router) acceptToken(s *Session, l *ledger, text string) {
	now := time.Now()
	window := now.Add(rt.cfg.StickyWindow)
	doubt := func(until time.Time) {
		l.claim.update(func(c session.Claim) session.Claim { return c.AfterUnsure(until, now) })
	}
	t, err := rt.keys.Decode(text, now)
	expired := isExpired(err)
	if err != nil && !expired {
		rt.counters.tokensRefused.Add(1)
		doubt(window)
		return
	}
	if expired {
		rt.counters.tokensExpired.Add(1)
	}
	h := rt.history()
	switch {
	case t.Unsure.After(now):
		// Until then and no longer, or a user who comes often would never leave the
		// primary again; and no longer than a window from now: the other process's
		// clock may be wrong.
		if t.Unsure.Before(window) {
			doubt(now.Add(t.Unsure.Sub(now)))
		} else {
			doubt(window)
		}
	case !t.Unsure.IsZero():
		// The doubt is over, but what it was about may have happened: the session
		// sees at least what the primary has now.
		next := rt.monitor.NextCapture()
		l.claim.update(func(c session.Claim) session.Claim { return c.AfterDoubt(next, h) })
	}
	known := false
	for _, pos := range t.Positions {
		switch {
		case pos.System != h.System:
			if plugins.knows(pos.System) {
				known = true
			} else {
				s.carry(pos) // of a database that only others know
			}
			continue
		case pos.History == h:
			next := rt.monitor.NextCapture()
			l.claim.update(func(c session.Claim) session.Claim {
				joined, ok := c.Join(pos, next, now)
				if !ok {
					return c.AfterUnsure(window, now)
				}
				return joined
			})
		case !expired:
			rt.counters.tokensForeign.Add(1)
			doubt(window)
		}
		known = true
	}
	if !known && len(t.Positions) > 0 && !expired {
		rt.counters.tokensForeign.Add(1)
		doubt(window)
	}
}

// addToToken adds l's claim to t.
func (rt *router) addToToken(ctx context.Context, s *Session, l *ledger, t *session.Token) {
	var q policy.Query
	deadline := time.Now().Add(tokenWait)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	rt.sweepOpen(&q, &marks{session: s})
	if l.accepted.Load() < s.joined.Load() {
		rt.acceptTokens(s, l)
	}
	rt.claimed(ctx, &l.claim, false, &q, deadline)
	if seen := l.seen.Load(); seen != nil && rt.monotonic(&marks{session: s}) {
		// Whoever gets the token reads on other servers.
		held := query{Query: q}
		rt.demandSeen(ctx, l, seen, &held, deadline)
		q = held.Query
	}
	until := time.Now().Add(rt.cfg.StickyWindow)
	switch doubt := l.claim.load().Unsure; {
	case q.Pending || q.Foreign:
		later(&t.Unsure, until)
	case q.Unsure && doubt.Before(until):
		later(&t.Unsure, doubt) // as it stands: a token must not make it longer
	case q.Unsure:
		later(&t.Unsure, until)
	}
	if !q.Need.Zero() && !addPosition(t, q.Need) {
		later(&t.Unsure, until)
	}
}

// later moves t on to u.
func later(t *time.Time, u time.Time) {
	if u.After(*t) {
		*t = u
	}
}

// addPosition adds a position to a token, or takes its place where the token has
// an earlier one of the same history: two plugins can stand over one primary.
// It reports false when there is no room.
func addPosition(t *session.Token, p lsn.Position) bool {
	for i, have := range t.Positions {
		if have.System == p.System {
			if lsn.Compare(have, p) == lsn.Before {
				t.Positions[i] = p
			}
			return true
		}
	}
	if len(t.Positions) == session.MaxPositions {
		return false
	}
	t.Positions = append(t.Positions, p)
	return true
}
