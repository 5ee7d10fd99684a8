package readsplit

import (
	"context"
	"sync"
	"time"

	"github.com/readsplit/readsplit/policy"
)

// query is a decision to be made, with what is needed to wait for it.
type query struct {
	policy.Query
	patience
	decision policy.Decision
	looked   time.Duration // the moment of the newest decision, since processStart
	at       time.Time     // when the primary was known to have Need
	stays    bool          // it was decided for the one replica that shows all that was seen
}

// queries are reused: a read must not pay an allocation for being routed.
var queries = sync.Pool{New: func() any { return new(query) }}

// decide asks the policies, waiting for a replica where they say so. What they say is in
// q.
func (rt *router) decide(ctx context.Context, m *marks, q *query, parent *route, seen **sight) (*policy.Snapshot, error) {
	q.patience = patience{most: rt.maxWait}
	drowsy := rt.drowsy()
	if rt.needsClaims(q) {
		if drowsy {
			rt.asks.Rouse(ctx, q.until())
		}
		q.at = rt.demand(ctx, m, &q.Query, &q.patience)
		if q.AtMost > 0 {
			rt.demandRecent(ctx, q)
		}
	}
	snap, now := rt.look(q)
	if parent != nil && parent.at == nil {
		parent = nil
	}
	if parent == nil && (m.session == nil || !rt.monotonic(m)) {
		q.NeedAt = q.at
		if rt.rule(q, snap, now); q.decision.Target == policy.ToReplica {
			return snap, nil
		}
		return rt.decided(ctx, q, snap, now, nil, true)
	}
	if q.Mode != policy.AnyReplica && rt.monotonic(m) {
		l := m.session.ledgerOf(rt)
		s := l.seen.Load()
		*seen = s
		if m.session.open.Load() > 0 {
			// A transaction on the primary is open, and shows what is not recorded yet.
			s = &sight{capture: rt.asks.NextCapture(), insert: true}
		}
		switch {
		case s == nil:
		case parent != nil && s.server == parent.at && s.generation == parent.generation:
			// The parent's replica has shown everything.
		default:
			if parent == nil {
				if d, ok := s.again(rt, q, snap, now); ok {
					q.stays, q.decision = true, d
					return snap, nil
				}
			}
			if rt.needsClaims(q) && !q.Ahead {
				rt.demandSeen(ctx, l, s, q, q.until())
				snap, now = rt.look(q)
			}
		}
	}
	if parent != nil {
		if c := parent.past().check; c != nil && c.server == parent.at && !snap.Primary.Lost {
			rt.demandParent(ctx, c, q, q.until())
			snap, now = rt.look(q)
		}
	}
	return rt.decided(ctx, q, snap, now, parent, false)
}

// decided asks the policies again and again, as long as they say that waiting helps. ruled
// says that they were asked by snap, and have not said a replica.
func (rt *router) decided(ctx context.Context, q *query, snap *policy.Snapshot, now time.Time, parent *route, ruled bool) (*policy.Snapshot, error) {
	d := &q.decision
	refreshed := false
	for ; ; ruled = false {
		if !ruled {
			q.Only = 0
			if parent != nil && (!snap.Primary.Lost || servesAgain(rt, q, snap, parent, now)) {
				// A child is read where its parent was. On another replica, and on one that
				// came back in an older state, it might not see what its parent has seen: an
				// order without its lines.
				q.Only = parent.at.index + 1
			}
			q.NeedAt = q.at
			rt.rule(q, snap, now)
		}
		if parent != nil && q.Only != 0 && (d.Reason == policy.ReasonFailedThisRead ||
			snap.Replicas[parent.at.index].Generation != parent.generation) {
			*d = policy.Decision{Reason: policy.ReasonParent}
			return snap, nil
		}
		switch d.Target {
		case policy.Refuse:
			return snap, &refusal{d.Reason}
		case policy.Wait:
			if rt.rehearsal != nil {
				return snap, nil
			}
		case policy.ToPrimary:
			if !q.Ahead && (d.Reason == policy.ReasonBehindSession || d.Reason == policy.ReasonWaitExpired) {
				if !refreshed && ctx.Err() == nil {
					if refreshed = true; rt.refresh(ctx, q, snap, now, q.until()) {
						snap, now = rt.look(q)
						q.Waited = now.Sub(q.since())
						continue
					}
				}
				// Nobody waits, but somebody should find out when waiting helps again.
				rt.asks.Want(q.Need.LSN, q.at, q.since())
			}
			return snap, nil
		default:
			return snap, nil
		}
		// To miss no news, ask for them first and look afterwards.
		news := rt.monitor.News()
		if rt.monitor.Snapshot() != snap {
			snap, now = rt.look(q)
			continue
		}
		rt.asks.Want(q.Need.LSN, q.at, q.until())
		rt.asks.AwaitNews(ctx, news, q.until())
		snap, now = rt.look(q)
		q.Waited = now.Sub(q.since()) // what was spent on the capture counts too
		switch {
		case ctx.Err() != nil:
			return snap, ctx.Err()
		case rt.closed.Load(): // no news will come any more
			*d = policy.Decision{Reason: policy.ReasonNoReplicas}
			return snap, nil
		}
	}
}

