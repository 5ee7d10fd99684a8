package policy

import (
	"slices"
	"time"
)

// input is what one decision is made from, with what follows from it for every
// replica alike.
type input struct {
	q     *Query
	s     *Snapshot
	load  Load
	now   time.Time
	trace *Trace        // nil: nobody asks why
	bound time.Duration // on the staleness of a replica
	left  time.Duration // that may still be waited
	had   time.Duration // how long the primary has had what the session must see
	// lifted leaves out the bounds on staleness, because the primary is lost.
	lifted bool
	// ejected offers replicas that are ejected too.
	ejected bool
	// quick leaves out the slow start, because nobody else serves the read.
	quick bool
	// strangers is how many replicas of other zones may still be offered; -1: as many as
	// there are.
	strangers int
}

// scratch holds the candidates of one decision. It is reused from decision to
// decision: a read must not pay an allocation for being routed.
type scratch struct {
	index      [MaxCandidates]int // of the candidates, out of a balancer's reach
	n          int
	candidates [MaxCandidates]Candidate
	latencies  latencies // whom these ask
}

// outcome is what judging the replicas gave besides the candidates.
type outcome struct {
	objection Reason // the most telling one
	slow      bool   // some replica has nothing against it but its slow start
	ejected   bool   // some replica was left out because it is ejected
	canWait   bool   // some replica only lacks the session's position, and may reach it in time
	bounded   bool   // some replica was left out because of a bound on staleness
}

// filter judges the replicas and leaves those without an objection in sc.
func (d *Decider) filter(in *input, sc *scratch, out *outcome) {
	sc.n = 0
	*out = outcome{}
	n := len(in.s.Replicas)
	i, looks := offered(in.q, n), n
	if only := in.q.Only; only != 0 && in.trace == nil {
		if n > 1 || only != 1 {
			out.objection = ReasonFailedThisRead // what is said of all the others
		}
		if i, looks = only-1, 1; i < 0 || i >= n {
			return
		}
	}
	if in.strangers = -1; n > MaxCandidates && in.q.Zone != "" {
		in.strangers = in.strangersOf()
	}
	if b, ok := d.bounds(in); ok {
		if in.strangers < 0 && !in.asksRules() && b.within(&in.s.columns.worst) {
			sc.take(i, min(looks, MaxCandidates), n)
			return
		}
		s := newScan(in, b, i, looks)
		d.scan(in, sc, out, &s)
		return
	}
	for ; looks > 0 && (sc.n < MaxCandidates || in.trace != nil); looks-- {
		d.look(in, sc, out, i)
		if i++; i == n {
			i = 0
		}
	}
}

// take makes candidates of so many of n replicas, from place i on.
func (sc *scratch) take(i, many, n int) {
	sc.n = many
	for k := range sc.index[:many] {
		sc.index[k] = i
		if i++; i == n {
			i = 0
		}
	}
}

// look judges one replica by all rules.
func (d *Decider) look(in *input, sc *scratch, out *outcome, i int) {
	r := &in.s.Replicas[i]
	reason := d.judge(in, r, i)
	if in.trace != nil {
		in.trace.replica(d, in, r, i, reason)
	}
	switch reason {
	case ReasonNone:
		if sc.n < MaxCandidates && in.offers(r) {
			sc.index[sc.n] = i
			sc.n++
		}
		return
	case ReasonBehindSession:
		out.canWait = out.canWait || in.canWait(r)
	case ReasonSlowStart:
		out.slow = true
	case ReasonEjected:
		out.ejected = true
	}
	out.object(reason)
}

// object notes an objection against one replica.
func (out *outcome) object(reason Reason) {
	if telling[reason] > telling[out.objection] {
		out.objection = reason
	}
	out.bounded = out.bounded || reason.bounds()
}

