package policy

import (
	"fmt"
	"slices"
	"time"
)

// Trace is one decision with everything that led to it.
type Trace struct {
	Decision Decision
	// Request are the verdicts that are the same for every replica, in the order
	// in which they were asked, up to the first objection.
	Request []Verdict
	// Replicas are in the order of Snapshot.Replicas; nil when the request was
	// decided without looking at them.
	Replicas []ReplicaTrace
	// Balancer is the name of what picks among those that may serve.
	Balancer string
	// Lifted says that the bounds on staleness did not count in the end, because
	// the primary is lost.
	Lifted bool

	unpicked bool // the balancer was not asked
}

// Verdict is the answer of one rule.
type Verdict struct {
	Rule   string // a rule of the core, or Policy.Name
	Reason Reason // ReasonNone: no objection
	Detail string // the values that were compared; "" if there are none
}

// ReplicaTrace is what was found about one replica.
type ReplicaTrace struct {
	Name string
	// Objection is what counted; ReasonNone: the replica may serve the read,
	// although of more than MaxCandidates not all are offered to the balancer.
	Objection Reason
	// Chosen says that the read goes to this replica.
	Chosen bool
	// InFlight is the number of reads in flight that a balancer sees.
	InFlight int64
	// Verdicts are the answers of all rules, also of those that did not count
	// because an earlier one had objected.
	Verdicts []Verdict
}

// Explain decides as Decide does, by the same code, and keeps the verdict of
// every rule on every replica. It allocates and asks policies twice: it is for
// people, on a status page, in a test, in a doctor.
func (d *Decider) Explain(q *Query, s *Snapshot, load Load, now time.Time) Trace {
	var t Trace
	d.explain(q, s, load, now, &t)
	if t.Decision.Target == ToReplica {
		t.Replicas[t.Decision.Replica].Chosen = true
	}
	return t
}

func (d *Decider) explain(q *Query, s *Snapshot, load Load, now time.Time, t *Trace) {
	d.decide(&input{q: q, s: s, load: load, now: now, trace: t}, &t.Decision)
	t.Balancer = d.balancer.Name()
}

// Consider is Explain without the balancer: where several replicas may serve the
// read, none of them is Chosen, and Decision.Replica is the first. A balancer may
// count whom it has picked, which a question must not do.
func (d *Decider) Consider(q *Query, s *Snapshot, load Load, now time.Time) Trace {
	t := Trace{unpicked: true}
	d.explain(q, s, load, now, &t)
	if may := t.May(); t.Decision.Target == ToReplica && len(may) == 1 {
		t.Replicas[t.Decision.Replica].Chosen = true
	}
	return t
}

// May returns the names of the replicas that nothing was said against, in the order
// of Snapshot.Replicas; nil unless the decision is for a replica. The balancer has
// picked one of them, or would.
func (t *Trace) May() []string {
	if t.Decision.Target != ToReplica {
		return nil
	}
	var names []string
	for i := range t.Replicas {
		if t.Replicas[i].Objection == ReasonNone {
			names = append(names, t.Replicas[i].Name)
		}
	}
	return names
}

// request notes a verdict and returns its reason. Decide calls it on a nil
// Trace, so that both walk through the same code.
func (t *Trace) request(rule string, reason Reason) Reason {
	if t != nil {
		t.Request = append(t.Request, Verdict{Rule: rule, Reason: reason})
	}
	return reason
}

func (t *Trace) lift() {
	if t != nil {
		t.Lifted = true
	}
}

