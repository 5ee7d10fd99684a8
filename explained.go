package readsplit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/explain"
	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/readonlyguard"
	"github.com/readsplit/readsplit/sqlclass"
)

// statement explains a text that would run on pool. The caller holds mu.
func (h *rehearsal) statement(ctx context.Context, pool gorm.ConnPool, text string) explain.Statement {
	rt := h.p.main
	switch on := pool.(type) {
	case *route:
		rt = on.router
	case *rehearsedTx:
		rt = on.router
	}
	s := explain.Statement{SQL: text}
	info := rt.classify(text)
	s.Class, s.Verb, s.Flags, s.Why = info.Class, info.Verb, info.Flags, rt.why(text, info)
	if guard := h.p.guard; readonlyguard.IsReadOnly(ctx) {
		guard.ReturnErrors = true
		if s.Err = readonlyguard.CheckSQL(ctx, rt.dialect, text, guard); s.Err != nil {
			return s
		}
	}
	switch on := pool.(type) {
	case *route:
		h.onRoute(ctx, on, info, &s)
	case *rehearsedTx:
		on.in(ctx, info, &s)
	default:
		s.Servers, s.Reason = []string{primaryName}, policy.ReasonPinned
		s.Notes = append(s.Notes, "on a connection of the application's own: it is wherever that leads")
	}
	return s
}

// onRoute explains a statement that r is for.
func (h *rehearsal) onRoute(ctx context.Context, r *route, info sqlclass.Info, s *explain.Statement) {
	rt := h.standIn(r.router)
	s.Resolver = rt.name
	r.ran = true // for what follows it
	if why := r.because(info); why != policy.ReasonNone {
		s.Servers, s.Reason = []string{primaryName}, why
		if info.Class != sqlclass.Read {
			h.wrote(h.marked(ctx), rt, effectOf(info))
		}
		return
	}
	h.read(ctx, rt, r, s)
}

// mostDrawn bounds how often a read is drawn anew that an operator's percentage would
// keep on the primary by chance.
const mostDrawn = 10000

// read explains a read of r, decided on rt, and leaves in r where it would run.
func (h *rehearsal) read(ctx context.Context, rt *router, r *route, s *explain.Statement) {
	ctx = h.marked(ctx)
	q := &route{router: rt, wish: r.wish}
	if p := r.parent; p != nil {
		q.parent = &route{
			router: h.standIn(p.router), at: p.at, generation: p.generation, ran: p.ran,
			class: p.class, detour: &detour{fell: p.past().fell, aside: p.past().aside, lifted: p.past().lifted},
		}
	}
	var (
		at         *server
		generation uint64
		reason     policy.Reason
		err        error
	)
	for range mostDrawn {
		h.look = look{}
		if at, generation, reason, err = q.choose(ctx, marksOf(ctx), s.SQL, 0); reason != policy.ReasonPercent {
			break
		}
	}
	if h.ruled {
		s.Trace, s.Session = h.trace, h.owed(rt)
	}
	s.Reason, s.Err = reason, err
	r.goesAs(q.class, q.past().aside, q.past().lifted)
	if q.class != nil {
		s.Group, s.GroupWhy = q.class.name, q.classedBy(ctx, s.SQL, marksOf(ctx))
	}
	switch {
	case err != nil:
		if h.ruled {
			s.Reason = h.trace.Decision.Reason
		}
		if errors.Is(err, groups.ErrRefused) {
			s.Reason = policy.ReasonGroupRefused
		}
		return
	case at != nil:
		s.Servers = h.may(at)
	case h.ended && h.decision.Target == policy.Wait:
		h.waits(s)
	case reason == policy.ReasonPositionPending && h.asked&(askedCapture|askedShown) != 0:
		at = h.settled(rt, s)
	default:
		s.Servers = []string{primaryName}
		h.nearly(rt, r, s)
	}
	h.checks(rt, s)
	if n := h.p.percent(); n < 100 && !s.Primary() && (q.parent == nil || q.parent.at == nil) {
		s.Before = append(s.Before, fmt.Sprintf("an operator lets %d of 100 reads through (Traffic.Percent); the others go to the primary (%s)", n, policy.ReasonPercent))
		s.Servers = also(s.Servers, primaryName)
	}
	r.at, r.generation, r.reason = at, generation, s.Reason
	if s.Primary() {
		h.bounded(ctx, rt, q, s)
		r.strays().fell = q.past().fell
	}
}

// checks explains that a read which may go to a name of several servers finds out there
// what it is shown. In a rehearsal nobody is asked.
func (h *rehearsal) checks(rt *router, s *explain.Statement) {
	for _, name := range h.balanced(rt, s.Servers) {
		s.Before = append(s.Before, fmt.Sprintf("would ask the server that its connection to %s leads to what it shows, unless it has shown enough already; where that is too little, another connection, and at last the primary serves it", name))
		s.Servers = also(s.Servers, primaryName)
	}
}

// balanced are those of the names that lead to several servers, for a read that asks
// for something.
func (h *rehearsal) balanced(rt *router, names []string) (several []string) {
	if h.query.Mode == policy.AnyReplica {
		return nil
	}
	snap := rt.monitor.Snapshot()
	for i := range snap.Replicas {
		if r := &snap.Replicas[i]; r.Balanced && !r.Gone && slices.Contains(names, r.Name) {
			several = append(several, r.Name)
		}
	}
	return several
}