// offered is the replica that is judged first: the first one, unless there are
// more than can be offered to a balancer.
func offered(q *Query, replicas int) int {
	if replicas <= MaxCandidates {
		return 0
	}
	turn := q.Ticket
	if q.Affinity != 0 {
		turn = q.Affinity // the same replicas are offered to all its reads
	}
	if q.Zone != "" {
		// Fewer than MaxCandidates of those that follow are offered, so that steps of
		// that many could pass over the same ones each time.
		return int(mix(turn/MaxCandidates) % uint64(replicas))
	}
	return int((turn - turn%MaxCandidates) % uint64(replicas))
}

// strangersOf is how many of many replicas may be offered although they are of another
// zone than the query's: without a bound the first MaxCandidates may all be of other
// zones, and every read leave its own although that could serve it. Where the zone has
// none, as many as there are.
func (in *input) strangersOf() int {
	if c := in.s.columns; c != nil && slices.Contains(c.zones, in.q.Zone) {
		return MaxCandidates / 4
	}
	for i := range in.s.Replicas {
		if r := &in.s.Replicas[i]; r.Zone == in.q.Zone && !r.Gone {
			return MaxCandidates / 4
		}
	}
	return -1
}

// offers reports whether r, which may serve the read, is offered to the balancer.
func (in *input) offers(r *Replica) bool {
	if in.strangers < 0 || r.Zone == in.q.Zone {
		return true
	}
	if in.strangers == 0 {
		return false
	}
	in.strangers--
	return true
}

func (in *input) inFlight(index int) int64 {
	if in.load == nil {
		return 0
	}
	return in.load.InFlight(index)
}

// asksRules reports whether what the query says has to be asked of each replica.
func (in *input) asksRules() bool { return in.q.Exclude != 0 || in.q.Group != "" }

// canWait reports whether r, which only lacks the session's position, is likely
// to reach it in what is left to wait. Without this question a slow replica
// would add the longest wait to every read and serve none.
func (in *input) canWait(r *Replica) bool { return !r.Paused && in.reaches(r.CatchUp) }

// reaches is canWait for a replica that takes so long.
func (in *input) reaches(catchUp time.Duration) bool {
	return in.left > 0 && in.remains(catchUp) <= in.left
}

// remains is for how long a replica that takes so long will most likely lack what the
// session must see, which the primary has had for a while. The longer it takes, the less
// exactly is that known.
func (in *input) remains(catchUp time.Duration) time.Duration {
	return max(catchUp-in.had, 0) + in.had/lateness
}

// lateness is the part of its delay by which a replica may be late.
const lateness = 8

// judge returns the first objection against r. The session's position is the
// last to count, although policies are asked after it: whoever waits for a
// position must know that nothing else is in the way.
func (d *Decider) judge(in *input, r *Replica, index int) Reason {
	if reason := ruleUntried(in.q, index); reason != ReasonNone {
		return reason
	}
	if reason := ruleGroup(in.q, r); reason != ReasonNone {
		return reason
	}
	if reason := ruleDrained(r); reason != ReasonNone {
		return reason
	}
	if reason := ruleRole(r); reason != ReasonNone {
		return reason
	}
	if reason := ruleLogical(in.q, r); reason != ReasonNone {
		return reason
	}
	if reason := ruleUp(r); reason != ReasonNone {
		return reason
	}
	if reason := ruleNews(r, in.now, d.limits.MaxSampleAge); reason != ReasonNone {
		return reason
	}
	if reason := in.isEjected(r); reason != ReasonNone {
		return reason
	}
	if in.q.KeepServer {
		if reason := ruleHeld(in.q, in.s, r); reason != ReasonNone {
			return reason
		}
	}
	if onConnection(in.q, r) {
		return d.judgeName(in, r, index)
	}
	if !in.lifted {
		if reason := ruleLag(in.q, r, in.now, in.bound); reason != ReasonNone {
			return reason
		}
	}
	behind := rulePosition(in.q, r)
	if behind != ReasonNone && behind != ReasonBehindSession {
		return behind
	}
	for _, p := range d.each {
		switch reason := objection(p.Judge(in.q, in.s, r, in.now)); {
		case reason == ReasonNone || in.lifted && reason.bounds():
		case reason == ReasonBehindSession:
			behind = reason
		default:
			return reason
		}
	}
	if behind == ReasonNone {
		return d.isSlow(in, r, index)
	}
	return behind
}