// look returns what is known of all servers, and the moment for a decision by that.
func (rt *router) look(q *query) (*policy.Snapshot, time.Time) {
	snap := rt.monitor.Snapshot()
	now := nowAfter(snap)
	q.looked = now.Sub(processStart)
	return snap, now
}

// rule asks the policies about q. Their answer is taken field by field: copied as one, it
// would be read again before it is written, at several times the price.
func (rt *router) rule(q *query, snap *policy.Snapshot, now time.Time) {
	to := &q.decision
	if rt.rehearsal != nil {
		*to = rt.rehearsal.ruling(rt, &q.Query, snap, now)
		return
	}
	d := rt.decider.Decide(&q.Query, snap, rt.load(q.Group), now)
	to.Target, to.Replica, to.Reason, to.Wait, to.Check = d.Target, d.Replica, d.Reason, d.Wait, d.Check
}

// servesAgain reports whether the replica of a parent serves its child too. While
// the primary is lost, a child that it does not serve is read elsewhere rather than
// not at all.
func servesAgain(rt *router, q *query, snap *policy.Snapshot, parent *route, now time.Time) bool {
	alone := q.Query
	alone.Only = parent.at.index + 1
	return snap.Replicas[parent.at.index].Generation == parent.generation &&
		rt.ruling(&alone, snap, now).Target == policy.ToReplica
}

// needsClaims reports whether what the session wrote matters for the decision:
// looking it up may ask the primary, which a read that goes there anyway should
// not wait for.
func (rt *router) needsClaims(q *query) bool {
	if !rt.splits() || q.Mode == policy.Fresh {
		return false
	}
	if q.Withheld != policy.ReasonNone {
		return false
	}
	return !q.PreferPrimary || q.Mode != policy.Normal || q.AtMost > 0 || q.Group != ""
}

// demandRecent makes q need a position that the primary had at most AtMost ago, where
// that is so little that between two samples nothing so young is proven.
func (rt *router) demandRecent(ctx context.Context, q *query) {
	if q.Mode == policy.Stale || q.Mode == policy.AnyReplica || q.AtMost >= 2*rt.cfg.SampleEvery || q.Pending || q.Ahead {
		return
	}
	now, deadline := q.since(), q.until()
	since := now.Add(-q.AtMost)
	pos, ok := rt.monitor.CapturedSince(since)
	if !ok {
		next := rt.asks.NextCapture()
		if rt.asks.AwaitCapture(ctx, next, deadline) {
			pos, _, ok = rt.monitor.Captured(next, false)
		}
	}
	if !ok {
		// Without the primary nothing so recent can be proven: the policies say
		// what that means for a bound that the read itself asked for.
		q.Pending = !rt.lost()
		return
	}
	if q.Need.Zero() || pos.Covers(q.Need) {
		q.Need, q.at = pos, now
	}
	// Need now says more than the age of a sample can.
	q.AtMost = 0
}