func (t *Trace) replica(d *Decider, in *input, r *Replica, index int, objected Reason) {
	if t.Replicas == nil {
		t.Replicas = make([]ReplicaTrace, len(in.s.Replicas))
	}
	verdicts := []Verdict{
		{"untried", ruleUntried(in.q, index), ""},
		{"group", ruleGroup(in.q, r), in.q.Group},
		{"drained", ruleDrained(r), ""},
		{"role", ruleRole(r), r.Role.String()},
		{"logical", ruleLogical(in.q, r), in.logicalDetail()},
		{"up", ruleUp(r), ""},
		{"news", ruleNews(r, in.now, d.limits.MaxSampleAge), in.newsDetail(r, d.limits.MaxSampleAge)},
		{"ejected", in.isEjected(r), in.ejectedDetail(r)},
		{"single", ReasonNone, in.singleDetail(r)},
	}
	if r.Role != RoleLogical {
		verdicts = slices.Delete(verdicts, 4, 5)
	}
	if in.q.KeepServer {
		verdicts = append(verdicts, Verdict{"held", ruleHeld(in.q, in.s, r), ""})
	}
	if !onConnection(in.q, r) {
		verdicts = append(verdicts, []Verdict{
			{"lag", ruleLag(in.q, r, in.now, in.bound), in.lagDetail(r)},
			{"position", rulePosition(in.q, r), in.positionDetail(r)},
		}...)
	}
	for _, p := range d.each {
		reason := objection(p.Judge(in.q, in.s, r, in.now))
		if onConnection(in.q, r) && reason.ofSample() {
			reason = ReasonNone
		}
		verdicts = append(verdicts, Verdict{p.Name(), reason, ""})
	}
	verdicts = append(verdicts, Verdict{"slow_start", d.isSlow(in, r, index), in.sinceDetail(r)})
	t.Replicas[index] = ReplicaTrace{Name: r.Name, Objection: objected, InFlight: in.inFlight(index), Verdicts: verdicts}
}

// unbounded is from when on a bound is none: a hundred years.
const unbounded = 100 * 365 * 24 * time.Hour

// short leaves out of a measured duration what nobody reads.
func short(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

func (in *input) newsDetail(r *Replica, maxAge time.Duration) string {
	if r.Sampled.IsZero() {
		return "never sampled"
	}
	return fmt.Sprintf("%v old, at most %v", short(in.now.Sub(r.Sampled)), maxAge)
}

func (in *input) singleDetail(r *Replica) string {
	if onConnection(in.q, r) {
		return "a name of several servers: the rest is found out on the connection"
	}
	return ""
}

func (in *input) ejectedDetail(r *Replica) string {
	switch {
	case !in.now.Before(r.EjectedUntil):
		return ""
	case in.ejected:
		return "tried all the same"
	}
	return fmt.Sprintf("for another %v", short(r.EjectedUntil.Sub(in.now)))
}

func (in *input) sinceDetail(r *Replica) string {
	switch {
	case r.Since.IsZero():
		return ""
	case in.quick:
		return "nobody else serves the read"
	}
	return fmt.Sprintf("back for %v", short(in.now.Sub(r.Since)))
}

func (in *input) lagDetail(r *Replica) string {
	lag, ok := r.Lag(in.now)
	switch {
	case in.q.boundless() || r.standsIn():
		return "no bound"
	case !ok:
		return ""
	case in.bound >= unbounded:
		return fmt.Sprintf("%v, no bound", short(lag))
	}
	return fmt.Sprintf("%v, at most %v", short(lag), in.bound)
}

func (in *input) positionDetail(r *Replica) string {
	switch {
	case in.q.Ahead && in.q.Mode != AnyReplica && !r.standsIn():
		return "written a moment ago, no replica is likely to have it in time"
	case in.q.Need.Zero():
		return "nothing needed"
	case in.q.Mode == AnyReplica:
		return "given up"
	case r.standsIn():
		return "a primary shows every write"
	}
	if r.NoPosition {
		return fmt.Sprintf("tells none, stated to be at %v, needs %v", r.Applied.LSN, in.q.Need.LSN)
	}
	at := fmt.Sprintf("at %v, needs %v", r.Applied.LSN, in.q.Need.LSN)
	switch {
	case rulePosition(in.q, r) != ReasonBehindSession:
		return at
	case r.Paused:
		return at + ", replay paused"
	}
	return fmt.Sprintf("%s, catches up in %v, %v left to wait", at, short(in.remains(r.CatchUp)), short(in.left))
}
