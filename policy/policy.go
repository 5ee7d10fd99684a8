package policy

import "time"

// Policy can object to a replica for a read. Policies come after the rules of
// the core, every policy is asked about every replica that the core let through
// (or that only lacks the session's position), and one objection is enough.
//
// Judge returns [ReasonNone] for "no objection", else why not this replica. It
// must be a pure function of its arguments, safe for concurrent use, and must
// not block, change or keep what it is given: it runs inside every read. An
// answer that is not an objection of the list of reasons counts as
// [ReasonObjected]. The bounds on staleness ([ReasonLagging],
// [ReasonBehindBytes], [ReasonLagUnknown]) are lifted while the primary is lost,
// whoever answers with them.
//
// r points into s.Replicas, so that r == &s.Replicas[i] tells its index.
type Policy interface {
	Name() string
	Judge(q *Query, s *Snapshot, r *Replica, now time.Time) Reason
}

// QueryJudge is implemented by a [Policy] whose answer is the same for every
// replica. It is asked once for each decision instead of once for each replica,
// and an objection sends the read to the primary. Judge must give the same
// answer.
type QueryJudge interface {
	JudgeQuery(q *Query, now time.Time) Reason
}

// Balancer picks one of the replicas that may serve a read.
//
// c is never empty and has at most [MaxCandidates] elements; Pick returns an
// index into it. Pick must be a pure function
// of its arguments (chance and turn come from q.Random and q.Ticket), safe for
// concurrent use, and must not block. It may reorder c, must not change its
// elements otherwise, and must not keep it. It is not asked when there is only
// one candidate. An index outside c, or an element that was not a candidate,
// gives the first candidate.
type Balancer interface {
	Name() string
	Pick(q *Query, c []Candidate) int
}

// MaxCandidates is the most replicas that a balancer is offered. If more may
// serve the read, it is offered MaxCandidates of them that follow each other in
// the snapshot, beginning at a place that moves on with q.Ticket, so that all
// get their share and a thousand replicas cost a read no more than this many.
const MaxCandidates = 64

// Candidate is a replica that may serve the read.
type Candidate struct {
	Index    int      // into Snapshot.Replicas
	Replica  *Replica // &Snapshot.Replicas[Index]
	InFlight int64    // reads in flight on it
	// Latency is how long a read is expected to take there, as the [Load] says if it
	// is a [LatencyLoad]; 0: unknown.
	Latency time.Duration

	traits             // zero: not known
	unasked *latencies // who is asked for Latency; nil: it is there, see latency
}

// traits are what balancers want to know of a replica and would else work out for each
// read.
type traits struct {
	weight uint64 // see Weight
	hash   uint64 // of its name
	shown  int64  // ReplayedAt, in ns since columns.base; 0: it has to be looked at
}

// MaxWeight is the highest weight; a larger one counts as MaxWeight, so that
// sums and products of weights cannot overflow.
const MaxWeight = 1 << 20

// Weight is the replica's weight from 1 to [MaxWeight]; 0 counts as 1.
func (c *Candidate) Weight() uint64 {
	if c.weight > 0 {
		return c.weight
	}
	return c.Replica.share()
}

// share is what Weight says of r.
func (r *Replica) share() uint64 { return uint64(min(max(r.Weight, 1), MaxWeight)) }

// Rules are what a [Decider] decides by.
type Rules struct {
	Limits Limits
	// Policies object in addition to the rules of the core; nil entries are
	// passed over.
	Policies []Policy
	// Balancer picks among the candidates. Defaults to [LeastInFlight].
	Balancer Balancer
}
