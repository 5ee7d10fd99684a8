package readsplit

import (
	"context"
	"fmt"

	"github.com/readsplit/readsplit/policy"
)

// choose decides where a read under m runs. generation belongs to the news that the
// decision is based on. The run of the read counts from the decision on, so that one look
// at the clock does for both.
func (r *route) choose(ctx context.Context, m *marks, text string, forced policy.Reason) (s *server, generation uint64, reason policy.Reason, err error) {
	rt := r.router
	if forced != 0 {
		return nil, 0, forced, nil
	}
	if rt.closed.Load() {
		return nil, 0, policy.ReasonNoReplicas, nil
	}
	ticket := rt.ticket.Add(1) // before there is much to be written, which it would wait for
	q := queries.Get().(*query)
	defer queries.Put(q)
	// Cleared and then set: a composed one would be made on the stack and copied, each time
	// with all that it leaves empty.
	*q = query{}
	q.Statement, q.PreferPrimary, q.Zone = policy.Read, rt.cfg.Default == PreferPrimary, rt.cfg.Zone
	q.Random, q.Ticket = rt.scattered(ticket), ticket
	q.Monotonic = rt.monotonic(m)
	if m.request != nil {
		q.Wrote = m.request.wrote.Load()
		q.Held = rt.heldAt(m.request.held.Load())
	}
	m.session.wishes(&q.Query)
	parent, ordinary := r.parent, r.ordinary(m)
	if !ordinary {
		if parent != nil && parent.router != rt {
			parent = nil // of tables that live elsewhere
		}
		if err := r.describe(ctx, m, text, q, parent); err != nil {
			return nil, 0, 0, err
		}
		if parent != nil && parent.ran && parent.at == nil {
			return nil, 0, policy.ReasonParent, nil
		}
	}
	snap, err := rt.decide(ctx, m, q, parent, &r.sight)
	if !ordinary || err != nil || q.decision.Target != policy.ToReplica || q.Waited > 0 || q.Spent > 0 || rt.rehearsal != nil || !rt.conflicts.Empty() {
		return r.conclude(m, text, q, snap, parent, err)
	}
	return r.to(m, q, snap)
}

// scattered turns the count of a decision into its chance: a number as good as a random
// one for whoever does not know where the router has begun (splitmix64), and quicker had.
func (rt *router) scattered(ticket uint64) uint64 {
	z := rt.seed + ticket*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// ordinary reports whether nothing is asked of a read under m that most reads do not ask,
// and nobody keeps it from a replica.
func (r *route) ordinary(m *marks) bool {
	return r.parent == nil && r.detour == nil && r.wish == nil && r.class == nil &&
		m.mode == policy.Normal && m.atMost == 0 && m.group == "" && r.router.plugin.undirected()
}

// describe adds to q what is asked of a read that is not an ordinary one.
func (r *route) describe(ctx context.Context, m *marks, text string, q *query, parent *route) error {
	rt := r.router
	group := r.classed(ctx, text, m)
	if group != "" && !rt.members.inGroup(group) && !rt.plugin.hasGroup(group) {
		return fmt.Errorf("%w %q: %s", ErrUnknownGroup, group, rt.plugin.groupNames())
	}
	q.Mode, q.AtMost, q.Group = r.mode(m), m.atMost, group
	q.Exclude, q.Failed = r.past().exclude, r.past().failedOn
	r.enter(&q.Query, parent)
	q.Withheld = rt.plugin.withheld(q.Random, parent)
	return nil
}

// conclude is what becomes of a decision: what operators, groups and conflicts with replay
// have to say about it.
func (r *route) conclude(m *marks, text string, q *query, snap *policy.Snapshot, parent *route, err error) (*server, uint64, policy.Reason, error) {
	rt := r.router
	if waited := max(q.Waited, q.Spent); waited > 0 || r.detour != nil {
		r.strays().waited = waited
	}
	d := &q.decision
	shadowed := rt.plugin.shadowed()
	if shadowed && d.Target == policy.Refuse {
		err = nil // the primary says by itself that it cannot be reached
	}
	if err != nil {
		return nil, 0, 0, err
	}
	*d = r.aside(text, q, *d, snap)
	switch {
	case shadowed:
		rt.shadow(q, snap, *d)
		if d.Target != policy.ToPrimary {
			*d = policy.Decision{Reason: policy.ReasonShadow}
		}
	case d.Target == policy.ToPrimary && r.tries && parent == nil:
		*d = r.tryEjected(q, snap, *d)
	}
	if !shadowed && r.class != nil {
		if *d, err = r.otherwise(q, *d, snap); err != nil {
			return nil, 0, d.Reason, err
		}
	}
	if rt.rehearsal != nil {
		rt.rehearsal.decided(q, *d)
	}
	if d.Target != policy.ToReplica {
		rt.advise(m, d.Reason)
		hold(m, rt.heldPrimary)
		return nil, 0, r.unfitReason(d.Reason), nil
	}
	return r.to(m, q, snap)
}

// to is where a read goes that was decided for a replica.
func (r *route) to(m *marks, q *query, snap *policy.Snapshot) (*server, uint64, policy.Reason, error) {
	rt, d := r.router, &q.decision
	at, news := rt.replicas()[d.Replica], &snap.Replicas[d.Replica]
	if news.Balanced {
		r.checks(at, q)
	}
	if !at.logical {
		hold(m, at.held)
	}
	if q.Group != "" {
		if c := r.pooled(); c == nil || c.name != q.Group {
			r.strays().aside = rt.members.class(q.Group)
		}
	}
	r.began = q.looked
	return at, news.Generation, d.Reason, nil
}

// heldServer is the first server of a request, for policy.OneServer.
type heldServer struct {
	router *router
	server int // policy.Query.Held
}

// heldAt returns where h is now. A replica that was removed has left its place to
// another, and the request goes on on the primary.
func (rt *router) heldAt(h *heldServer) int {
	switch {
	case h == nil || h.router != rt.original():
		return 0
	case h.server > 0 && rt.replicas()[h.server-1].held != h:
		return rt.heldPrimary.server
	}
	return h.server
}

// hold remembers the first server of a request.
func hold(m *marks, h *heldServer) {
	if m.request != nil && m.request.held.Load() == nil {
		m.request.held.CompareAndSwap(nil, h)
	}
}
