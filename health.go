package readsplit

import (
	"time"

	"github.com/readsplit/readsplit/policy"
)

// trialEvery is the shortest time between two reads that try an ejected replica.
const trialEvery = 100 * time.Millisecond

// tryEjected sends a read that would go to the primary to a replica that is
// ejected, where no other read tries that one already, or did a moment ago. When all replicas are
// ejected, the first read that succeeds brings one back at once, while the others
// do not pay an attempt each on a server that most likely still fails.
func (r *route) tryEjected(q *query, snap *policy.Snapshot, d policy.Decision) policy.Decision {
	now := time.Now()
	for i := range snap.Replicas {
		if !now.Before(snap.Replicas[i].EjectedUntil) || q.Excludes(i) {
			continue
		}
		q.TryEjected = true
		again := r.router.decider.Decide(&q.Query, snap, r.router, now)
		q.TryEjected = false
		if again.Target != policy.ToReplica {
			return d
		}
		s := r.router.replicas()[again.Replica]
		last := s.tried.Load()
		if now.UnixNano()-last < int64(trialEvery) || !s.trial.CompareAndSwap(false, true) {
			return d
		}
		s.tried.Store(now.UnixNano())
		r.strays().trial = true
		return again
	}
	return d
}