// judgeName judges a name behind which stand several servers. Whether the one that
// the read comes to is fresh enough is judged by the same rules once it is known
// (Decision.Check); until then a policy may only object to the name as such.
func (d *Decider) judgeName(in *input, r *Replica, index int) Reason {
	for _, p := range d.each {
		if reason := objection(p.Judge(in.q, in.s, r, in.now)); reason != ReasonNone && !reason.ofSample() {
			return reason
		}
	}
	return d.isSlow(in, r, index)
}

func (in *input) isEjected(r *Replica) Reason {
	if in.ejected {
		return ReasonNone
	}
	return ruleEjected(r, in.now)
}

func (d *Decider) isSlow(in *input, r *Replica, index int) Reason {
	if in.quick {
		return ReasonNone
	}
	return ruleSlowStart(in.q, r, index, in.now, d.limits.SlowStart)
}

// bounds reports whether r objects to staleness, which is lifted while the
// primary is lost.
func (r Reason) bounds() bool {
	return r == ReasonLagging || r == ReasonBehindBytes || r == ReasonLagUnknown || r == ReasonNoPosition
}

// ofSample reports whether r objects to what a sample says, which is nothing where the
// name is that of several servers.
func (r Reason) ofSample() bool {
	return r.bounds() || r == ReasonBehindSession || r == ReasonUnprovenHistory || r == ReasonOtherHistory
}

// serve decides for the candidate that the balancer picks. Its answer is checked against
// a list that it cannot reach: a balancer that writes to what it was given must not be
// able to send a read to a replica that may not serve it.
func (d *Decider) serve(in *input, sc *scratch, reason Reason, to *Decision) {
	index := sc.index[:sc.n]
	picked := index[0]
	if len(index) > 1 && (in.trace == nil || !in.trace.unpicked) {
		c := d.offer(in, sc)
		if i := d.balancer.Pick(in.q, c); i >= 0 && i < len(c) {
			if x := c[i].Index; x == index[i] || slices.Contains(index, x) {
				picked = x
			}
		}
	}
	r := &in.s.Replicas[picked]
	to.Target, to.Replica, to.Reason, to.Check = ToReplica, picked, reason, onConnection(in.q, r)
	if r.NoPosition && !r.standsIn() && !to.Check &&
		(reason == ReasonWithinLag || reason == ReasonCaughtUp || reason == ReasonWaited || reason == ReasonStale && !in.q.Need.Zero()) {
		to.Reason = ReasonStatedLag
	}
}

// offer fills in what the balancer wants to know of the candidates. Their latencies are
// asked for by those who look at them, where these are few: see asker.
func (d *Decider) offer(in *input, sc *scratch) []Candidate {
	offered, known := sc.candidates[:sc.n], in.s.traits()
	var timed LatencyLoad
	var unasked *latencies
	if d.asks >= 0 {
		timed, _ = in.load.(LatencyLoad)
		if timed != nil && sc.n > d.asks {
			sc.latencies.load, sc.latencies.now = timed, in.now
			timed, unasked = nil, &sc.latencies
		}
	}
	for i := range offered {
		c, index := &offered[i], sc.index[i]
		c.Index, c.Replica, c.InFlight, c.Latency, c.unasked = index, &in.s.Replicas[index], 0, 0, unasked
		if c.traits = (traits{}); index < len(known) {
			c.traits = known[index]
		}
		if in.load != nil {
			c.InFlight = in.load.InFlight(index)
		}
		if timed != nil {
			c.Latency = timed.Latency(index, in.now)
		}
	}
	return offered
}
