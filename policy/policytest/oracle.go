package policytest

import (
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// MayServe reports whether the core's rules let replica i serve q: what must be
// true of every replica that any decision names, whatever policies and balancers
// are configured; of a balanced name, whether the read may be sent to find out there
// ([Checked]). It is written as one formula and shares no code with the
// [policy.Decider], so that one can convict the other.
func MayServe(limits policy.Limits, q *policy.Query, s *policy.Snapshot, i int, now time.Time) bool {
	return mayServe(limits, q, s, i, now, s.Primary.Lost && !limits.RefuseWhenLost && q.AtMost == 0)
}

func mayServe(limits policy.Limits, q *policy.Query, s *policy.Snapshot, i int, now time.Time, lifted bool) bool {
	return ReplicaAsked(q, s) && couldServe(limits, q, s, i, now, lifted) && shows(q, &s.Replicas[i])
}

// Checked reports whether what q asks of replica i must be found out on the
// connection that it runs on, as [policy.Decision.Check] has to say.
func Checked(q *policy.Query, s *policy.Snapshot, i int) bool {
	r := &s.Replicas[i]
	return r.Balanced && q.Mode != policy.AnyReplica && !(r.Role == policy.RolePrimary && r.AllowPrimary)
}

// ReplicaAsked reports whether the core lets q use any replica at all.
func ReplicaAsked(q *policy.Query, s *policy.Snapshot) bool {
	wanted := !q.PreferPrimary || q.AtMost != 0 || q.Group != "" ||
		q.Mode == policy.UseReplica || q.Mode == policy.Stale || q.Mode == policy.AnyReplica
	known := q.Mode == policy.Normal || q.Mode == policy.UseReplica || q.Mode == policy.Stale || q.Mode == policy.AnyReplica
	judgeable := q.Mode == policy.AnyReplica || !(q.Unsure || q.Foreign || q.Pending)
	return q.Statement == policy.Read && known && wanted && judgeable && q.Withheld == policy.ReasonNone &&
		slices.ContainsFunc(s.Replicas, func(r policy.Replica) bool { return !r.Gone })
}

// couldServe is everything but the session's own writes.
func couldServe(limits policy.Limits, q *policy.Query, s *policy.Snapshot, i int, now time.Time, lifted bool) bool {
	r := &s.Replicas[i]
	anything := q.Mode == policy.AnyReplica
	primary := r.Role == policy.RolePrimary && r.AllowPrimary

	right := q.Exclude&(1<<(i%64)) == 0 && (q.Only == 0 || q.Only == i+1) && (q.Group == "" && !r.Reserved || q.Group != "" && slices.Contains(r.Groups, q.Group)) &&
		(r.Role == policy.RoleStandby || primary || r.Role == policy.RoleLogical && askedOfLogical(q))
	right = right && (!q.KeepServer || anything || q.Held == 0 || q.Held == i+1)
	// With nobody else left, who is ejected is tried.
	right = right && !r.Gone && !r.Drained && (q.TryEjected || s.Primary.Lost || !r.EjectedUntil.After(now))
	known := r.Up && !r.Sampled.IsZero() && !r.Sampled.Add(limits.MaxSampleAge).Before(now)
	recent := anything || r.Balanced || primary || q.Mode == policy.Stale || lifted ||
		r.Applied != (lsn.Position{}) && !r.ReplayedAt.IsZero() &&
			!r.ReplayedAt.Add(limits.MaxLag-r.Margin).Before(now) &&
			(q.AtMost == 0 || !r.ReplayedAt.Add(q.AtMost-r.Margin).Before(now))
	return right && known && recent
}

// askedOfLogical reports whether q asks for nothing that a server without positions
// cannot prove.
func askedOfLogical(q *policy.Query) bool {
	nothing := q.Mode == policy.AnyReplica || q.Mode == policy.Stale && q.Need == (lsn.Position{}) && !q.Monotonic
	return q.Group != "" && nothing
}

// shows is the session's own writes.
func shows(q *policy.Query, r *policy.Replica) bool {
	// What stands behind a balanced name is found out on the connection.
	return q.Mode == policy.AnyReplica || r.Balanced || r.Role == policy.RolePrimary && r.AllowPrimary ||
		q.Need == (lsn.Position{}) ||
		q.Need.LSN > 0 && q.Need.History != (lsn.History{}) &&
			r.Applied.History == q.Need.History && r.Applied.LSN >= q.Need.LSN
}

// WaitMayHelp reports whether replica i lacks nothing but the session's own
// writes, and whether its recent pace says that it will have them in time.
func WaitMayHelp(limits policy.Limits, q *policy.Query, s *policy.Snapshot, i int, now time.Time) bool {
	r := &s.Replicas[i]
	left := limits.MaxWait - max(q.Waited, 0)
	behind := r.Applied.LSN > 0 && r.Applied.History != (lsn.History{}) &&
		r.Applied.History == q.Need.History && r.Applied.LSN < q.Need.LSN
	return ReplicaAsked(q, s) && couldServe(limits, q, s, i, now, false) && !shows(q, r) && behind && !r.NoPosition &&
		left > 0 && r.CatchUp <= left && !r.Paused
}
