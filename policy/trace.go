package policy

import (
	"fmt"
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
	// Lifted says that the bounds on staleness did not count in the end, because
	// the primary is lost.
	Lifted bool
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
	t.Decision = d.decide(q, s, load, now, &t)
	if t.Decision.Target == ToReplica {
		t.Replicas[t.Decision.Replica].Chosen = true
	}
	return t
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
		{"up", ruleUp(r), ""},
		{"news", ruleNews(r, in.now, d.limits.MaxSampleAge), in.newsDetail(r, d.limits.MaxSampleAge)},
		{"ejected", in.isEjected(r), in.ejectedDetail(r)},
		{"single", ReasonNone, in.singleDetail(r)},
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

func (in *input) newsDetail(r *Replica, maxAge time.Duration) string {
	if r.Sampled.IsZero() {
		return "never sampled"
	}
	return fmt.Sprintf("%v old, at most %v", in.now.Sub(r.Sampled), maxAge)
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
	return fmt.Sprintf("for another %v", r.EjectedUntil.Sub(in.now))
}

func (in *input) sinceDetail(r *Replica) string {
	switch {
	case r.Since.IsZero():
		return ""
	case in.quick:
		return "nobody else serves the read"
	}
	return fmt.Sprintf("back for %v", in.now.Sub(r.Since))
}

func (in *input) lagDetail(r *Replica) string {
	lag, ok := r.Lag(in.now)
	switch {
	case in.q.boundless() || r.standsIn():
		return "no bound"
	case !ok:
		return ""
	}
	return fmt.Sprintf("%v, at most %v", lag, in.bound)
}

func (in *input) positionDetail(r *Replica) string {
	switch {
	case in.q.Need.Zero():
		return "nothing needed"
	case in.q.Mode == AnyReplica:
		return "given up"
	case r.standsIn():
		return "a primary shows every write"
	}
	at := fmt.Sprintf("at %v, needs %v", r.Applied.LSN, in.q.Need.LSN)
	switch {
	case rulePosition(in.q, r) != ReasonBehindSession:
		return at
	case r.Paused:
		return at + ", replay paused"
	}
	return fmt.Sprintf("%s, catches up in %v, %v left to wait", at, r.CatchUp, in.left)
}
