package readsplit

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

// ahead reports whether what r has to see was written so lately that no replica is likely
// to have it in time, by what is known of how long they take: to wait for its
// position, and for a replica then, would cost the wait and the way to the primary as
// well. It only ever keeps a read on the primary, and waits for nothing; the position is
// asked for, so that a later read knows it.
//
// A position that is known already is compared instead: it says what a replica has, and
// not what is likely.
func (rt *router) ahead(r *register, q *policy.Query, p *patience) bool {
	c := r.load()
	if c.Capture == 0 {
		return false
	}
	if _, _, known := rt.monitor.Captured(c.Capture, c.Insert); known {
		return false
	}
	rt.asks.Sought()
	last := r.lastWrite()
	if !rt.outruns(c, last, p.until()) {
		return false
	}
	rt.asks.Pursue(c.Capture)
	if last.After(q.LastWrite) {
		q.LastWrite = last
	}
	q.Ahead = true
	return true
}

// outruns reports whether a claim's newest write is more recent than any replica can show.
func (rt *router) outruns(c *session.Claim, last, deadline time.Time) bool {
	quickest := rt.monitor.Quickest()
	switch {
	case quickest <= rt.maxWait || deadline.Sub(last) >= quickest:
		return false
	case !c.Unsure.IsZero() || !c.Until.IsZero() && time.Now().Before(c.Until):
		return false // what keeps it on the primary is something else, and is said
	}
	return !rt.lost()
}

// awaitCapture waits for a capture, and notes in q what was spent on it.
func (rt *router) awaitCapture(ctx context.Context, n uint64, q *policy.Query, p *patience) bool {
	until, began := p.until(), time.Now()
	ok := rt.asks.AwaitCapture(ctx, n, until)
	q.Spent += time.Since(began)
	return ok
}
