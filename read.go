package readsplit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// read runs attempt on the server that is right for the read, and again
// elsewhere as long as the failure is the server's and nothing has reached the
// caller. attempt is given nil for the primary, whose errors are final. discard
// drops a result that turned out not to be trusted. text is the statement's.
func (r *route) read(ctx context.Context, text string, attempt func(s *server) error, discard func()) error {
	rt, m := r.router, marksOf(ctx)
	primary := r.past().forced
	if primary != 0 {
		r.detour.forced = 0
	}
	var last error // of a replica
	for {
		r.attempts++
		if primary == 0 && r.attempts > 1 && !rt.cfg.Retry.Allows(int(r.attempts)) {
			primary = policy.ReasonReplicaFailed // the last run is the primary's
		}
		if primary != 0 && r.class != nil {
			again, err := r.leaves(ctx, primary, last)
			if err != nil {
				r.attempts-- // it has not run
				r.unserved(ctx, primary, err)
				return err
			}
			if again {
				primary = 0
			}
		}
		r.tries = true
		s, generation, reason, err := r.choose(ctx, m, text, primary)
		r.tries = false
		if err == nil && s == nil {
			s, generation, reason, err = r.admit(ctx, text, reason)
		}
		if err != nil {
			err = lastly(err, last)
			r.unserved(ctx, reason, err)
			return err
		}
		if s == nil {
			if r.past().refused {
				r.wrote, r.effect = true, effect{insert: true, began: rt.historyNow()}
			}
			r.ranOn(ctx, nil, reason)
			err := rt.noticed(r.placed(attempt))
			rt.told(m, nil, 0, nil, err)
			return err
		}
		trial := r.past().trial
		if trial {
			r.detour.trial = false
		}
		ran, err := r.tryOn(s, attempt, r.began, trial)
		if err == errOutOfService { //nolint:errorlint // ours, and never wrapped
			r.attempts-- // it has not run
			continue
		}
		late := r.over()
		if u := unfitted(err); u != nil && ctx.Err() == nil {
			r.elsewhere(s, u, trial)
			continue
		}
		if c := r.past().check; err == nil && c != nil && c.server == s {
			c.capture = rt.asks.NextCapture()
			if c.reason != 0 {
				reason = c.reason
			}
		}
		if err == nil {
			rt.monitor.Served(s.index, trial)
			if rt.monitor.Generation(s.index) == generation {
				r.generation = generation
				if ran.took > 0 && !r.begins { // a slow server is quick to begin a transaction
					s.meterFor(r.pooled()).Served(r.began+ran.took, ran.took, ran.inFlight)
				}
				r.toldBy(m, s, generation, nil)
				rt.conflicts.Ran(text)
				r.ranOn(ctx, s, reason)
				return nil
			}
			// Between the decision and now the server came back in an older
			// state, and this answer may be from there.
			if discard != nil {
				discard()
			}
			rt.counters.voided.Add(1)
			if !rt.cfg.Retry.Allows(int(r.attempts)) {
				primary = policy.ReasonReplicaFailed
			}
			continue
		}
		next, again := r.failed(ctx, s, err, lastRun{text, processStart.Add(r.began), late, trial, ran})
		if !again {
			r.toldBy(m, s, generation, err)
			r.ranOn(ctx, s, reason)
			return err
		}
		if next != 0 {
			primary = next
		}
		last = err
		if !rt.cfg.Retry.Allows(int(r.attempts)) {
			if primary == 0 && !r.past().lifted {
				r.ranOn(ctx, s, reason)
				return err
			}
		} else if primary == 0 && !rt.pause(ctx, int(r.attempts)) {
			return err
		}
	}
}

// try runs an attempt and counts it while it runs, also when it panics: what is
// in flight, or a trial, for ever keeps reads away from its server for ever.
// Of one that succeeds it says how long it took where that is due, or always.
func (s *server) try(attempt func(s *server) error, began time.Duration, trial bool, of *class, always bool) (ran pace, err error) {
	meter := s.meterFor(of)
	ran.inFlight = meter.Begin(began)
	timed := always || meter.Due(began)
	over := false
	defer func() {
		now := began // it cannot have been later
		if timed || err != nil || !over {
			now = sinceStart()
			ran.took = now - began
		}
		meter.End(now)
		if trial {
			s.trial.Store(false)
		}
	}()
	if s.out.Load() {
		// Decided before an operator took it away, who now waits for nothing any more.
		return ran, errOutOfService
	}
	err = attempt(s)
	over = true
	return ran, err
}

var errOutOfService = errors.New("readsplit: the replica was taken out of service")

// failed judges an error of a replica: whether the read may run again, and the
// reason when that must be on the primary.
func (r *route) failed(ctx context.Context, s *server, err error, run lastRun) (primary policy.Reason, again bool) {
	if ctx.Err() == nil && r.router.closed.Load() {
		return policy.ReasonNoReplicas, true // broken off by Close
	}
	if ctx.Err() == nil && s.gone.Load() {
		return 0, true // its place in the monitor may be another's by now
	}
	v := retry.OfAttempt(ctx, ctx, err)
	if ctx.Err() == nil && (errors.Is(err, retry.ErrServerDead) || errors.Is(err, monitor.ErrNotStandby) || errors.Is(err, monitor.ErrNotLogical)) {
		v = retry.Verdict{Action: retry.Elsewhere, Cause: retry.CauseServerDead}
	}
	v = r.weigh(ctx, v, err, run)
	if v.ServerSuspect && !s.balanced() { // one of several servers, which says nothing of the others
		r.router.monitor.Suspect(s.index, err)
	}
	if v.Strikes() {
		r.router.monitor.Struck(s.index, run.trial, err)
	}
	s.timeFailed(ctx, v, run, r.pooled())
	r.excludes(s)
	switch v.Action {
	case retry.Elsewhere:
		r.router.counters.retried(v.Cause)
		r.tellRetry(ctx, s, v, err)
		return 0, true
	case retry.Primary:
		r.router.counters.retried(v.Cause)
		r.tellRetry(ctx, s, v, err)
		switch {
		case v.CountsAsWrite:
			r.strays().refused = true
			r.router.counters.refused.Add(1)
			return policy.ReasonRefusedByReplica, true
		case v.Cause == retry.CauseSchemaBehind:
			return policy.ReasonSchemaBehind, true
		default:
			return policy.ReasonReplicaFailed, true
		}
	default:
		return 0, false
	}
}

// excludes keeps the read from coming back to s.
func (r *route) excludes(s *server) {
	d := r.strays()
	d.exclude |= 1 << (s.index % 64)
	if i := slices.Index(d.failedOn[:], 0); i >= 0 {
		d.failedOn[i] = int32(s.index + 1)
	}
}

// pause waits between two runs of a read.
func (rt *router) pause(ctx context.Context, ran int) bool {
	d := rt.cfg.Retry.Delay(ran, rand.Uint64())
	return d <= 0 || rest(ctx, d)
}

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
	q.Random, q.Ticket = rand.Uint64(), ticket
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
		return r.follow(m, text, q, snap, parent, err)
	}
	return r.to(m, q, snap)
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

// follow is what becomes of a decision: what operators, groups and conflicts with replay
// have to say about it.
func (r *route) follow(m *marks, text string, q *query, snap *policy.Snapshot, parent *route, err error) (*server, uint64, policy.Reason, error) {
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
