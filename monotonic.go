package readsplit

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/policy"
)

// sight is what the reads of a session have shown, with Config.MonotonicReads. A
// replica only moves forward, so that the one that showed it may show the next
// read; any other server must have reached a position of the primary that was
// captured afterwards. It is never changed.
type sight struct {
	server     *server // nil: the primary, or several servers
	generation uint64
	capture    uint64 // the first that covers all that was shown
	// insert says that some of it was shown by the primary, which also shows commits
	// that are not flushed yet.
	insert bool
}

// monotonic reports whether reads of m may not go backwards.
func (rt *router) monotonic(m *marks) bool {
	return rt.cfg.MonotonicReads && m.session != nil && rt.splits()
}

// shown records that a read of m has ended on s, nil for the primary. decided is
// what was known when it was decided: where another read has ended meanwhile, on
// another server, nobody knows which of the two showed more.
func (rt *router) shown(m *marks, s *server, generation uint64, decided *sight) {
	if !rt.monotonic(m) {
		return
	}
	m.session.saw()
	for _, q := range plugins.sharing(rt) {
		seen := &m.session.ledgerOf(q).seen
		capture := q.monitor.NextCapture()
		for {
			old := seen.Load()
			next := &sight{capture: capture, insert: s == nil}
			known := old == decided || old != nil && old.server == s && old.generation == generation
			switch {
			case q == rt && s != nil && known:
				next.server, next.generation = s, generation
			case old != nil && s != nil:
				next.insert = old.insert
			}
			if old != nil && old.capture > capture {
				// A read that ended later was recorded before this one.
				next.capture, next.insert = old.capture, next.insert || old.insert
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
	if err == nil {
		r.router.shown(marksOf(ctx), nil, 0, nil)
	}
}

// shownByTx records what the statements of a transaction on the primary have shown.
func (t *trackedTx) shownByTx() {
	if !t.router.cfg.MonotonicReads {
		return
	}
	for _, m := range t.concerned() {
		t.router.shown(m, nil, 0, nil)
	}
}

// shownByStatement records what a statement of the transaction has shown. The
// caller does not hold mu.
func (t *readOnlyTx) shownByStatement(ctx context.Context) {
	if !t.router.cfg.MonotonicReads {
		return
	}
	t.mu.Lock()
	s, generation, moved := t.server, t.generation, t.primary != nil
	t.mu.Unlock()
	if s != nil && !moved {
		t.router.shown(marksOf(t.asker(ctx)), s, generation, nil)
	}
}

// again decides for the replica that has shown everything to the session so far,
// if it may serve the read.
func (s *sight) again(rt *router, q *query, snap *policy.Snapshot, now time.Time) (policy.Decision, bool) {
	if s.server == nil || s.server.index >= 64 || s.server.gone.Load() || snap.Replicas[s.server.index].Generation != s.generation {
		return policy.Decision{}, false
	}
	alone := q.Query
	alone.Exclude |= ^(uint64(1) << s.server.index)
	d := rt.decider.Decide(&alone, snap, rt, now)
	return d, d.Target == policy.ToReplica
}

// demandSeen makes q need what the session has been shown.
func (rt *router) demandSeen(ctx context.Context, l *ledger, s *sight, q *query, deadline time.Time) {
	if s.capture == 0 {
		return
	}
	pos, at, ok := rt.monitor.Captured(s.capture, s.insert)
	if ok && pos.History != rt.history() {
		// The primary has changed since. What was shown may be lost; what the new one
		// has now is as much as anybody can see.
		next := &sight{capture: rt.monitor.NextCapture(), insert: true}
		if !l.seen.CompareAndSwap(s, next) {
			next = l.seen.Load()
		}
		s = next
		pos, at, ok = rt.monitor.Captured(s.capture, s.insert)
	}
	if !ok && rt.monitor.AwaitCapture(ctx, s.capture, deadline) {
		pos, at, ok = rt.monitor.Captured(s.capture, s.insert)
	}
	if !ok {
		q.Pending = true
		return
	}
	if q.Need.Zero() || pos.Covers(q.Need) {
		q.Need, q.at = pos, at
	}
}
