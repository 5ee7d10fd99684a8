package readsplit

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
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
		next, h := q.asks.NextCapture(), q.writtenIn(began)
		until := q.stays(now)
		q.process.wrote(next, insert, h, now, until)
		if m.session == nil || everybody {
			q.unscoped.wrote(next, insert, h, now, until)
		}
		if m.session != nil {
			m.session.ledgerOf(q).claim.wrote(next, insert, h, now, until)
		}
		q.asks.Foresee(next)
	}
	m.written()
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
	m.written()
	rt.counters.unsure.Add(1)
}

// history returns the primary's current history; zero before the first sample.
func (rt *router) history() lsn.History {
	return rt.monitor.Snapshot().Primary.Position.History
}

// historyNow is history as a value that is shared by all who ask before it changes, and
// never changed: routes and transactions keep it, and a word is what it takes there.
func (rt *router) historyNow() *lsn.History {
	now := rt.history()
	if known := rt.histories.Load(); known != nil && *known == now {
		return known
	}
	kept := new(lsn.History) // &now would be an allocation each time
	*kept = now
	rt.histories.Store(kept)
	return kept
}

// demand adds what the reads of m must see to q. It waits, as long as p has, for a
// position that is still to be captured.
func (rt *router) demand(ctx context.Context, m *marks, q *policy.Query, p *patience) (at time.Time) {
	if rt.unseen() || !plugins.alone(rt) {
		rt.sweepOpen(q, m)
	}
	if q.Mode == policy.AnyReplica {
		return time.Time{}
	}
	if m.session == nil {
		if q.Mode == policy.Stale {
			return at
		}
		at, known := rt.known(&rt.process, q)
		if !known {
			if rt.ahead(&rt.process, q, p) {
				return time.Time{}
			}
			at = rt.claimed(ctx, &rt.process, true, q, p)
		}
		q.Pending = rt.settleRumours(ctx, p) || q.Pending
		t, known := rt.known(&rt.heard, q)
		if !known {
			t = rt.claimed(ctx, &rt.heard, true, q, p)
		}
		if t.After(at) {
			at = t
		}
		return at
	}
	l := m.session.ledgerOf(rt)
	if l.accepted.Load() < m.session.joined.Load() {
		rt.acceptTokens(m.session, l)
	}
	at, known := rt.known(&l.claim, q)
	if !known {
		if rt.ahead(&l.claim, q, p) {
			return time.Time{}
		}
		at = rt.claimed(ctx, &l.claim, false, q, p)
		if q.Unsure || q.Foreign {
			m.session.changed.Store(true) // whoever has its token should know
		}
	}
	if q.Mode == policy.Stale {
		return at
	}
	t, known := rt.known(&rt.unscoped, q)
	if !known && !rt.ahead(&rt.unscoped, q, p) {
		t = rt.claimed(ctx, &rt.unscoped, true, q, p)
	}
	if t.After(at) {
		at = t
	}
	return at
}

// known adds one register's claim to q as claimed does, where that asks for nothing, or for
// nothing but a position in the primary's history: most do, and there is nothing to be
// found out, nor to be waited for.
func (rt *router) known(r *register, q *policy.Query) (at time.Time, ok bool) {
	c := r.load()
	if c.Capture != 0 || c.Verify != 0 || !c.Unsure.IsZero() || !c.Until.IsZero() {
		return at, false
	}
	if c.Position.LSN != 0 || !c.Position.Zero() {
		h := &rt.monitor.Snapshot().Primary.Position.History
		if *h != c.Position.History && !h.Zero() {
			return at, false
		}
		at = needs(q, c)
	}
	if r.written() {
		if t := r.lastWrite(); t.After(q.LastWrite) {
			q.LastWrite = t
		}
	}
	return at, true
}

