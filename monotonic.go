package readsplit

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

// sight is what the reads of a session have shown, from session.MonotonicReads on. A
// replica only moves forward, so that the one that showed it may show the next
// read; any other server must have reached a position of the primary that was
// captured afterwards. It is never changed.
type sight struct {
	server     *server // nil: the primary, or several servers
	generation uint64
	at         time.Time // when the newest of them had shown it
	capture    uint64    // the first that covers all that was shown
	// insert says that some of it was shown by the primary, which also shows commits
	// that are not flushed yet.
	insert bool
}

// monotonic reports whether reads of m may not go backwards. Without a replica they
// cannot, but what they show may be read elsewhere next, by the session's token.
func (rt *router) monotonic(m *marks) bool {
	return rt.watched && rt.guarantee(m) >= session.MonotonicReads
}

// told records what the answer to a statement of m has shown, see shown. At Causal an
// error says something as well: that there is a row, or none.
func (rt *router) told(m *marks, s *server, generation uint64, decided *sight, err error) {
	if err == nil || rt.guarantee(m) >= session.Causal {
		rt.shown(m, s, generation, decided)
	}
}

// shown records that a read of m has ended on s, nil for the primary. decided is
// what was known when it was decided: where another read has ended meanwhile, on
// another server, nobody knows which of the two showed more.
func (rt *router) shown(m *marks, s *server, generation uint64, decided *sight) {
	if !rt.monotonic(m) {
		return
	}
	m.session.saw()
	now := time.Now()
	for _, q := range plugins.sharing(rt) {
		seen := &m.session.ledgerOf(q).seen
		capture := q.asks.NextCapture()
		for {
			old := seen.Load()
			next := &sight{capture: capture, insert: s == nil, at: now}
			known := old == decided || old != nil && old.server == s && old.generation == generation
			switch {
			case q == rt && s != nil && known && !s.balanced() && !s.tellsNoPosition():
				next.server, next.generation = s, generation
			case old != nil && s != nil:
				next.insert = old.insert
			}
			if old != nil && old.capture > capture {
				// A read that ended later was recorded before this one.
				next.capture, next.insert = old.capture, next.insert || old.insert
			}
			if old != nil {
				later(&next.at, old.at)
			}
			if seen.CompareAndSwap(old, next) {
				break
			}
		}
	}
}

// shownThere records what a statement has shown that ran on the primary for what it
// is: a locking read, the first half of a write.
func (r *route) shownThere(ctx context.Context, err error) {
	r.router.told(marksOf(ctx), nil, 0, nil, err)
}

// shownByTx records what the statements of a transaction on the primary have shown.
func (t *trackedTx) shownByTx() {
	t.mu.Lock()
	joined := t.marks
	t.mu.Unlock()
	for _, m := range joined {
		t.router.shown(m, nil, 0, nil)
	}
}

// shownByStatement records what a statement of the transaction has shown. The
// caller does not hold mu.
func (t *readOnlyTx) shownByStatement(ctx context.Context) {
	m := marksOf(t.asker(ctx))
	if !t.router.monotonic(m) {
		return
	}
	t.mu.Lock()
	s, generation, moved := t.server, t.generation, t.primary != nil
	t.mu.Unlock()
	if s != nil && !moved && !s.logical {
		t.router.shown(m, s, generation, nil)
	}
}

// again decides for the replica that has shown everything to the session so far,
// if it may serve the read.
func (s *sight) again(rt *router, q *query, snap *policy.Snapshot, now time.Time) (policy.Decision, bool) {
	if s.server == nil || s.server.gone.Load() {
		return policy.Decision{}, false
	}
	// It may have joined, and have served another read of the session, since snap was taken.
	if i := s.server.index; i >= len(snap.Replicas) || snap.Replicas[i].Generation != s.generation {
		return policy.Decision{}, false
	}
	alone := q.Query
	alone.Only = s.server.index + 1
	d := rt.ruling(&alone, snap, now)
	return d, d.Target == policy.ToReplica
}

// demandSeen makes q need what the session has been shown.
func (rt *router) demandSeen(ctx context.Context, l *ledger, s *sight, q *query, deadline time.Time) {
	if s.capture == 0 {
		return
	}
	pos, at, ok := rt.leastShown(ctx, s, deadline)
	if ok && pos.History != rt.history() {
		// The primary has changed since. What was shown may be lost; what the new one
		// has now is as much as anybody can see.
		next := &sight{capture: rt.asks.NextCapture(), insert: true}
		if !l.seen.CompareAndSwap(s, next) {
			next = l.seen.Load()
		}
		pos, at, ok = rt.captured(ctx, next, deadline)
	}
	if !ok {
		q.Pending = true
		return
	}
	if q.Need.Zero() || pos.Covers(q.Need) {
		q.Need, q.at = pos, at
	}
}

// captured returns a position that the primary had after all that s has shown.
func (rt *router) captured(ctx context.Context, s *sight, deadline time.Time) (pos lsn.Position, at time.Time, ok bool) {
	pos, at, ok = rt.monitor.Captured(s.capture, s.insert)
	if !ok && rt.asks.AwaitCapture(ctx, s.capture, deadline) {
		pos, at, ok = rt.monitor.Captured(s.capture, s.insert)
	}
	return pos, at, ok
}

// shownWait is how long a replica is asked at most for what it has shown.
const shownWait = 10 * time.Millisecond

// leastShown returns a position that covers all that s has shown: what the replica
// had replayed which has shown it or, where that may be as far as the primary has got,
// so that nobody would ever get beyond it, what the primary had. Where replicas are
// behind, none of them has what the primary has: a session that only reads would be
// sent there with every request.
func (rt *router) leastShown(ctx context.Context, s *sight, deadline time.Time) (pos lsn.Position, at time.Time, ok bool) {
	var replayed lsn.Position
	if s.server != nil && !s.server.gone.Load() {
		until := earlier(deadline, time.Now().Add(shownWait))
		if replayed, ok = rt.asks.AwaitShown(ctx, s.server.index, s.generation, s.at, until); ok && rt.monitor.Reached().Covers(replayed) {
			return replayed, s.at, true
		}
	}
	pos, at, captured := rt.captured(ctx, s, deadline)
	if ok && captured && pos.Covers(replayed) {
		return replayed, s.at, true
	}
	return pos, at, captured
}
