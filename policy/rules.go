package policy

import (
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// The rules of the core about one replica. The exported policies use the same
// functions, so that both always mean the same.

func ruleUntried(q *Query, index int) Reason {
	if q.Exclude>>(uint(index)%64)&1 != 0 {
		return ReasonFailedThisRead
	}
	return ReasonNone
}

func ruleGroup(q *Query, r *Replica) Reason {
	if q.Group == "" || r.in(q.Group) {
		return ReasonNone
	}
	return ReasonNotInGroup
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
	case r.Role == RoleStandby || r.standsIn():
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

func ruleSingle(q *Query, r *Replica) Reason {
	if r.Balanced && q.Mode != AnyReplica && !r.standsIn() {
		return ReasonBalanced
	}
	return ReasonNone
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
		return ReasonBehindSession
	}
	if r.Applied.LSN == 0 || r.Applied.History.Zero() {
		return ReasonUnprovenHistory
	}
	return ReasonOtherHistory
}