// claimed adds one register's claim to q and returns when the primary was known
// to have the position.
func (rt *router) claimed(ctx context.Context, r *register, shared bool, q *policy.Query, p *patience) time.Time {
	c := r.load()
	if t := r.lastWrite(); t.After(q.LastWrite) {
		q.LastWrite = t
	}
	if c.Empty() {
		return time.Time{}
	}
	if !c.Until.IsZero() && time.Now().Before(c.Until) {
		q.Sticky = true
		return time.Time{}
	}
	if !c.Unsure.IsZero() {
		if time.Now().Before(c.Unsure) {
			q.Unsure = true
			return time.Time{}
		}
		next, h := rt.asks.NextCapture(), rt.history()
		settled := r.update(func(c session.Claim) session.Claim {
			if c.Unsure.IsZero() || time.Now().Before(c.Unsure) {
				return c
			}
			return c.Expire(next, h)
		})
		c = &settled
	}
	if c.Capture != 0 {
		settled, ok := rt.settle(ctx, r, c, q, p)
		if !ok {
			// A dead primary cannot be asked. What is shared by the whole process
			// must not bind those who never wrote for longer than the window.
			if !shared || !rt.lost() || rt.cfg.PrimaryLost != ServeReplicas || time.Since(r.lastWrite()) <= rt.cfg.StickyWindow {
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
		if c = rt.verify(ctx, r, c, q, p); c.Verify != 0 {
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
	if !c.Until.IsZero() {
		var again bool
		if c, again = rt.outlast(r, c); again {
			return rt.claimed(ctx, r, shared, q, p)
		}
	}
	if h := rt.history(); !h.Zero() && h != c.Position.History {
		if shared && time.Since(r.lastWrite()) > rt.cfg.StickyWindow {
			// Written long ago: a restart of the primary must not send everybody
			// there. Whatever has survived of it lies before a capture of now.
			rt.rebase(r, c.Position)
			return rt.claimed(ctx, r, shared, q, p)
		}
		rt.otherHistory(r, c.Position.History)
		q.Foreign = true
		return time.Time{}
	}
	return needs(q, c)
}

// needs makes q need the position of a claim, and returns when the primary was known to
// have it.
func needs(q *policy.Query, c *session.Claim) time.Time {
	if q.Need.Zero() || lsn.Compare(q.Need, c.Position) == lsn.Before {
		q.Need = c.Position
	}
	return c.At
}

// outlast replaces the position of a write whose window is over by one that was captured
// after it: where a window is needed, what the primary said of itself right after the
// write may have been out of date, and the write lie beyond it. again says that one is
// still to be captured. A primary that is lost cannot be asked.
func (rt *router) outlast(r *register, old *session.Claim) (c *session.Claim, again bool) {
	next, h := rt.asks.NextCapture(), rt.history()
	pos, ok := rt.monitor.CapturedSince(old.Until)
	if !ok && rt.lost() {
		return old, false
	}
	var at time.Time
	if ok {
		at = rt.monitor.PassedAt(pos)
	}
	after := func(c session.Claim) session.Claim {
		c.Until = time.Time{}
		switch {
		case !ok:
			return c.AfterDoubt(next, h)
		case lsn.Compare(c.Position, pos) == lsn.Before:
			c.Position, c.At = pos, at
		}
		return c
	}
	settled := r.update(func(now session.Claim) session.Claim {
		if now.Capture != 0 || now.Position != old.Position || !now.Until.Equal(old.Until) {
			return now // another write, or another reader, was quicker
		}
		return after(now)
	})
	if !ok {
		// Also where another was quicker: old lies before the write, it may be, and must
		// not be what a read goes by.
		return &settled, true
	}
	known := after(*old)
	return &known, false
}

// rebase replaces a position of another history by a capture of the current one.
func (rt *router) rebase(r *register, old lsn.Position) {
	next, h := rt.asks.NextCapture(), rt.history()
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
func (rt *router) settle(ctx context.Context, r *register, c *session.Claim, q *policy.Query, p *patience) (*session.Claim, bool) {
	pos, at, ok := rt.monitor.Captured(c.Capture, c.Insert)
	if !ok {
		if !rt.awaitCapture(ctx, c.Capture, q, p) {
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
func (rt *router) verify(ctx context.Context, r *register, c *session.Claim, q *policy.Query, p *patience) *session.Claim {
	pos, _, ok := rt.monitor.Captured(c.Verify, true)
	if !ok && rt.awaitCapture(ctx, c.Verify, q, p) {
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
		rt.tellToken(observe.TokenForeign)
	}
	return &checked
}