// percent is how many of a hundred reads the rules decide about.
func (p *Plugin) percent() int {
	if t := p.traffic.Load(); t != nil {
		return percent(*t)
	}
	return 100
}

// may are the replicas that a decision for at lets serve the read: all that the rules
// let through, and those that come back and get a share.
func (h *rehearsal) may(at *server) []string {
	var names []string
	for i := range h.trace.Replicas {
		if t := &h.trace.Replicas[i]; t.Objection == policy.ReasonNone || t.Objection == policy.ReasonSlowStart {
			names = append(names, t.Name)
		}
	}
	if !slices.Contains(names, at.name) {
		return []string{at.name}
	}
	return names
}

// behind are the replicas that lack nothing but what the session must see.
func (h *rehearsal) behind() []string {
	var names []string
	for i := range h.trace.Replicas {
		if h.trace.Replicas[i].Objection == policy.ReasonBehindSession {
			names = append(names, h.trace.Replicas[i].Name)
		}
	}
	return names
}

func also(names []string, more ...string) []string {
	for _, n := range more {
		if !slices.Contains(names, n) {
			names = append(names[:len(names):len(names)], n)
		}
	}
	return names
}

// waits explains a read that waits for a replica.
func (h *rehearsal) waits(s *explain.Statement) {
	names := h.behind()
	s.Waits = h.decision.Wait
	s.Before = append(s.Before, fmt.Sprintf("would wait up to %v for %s to reach %s; a replica that does serves it (%s), else the primary (%s)",
		s.Waits, strings.Join(names, " or "), h.query.Need.LSN, policy.ReasonWaited, policy.ReasonWaitExpired))
	s.Servers = also(names, primaryName)
}

// settled explains a read whose session has something to see of which no position is
// known yet: it is decided as if that were the newest that is known of the primary.
func (h *rehearsal) settled(rt *router, s *explain.Statement) *server {
	q := h.query
	q.Pending = false
	if known := rt.monitor.Reached(); q.Need.Zero() || known.Covers(q.Need) {
		q.Need = known
	}
	whom := "the primary for the position that covers it"
	if h.asked&askedCapture == 0 {
		whom = "the replica that has shown it how far it is"
	}
	s.Before = append(s.Before, fmt.Sprintf("would ask %s, for up to %v, and be decided by the answer; without one the primary serves it (%s)", whom, rt.maxWait, policy.ReasonPositionPending))
	d := h.ruling(rt, &q, rt.monitor.Snapshot(), time.Now())
	s.Trace, s.Reason = h.trace, d.Reason
	h.decision = d
	switch d.Target {
	case policy.ToReplica:
		at := rt.replicas()[d.Replica]
		s.Servers = also(h.may(at), primaryName)
		return at
	case policy.Wait:
		h.waits(s)
	default:
		s.Servers = also(h.behind(), primaryName)
	}
	return nil
}

// nearly explains what might still keep a read from the primary.
func (h *rehearsal) nearly(rt *router, r *route, s *explain.Statement) {
	if !h.ruled {
		return
	}
	if h.asked&askedNews != 0 {
		names := h.behind()
		s.Before = append(s.Before, fmt.Sprintf("would ask %s once more, which should have it by now", strings.Join(names, " and ")))
		s.Servers = also(names, primaryName)
	}
	ejected := slices.ContainsFunc(h.trace.Replicas, func(t policy.ReplicaTrace) bool { return t.Objection == policy.ReasonEjected })
	if !ejected || r.parent != nil || rt.plugin.shadowed() {
		return
	}
	trial := h.query
	trial.TryEjected = true
	if t := rt.decider.Consider(&trial, rt.monitor.Snapshot(), rt, time.Now()); t.Decision.Target == policy.ToReplica {
		s.Before = append(s.Before, fmt.Sprintf("%s is ejected: one read at a time tries it", strings.Join(t.May(), " or ")))
		s.Servers = also(t.May(), s.Servers...)
	}
}

// bounded explains what the budget of the primary does to a read that falls back.
func (h *rehearsal) bounded(ctx context.Context, rt *router, q *route, s *explain.Statement) {
	b := rt.budget
	if b == nil || !q.fallsBack(s.Reason) {
		return
	}
	q.strays().fell = true
	st := b.gate.Status()
	s.Before = append(s.Before, fmt.Sprintf("would take one of the %d places for such reads on the primary, of which %d are taken and %d reads wait for one", st.Reads, st.InUse, st.Waiting))
	if st.InUse < st.Reads && st.Waiting == 0 || !b.mayServeStale(ctx, s.Reason) {
		return
	}
	first := h.look
	h.look = look{}
	stale := with(ctx, func(m *marks) { m.mode = policy.Stale })
	at, _, _, err := q.choose(stale, marksOf(stale), s.SQL, 0)
	if err == nil && at != nil {
		s.Servers, s.Reason, s.Trace = h.may(at), policy.ReasonServedStale, h.trace
	}
	h.look = first
}
