package policy

import (
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// The rules of the core about one replica. The exported policies use the same
// functions, so that both always mean the same.

func ruleUntried(q *Query, index int) Reason {
	if q.Excludes(index) || q.Only != 0 && q.Only != index+1 {
		return ReasonFailedThisRead
	}
	return ReasonNone
}

func ruleGroup(q *Query, r *Replica) Reason {
	switch {
	case q.Group == "" && r.Reserved:
		return ReasonReserved
	case q.Group == "" || r.in(q.Group):
		return ReasonNone
	}
	return ReasonNotInGroup
}

func ruleDrained(r *Replica) Reason {
	if r.Drained || r.Gone {
		return ReasonDrained
	}
	return ReasonNone
}

// ruleEjected leaves a server alone on which reads failed one after the other,
// although its probes succeed: without it every read would pay an attempt there.
func ruleEjected(r *Replica, now time.Time) Reason {
	if now.Before(r.EjectedUntil) {
		return ReasonEjected
	}
	return ReasonNone
}

// ruleSlowStart gives a server that came back a share of its reads that grows to
// all of them: its caches are cold, and all at once could throw it out again. The
// chance is the query's own, and another one than the balancer's, which would
// otherwise choose among few of its numbers.
func ruleSlowStart(q *Query, r *Replica, index int, now time.Time, over time.Duration) Reason {
	if r.Since.IsZero() || over <= 0 {
		return ReasonNone
	}
	passed := now.Sub(r.Since)
	if passed >= over {
		return ReasonNone
	}
	share := max(float64(passed)/float64(over), leastShare)
	random := q.Random
	if q.Affinity != 0 {
		random = q.Affinity // its users come back one by one, and each for good
	}
	if chance(random, index) < share {
		return ReasonNone
	}
	return ReasonSlowStart
}

// leastShare is the share of its reads that a server gets as soon as it is back.
const leastShare = 0.1

// chance is a number in [0, 1) that follows from a random number and an index.
func chance(random uint64, index int) float64 {
	x := (random + uint64(index+1)*0x9e3779b97f4a7c15)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) / (1 << 53)
}

func (r *Replica) in(group string) bool {
	for _, g := range r.Groups {
		if g == group {
			return true
		}
	}
	return false
}

// standsIn reports whether r is a primary that was allowed to stand in for a
// replica. It shows every write at once; only its being there must be proven.
func (r *Replica) standsIn() bool { return r.Role == RolePrimary && r.AllowPrimary }

func ruleRole(r *Replica) Reason {
	switch {
	case r.Role == RoleStandby || r.Role == RoleLogical || r.standsIn():
		return ReasonNone
	case r.Role == RolePrimary:
		return ReasonNotAStandby
	case r.Role == RoleForeign:
		return ReasonUnprovenHistory
	default:
		return ReasonNoNews
	}
}

func ruleUp(r *Replica) Reason {
	if r.Up {
		return ReasonNone
	}
	return ReasonDown
}

func ruleNews(r *Replica, now time.Time, maxAge time.Duration) Reason {
	switch {
	case r.Sampled.IsZero():
		return ReasonNoNews
	case now.Sub(r.Sampled) > maxAge:
		return ReasonOldNews
	}
	return ReasonNone
}

// onConnection reports whether what q asks of r has to be found out on the connection
// that the read will run on: no sample of a balanced name says anything of it.
func onConnection(q *Query, r *Replica) bool {
	return r.Balanced && q.Mode != AnyReplica && !r.standsIn()
}

// ruleHeld keeps a request on its first server.
func ruleHeld(q *Query, s *Snapshot, r *Replica) Reason {
	switch i := q.Held - 1; {
	case q.Held == 0 || q.Mode == AnyReplica:
		return ReasonNone
	case q.Held > 0 && i < len(s.Replicas) && r == &s.Replicas[i]:
		return ReasonNone
	}
	return ReasonHeldElsewhere
}

// boundless reports whether q gave up every bound on staleness.
func (q *Query) boundless() bool { return q.Mode == Stale || q.Mode == AnyReplica }

// lagBound is the bound on staleness for q: the configured one, or the tighter
// one of the read itself.
func lagBound(q *Query, maxLag time.Duration) time.Duration {
	if q.AtMost != 0 && q.AtMost < maxLag {
		return q.AtMost
	}
	return maxLag
}

func ruleLag(q *Query, r *Replica, now time.Time, bound time.Duration) Reason {
	if q.boundless() || r.standsIn() {
		return ReasonNone
	}
	lag, ok := r.Lag(now)
	switch {
	case !ok && r.NoPosition:
		return ReasonNoPosition
	case !ok:
		return ReasonLagUnknown
	case lag > bound:
		return ReasonLagging
	}
	return ReasonNone
}

func ruleBytes(q *Query, r *Replica, n uint64) Reason {
	switch {
	case q.boundless() || r.standsIn():
		return ReasonNone
	case r.NoPosition:
		return ReasonNoPosition // in bytes nothing is stated
	case r.Applied.Zero():
		return ReasonLagUnknown
	case r.BehindBytes > n:
		return ReasonBehindBytes
	}
	return ReasonNone
}

func rulePosition(q *Query, r *Replica) Reason {
	if q.Need.Zero() || q.Mode == AnyReplica || r.standsIn() {
		return ReasonNone
	}
	switch lsn.Compare(r.Applied, q.Need) {
	case lsn.Equal, lsn.After:
		return ReasonNone
	case lsn.Before:
		if r.NoPosition {
			return ReasonStickyWindow // nobody sees it catch up: a wait would be in vain
		}
		return ReasonBehindSession
	}
	if r.Applied.LSN == 0 || r.Applied.History.Zero() {
		return ReasonUnprovenHistory
	}
	return ReasonOtherHistory
}
