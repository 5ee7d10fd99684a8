package policy

import (
	"sync"
	"time"
)

// Decider decides by fixed [Rules]. It is safe for concurrent use and starts no
// goroutine.
type Decider struct {
	limits   Limits
	once     []asked  // policies that are asked once for each decision
	each     []Policy // policies that are asked for each replica
	balancer Balancer
	timeless bool // balancer asks for no latencies
	scratch  sync.Pool
}

type asked struct {
	Policy
	QueryJudge
}

// NewDecider returns a Decider for r. It keeps no reference to r.Policies.
func NewDecider(r Rules) *Decider {
	d := &Decider{limits: r.Limits, balancer: r.Balancer}
	if d.balancer == nil {
		d.balancer = LeastInFlight()
	}
	d.timeless = isTimeless(d.balancer)
	for _, p := range r.Policies {
		if p == nil {
			continue
		}
		if j, ok := p.(QueryJudge); ok {
			d.once = append(d.once, asked{p, j})
		} else {
			d.each = append(d.each, p)
		}
	}
	d.scratch.New = func() any { return new(scratch) }
	return d
}

var (
	noQuery    Query
	noSnapshot Snapshot
)

// Decide says where the statement that q describes goes. It allocates nothing,
// never fails, and depends on nothing but its arguments and the rules. A nil q
// is the zero Query, a nil s a Snapshot without servers, a nil load no reads in
// flight. now, and the times in q and s, should carry the monotonic reading that
// time.Now gives them: a step of the wall clock is not news of a replica.
//
// A panic of a policy or a balancer is passed on; the Decider stays usable.
func (d *Decider) Decide(q *Query, s *Snapshot, load Load, now time.Time) Decision {
	return d.decide(q, s, load, now, nil)
}

func (d *Decider) decide(q *Query, s *Snapshot, load Load, now time.Time, t *Trace) Decision {
	if q == nil {
		q = &noQuery
	}
	if s == nil {
		s = &noSnapshot
	}
	in := input{
		q: q, s: s, load: load, now: now,
		bound: lagBound(q, d.limits.MaxLag),
		left:  max(d.limits.MaxWait-max(q.Waited, q.Spent, 0), 0),

		ejected: q.TryEjected, unpicked: t != nil && t.unpicked,
	}
	if q.Ahead {
		in.left = 0
	}
	if reason := d.request(&in, t); reason != ReasonNone {
		return Decision{Target: ToPrimary, Reason: reason}
	}
	if !d.timeless {
		in.timed, _ = load.(LatencyLoad)
	}

	sc := d.scratch.Get().(*scratch)
	defer d.scratch.Put(sc)

	out := d.filter(&in, sc, t)
	if sc.n == 0 && out.slow {
		in.quick = true
		out = d.filter(&in, sc, t)
	}
	if sc.n == 0 && out.ejected && s.Primary.Lost {
		// There is nobody else: whoever is ejected is tried.
		in.ejected, in.quick = true, true
		out = d.filter(&in, sc, t)
	}
	switch {
	case sc.n > 0:
		return in.toReplica(d.pick(&in, sc), claim(q))
	case out.canWait:
		return Decision{Target: Wait, Reason: ReasonBehindSession, Wait: in.left}
	case s.Primary.Lost:
		return d.lost(&in, sc, out, t)
	}
	return Decision{Target: ToPrimary, Reason: d.expired(q, out.objection)}
}

func (in *input) toReplica(i int, reason Reason) Decision {
	if r := &in.s.Replicas[i]; r.NoPosition && !r.standsIn() && !onConnection(in.q, r) &&
		(reason == ReasonWithinLag || reason == ReasonCaughtUp || reason == ReasonWaited || reason == ReasonStale && !in.q.Need.Zero()) {
		reason = ReasonStatedLag
	}
	return Decision{Target: ToReplica, Replica: i, Reason: reason, Check: onConnection(in.q, &in.s.Replicas[i])}
}

// claim is the weakest claim on freshness that let a replica through.
func claim(q *Query) Reason {
	switch {
	case q.Mode == AnyReplica:
		return ReasonAnyReplica
	case q.Mode == Stale:
		return ReasonStale
	case q.Need.Zero() && !q.Ahead:
		return ReasonWithinLag
	case q.Waited > 0:
		return ReasonWaited
	}
	return ReasonCaughtUp
}

func (d *Decider) expired(q *Query, objection Reason) Reason {
	if objection == ReasonBehindSession && d.limits.MaxWait > 0 && q.Waited >= d.limits.MaxWait {
		return ReasonWaitExpired
	}
	return objection
}

// lost decides when nothing is within its bounds and the primary, which would
// be, cannot be reached. A bound that the read itself asked for is not broken
// even then: it is refused, so that the caller learns it at once and can choose.
// Nobody's own writes are given up: a replica must have them, or the primary is
// tried and gives its error.
func (d *Decider) lost(in *input, sc *scratch, out outcome, t *Trace) Decision {
	switch {
	case in.q.AtMost != 0 && !in.q.boundless():
		return Decision{Target: Refuse, Reason: ReasonAtMostUnproven}
	case d.limits.RefuseWhenLost:
		return Decision{Target: Refuse, Reason: ReasonPrimaryLostRefused}
	}
	in.lifted, in.ejected, in.quick = true, true, true
	t.lift()
	if t != nil || out.bounded || out.ejected || out.slow {
		out = d.filter(in, sc, t) // else it would say the same
	}
	if sc.n > 0 {
		return in.toReplica(d.pick(in, sc), ReasonPrimaryLost)
	}
	return Decision{Target: ToPrimary, Reason: d.expired(in.q, out.objection)}
}
