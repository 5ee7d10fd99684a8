package policy

import (
	"sync"
	"time"
)

// Decider decides by fixed [Rules]. It is safe for concurrent use and starts no
// goroutine.
type Decider struct {
	limits   Limits
	maxAge   int64    // limits.MaxSampleAge, as a bound of columns
	slow     int64    // limits.SlowStart, as another
	once     []asked  // policies that are asked once for each decision
	each     []Policy // policies that are asked for each replica
	balancer Balancer
	asks     int // see asker
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
	d.asks = asks(d.balancer)
	d.maxAge, d.slow = bound(r.Limits.MaxSampleAge), int64(max(r.Limits.SlowStart, 0))
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
func (d *Decider) Decide(q *Query, s *Snapshot, load Load, now time.Time) (to Decision) {
	var in input
	in.q, in.s, in.load, in.now = q, s, load, now
	d.decide(&in, &to)
	return to
}

// decide decides to. A Decision that is returned from one function to the next is copied
// by each of them, which takes longer than to judge a replica.
func (d *Decider) decide(in *input, to *Decision) {
	if in.q == nil {
		in.q = &noQuery
	}
	if in.s == nil {
		in.s = &noSnapshot
	}
	q := in.q
	in.bound, in.ejected = lagBound(q, d.limits.MaxLag), q.TryEjected
	if !q.Ahead {
		in.left = max(d.limits.MaxWait-max(q.Waited, q.Spent, 0), 0)
	}
	if !q.NeedAt.IsZero() {
		in.had = max(in.now.Sub(q.NeedAt), 0)
	}
	if to.Reason = d.request(in); to.Reason != ReasonNone {
		return
	}
	sc := d.scratch.Get().(*scratch)
	var out outcome
	d.filter(in, sc, &out)
	if sc.n == 0 && out.slow {
		in.quick = true
		d.filter(in, sc, &out)
	}
	if sc.n == 0 && out.ejected && in.s.Primary.Lost {
		// There is nobody else: whoever is ejected is tried.
		in.ejected, in.quick = true, true
		d.filter(in, sc, &out)
	}
	switch {
	case sc.n > 0:
		d.serve(in, sc, claim(in.q), to)
	case out.canWait:
		to.Target, to.Reason, to.Wait = Wait, ReasonBehindSession, in.left
	case in.s.Primary.Lost:
		d.lost(in, sc, &out, to)
	default:
		to.Reason = d.expired(in.q, out.objection)
	}
	d.scratch.Put(sc) // what a policy or a balancer has panicked on is left to the collector
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
func (d *Decider) lost(in *input, sc *scratch, out *outcome, to *Decision) {
	switch {
	case in.q.AtMost != 0 && !in.q.boundless():
		to.Target, to.Reason = Refuse, ReasonAtMostUnproven
		return
	case d.limits.RefuseWhenLost:
		to.Target, to.Reason = Refuse, ReasonPrimaryLostRefused
		return
	}
	in.lifted, in.ejected, in.quick = true, true, true
	in.trace.lift()
	if in.trace != nil || out.bounded || out.ejected || out.slow {
		d.filter(in, sc, out) // else it would say the same
	}
	if sc.n > 0 {
		d.serve(in, sc, ReasonPrimaryLost, to)
		return
	}
	to.Reason = d.expired(in.q, out.objection)
}
