package readsplit

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/internal/conflicts"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// processStart is what moments within a read are counted from: a route is made for
// each statement, and a time.Time would make it larger by two words.
var processStart = time.Now()

// lastRun is the run of a read that has failed.
type lastRun struct {
	text  string // of its statement
	began time.Time
	late  bool // it was broken off at its own deadline
	trial bool // it was sent to a replica that is ejected
	pace  pace // unknown of one that failed after its first row
	// generation of the replica when it was decided.
	generation uint64
}

// weigh takes into account how a run went that failed, beside its error: whether
// it was broken off from here, and whether replay is in its way again and again.
func (r *route) weigh(ctx context.Context, v retry.Verdict, err error, run lastRun) retry.Verdict {
	kind := r.router.conflicted(err)
	switch {
	case retry.Ended(ctx):
	case run.late && !v.CountsAsWrite && v.Cause != retry.CauseServerDead:
		return retry.Verdict{Action: retry.Elsewhere, Cause: retry.CauseAttemptTimeout}
	case kind == retry.ConflictNone, kind == retry.ConflictTablespace, kind == retry.ConflictDatabase:
		// The last two cancel whoever is there, and once.
	case r.class == nil:
		now := time.Now()
		r.router.conflicts.Cancelled(run.text, run.began, now)
		if now.Sub(run.began) >= conflicts.Long {
			r.strays().conflicts = true
		}
	}
	return v
}

// conflicted counts an error that a conflict with replay has caused.
func (rt *router) conflicted(err error) retry.ConflictKind {
	kind := retry.ConflictOf(err)
	if kind != retry.ConflictNone {
		rt.counters.conflicts[kind].Add(1)
	}
	return kind
}

// aside decides for a read that would go to an ordinary replica, where replay keeps
// cancelling it: the replicas of Config.ConflictGroup, else the primary. While the
// primary is lost it is tried where it would go otherwise.
func (r *route) aside(text string, q *query, d policy.Decision, snap *policy.Snapshot) policy.Decision {
	rt := r.router
	if d.Target != policy.ToReplica || q.Group != "" || text == "" || !r.past().conflicts && (rt.conflicts.Empty() || !rt.conflicts.Avoids(text, time.Now())) {
		return d
	}
	if rt.cfg.ConflictGroup != "" && !q.stays {
		q.Group = rt.cfg.ConflictGroup
		if aside := rt.ruling(&q.Query, snap, time.Now()); aside.Target == policy.ToReplica {
			aside.Reason = policy.ReasonKeepsConflicting
			return aside
		}
	}
	if snap.Primary.Lost {
		return d
	}
	return policy.Decision{Target: policy.ToPrimary, Reason: policy.ReasonKeepsConflicting}
}
