package readsplit

import (
	"sync/atomic"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// counters count what happens, without a lock.
type counters struct {
	onPrimary     [256]atomic.Uint64 // statements by policy.Reason
	onReplicas    [256]atomic.Uint64
	onNobody      [256]atomic.Uint64
	causes        [64]atomic.Uint64 // reads run again by retry.Cause
	conflicts     [16]atomic.Uint64 // by retry.ConflictKind
	unsure        atomic.Uint64
	otherHistory  atomic.Uint64
	voided        atomic.Uint64
	refused       atomic.Uint64
	tokensRefused atomic.Uint64
	tokensForeign atomic.Uint64
	tokensExpired atomic.Uint64
	shadowReplica atomic.Uint64
	shadowPrimary atomic.Uint64
	shadowStale   atomic.Uint64
	advice        advice
}

// count takes in that a statement outside a transaction was served by s, nil for
// the primary.
func (rt *router) count(s *server, reason policy.Reason) {
	if s != nil {
		s.reads.Add(1)
		rt.counters.onReplicas[reason].Add(1)
		return
	}
	rt.counters.onPrimary[reason].Add(1)
}

// primaryReads is how many of the statements on the primary were reads.
func (c *counters) primaryReads() (n uint64) {
	for i := range c.onPrimary {
		if r := policy.Reason(i); r != policy.ReasonWrite && r != policy.ReasonUnknownStatement {
			n += c.onPrimary[i].Load()
		}
	}
	return n
}

// replicaReads is how many reads replicas have served, those that were removed too.
func (c *counters) replicaReads() (n uint64) {
	for i := range c.onReplicas {
		n += c.onReplicas[i].Load()
	}
	return n
}

func (c *counters) retried(cause retry.Cause) { c.causes[cause].Add(1) }
