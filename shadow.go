package readsplit

import (
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// shadow counts what a decision in shadow mode would have meant.
func (rt *router) shadow(q *query, snap *policy.Snapshot, d policy.Decision) {
	c := &rt.counters
	if d.Target == policy.ToReplica {
		c.shadowReplica.Add(1)
	} else {
		c.shadowPrimary.Add(1)
	}
	if rt.blindlyStale(q, snap) {
		c.shadowStale.Add(1)
	}
}

// blindlyStale reports whether a split that takes the replicas in turn, and knows
// nothing of positions, would not have been shown to read what the read asked for:
// its session's own writes, and nothing older than MaxLag.
func (rt *router) blindlyStale(q *query, snap *policy.Snapshot) bool {
	if q.Mode == policy.AnyReplica || q.Mode == policy.Fresh {
		return false
	}
	n := uint64(len(snap.Replicas))
	for k := range n {
		r := &snap.Replicas[(q.Ticket+k)%n]
		if !r.Up || r.Gone || r.Drained {
			continue
		}
		switch {
		case q.Pending || q.Ahead || q.Unsure || q.Foreign || q.Waited > 0:
			return true
		case !q.Need.Zero():
			if c := lsn.Compare(r.Applied, q.Need); c != lsn.Equal && c != lsn.After {
				return true
			}
		}
		lag, ok := r.Lag(time.Now())
		return q.Mode != policy.Stale && rt.cfg.MaxLag != Off && (!ok || lag > rt.cfg.MaxLag)
	}
	return false
}
