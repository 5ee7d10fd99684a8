package policytest

import (
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/readsplit/readsplit/policy"
)

// checkTotal compares a decision with that of a balancer that is known to be right:
// which replica is a balancer's affair, whether one serves the read is not.
func (f *findings) checkTotal(got policy.Decision, c *Case) {
	d := policy.NewDecider(policy.Rules{Limits: c.Limits, Balancer: policy.Random()})
	if got.Reason == policy.ReasonStatedLag && !c.Snapshot.Replicas[got.Replica].NoPosition {
		f.add("a decision is %s for a replica that tells its position", got.Reason)
	}
	if want := d.Decide(&c.Query, &c.Snapshot, c.Load, c.Now); got.Target != want.Target || proven(got.Reason, &c.Query) != proven(want.Reason, &c.Query) {
		f.add("a decision is %v (%s): want %v (%s), as with any other balancer", got.Target, got.Reason, want.Target, want.Reason)
	}
}

// checkAllocations looks for one moment in which nothing is allocated: whatever else
// the program does meanwhile may allocate, but a pick that does always shows.
func (f *findings) checkAllocations(b policy.Balancer) {
	const picks, moments = 10, 1000
	r := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{2, policy.MaxCandidates} {
		o := busy(n)
		o.query.Random, o.query.Affinity = r.Uint64(), r.Uint64()
		list := make([]policy.Candidate, n)
		var before, after runtime.MemStats
		least := uint64(picks)
		for i := 0; i < moments && least > 0; i++ {
			runtime.ReadMemStats(&before)
			for range picks {
				copy(list, o.list)
				_ = b.Pick(&o.query, list)
			}
			runtime.ReadMemStats(&after)
			least = min(least, after.Mallocs-before.Mallocs)
		}
		if least >= picks {
			f.add("allocates memory to pick one of %d candidates: every read would pay for it", n)
		}
	}
}

// busy is a list of candidates of one zone of which each has a different load.
func busy(n int) offer {
	o := offer{query: policy.Query{Zone: "east"}}
	for i := range n {
		o.list = append(o.list, policy.Candidate{
			Index: i, InFlight: int64(i), Latency: time.Duration(i+4) * time.Millisecond,
			Replica: &policy.Replica{Zone: "east", Weight: 1},
		})
	}
	return o
}

func (f *findings) checkHerd(b policy.Balancer, share float64) {
	r := rand.New(rand.NewPCG(11, 12))
	o := busy(8)
	list, got := make([]policy.Candidate, len(o.list)), make([]int, len(o.list))
	for ticket := range uint64(reads) {
		o.query.Random, o.query.Ticket = r.Uint64(), ticket
		copy(list, o.list)
		if i := b.Pick(&o.query, list); i >= 0 && i < len(list) {
			got[list[i].Index]++
		}
	}
	most := 0
	for _, n := range got {
		most = max(most, n)
	}
	if float64(most) > share*reads {
		f.add("%d of %d reads that decide at the same moment find the same of %d candidates: want at most %.0f", most, reads, len(got), share*reads)
	}
}

// proven is the reason that r is for a replica that tells its position: whether the one
// that was picked does is a balancer's affair too.
func proven(r policy.Reason, q *policy.Query) policy.Reason {
	switch {
	case r != policy.ReasonStatedLag:
		return r
	case q.Mode == policy.Stale:
		return policy.ReasonStale
	case q.Need.Zero():
		return policy.ReasonWithinLag
	case q.Waited > 0:
		return policy.ReasonWaited
	}
	return policy.ReasonCaughtUp
}
