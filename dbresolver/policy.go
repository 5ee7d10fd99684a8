package dbresolver

import (
	"sync"
	"sync/atomic"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/policy"
)

// balancerOf makes a balancer of a Policy.
func (r *DBResolver) balancerOf(p Policy) policy.Balancer {
	switch p.(type) {
	case nil, RandomPolicy, *RandomPolicy:
		return policy.Random()
	}
	b := &policyBalancer{policy: p}
	r.polls = append(r.polls, b)
	return b
}

// policyBalancer asks a Policy, one call at a time: that of dbresolver which takes
// one pool after the other counts without a lock.
type policyBalancer struct {
	mu     sync.Mutex
	policy Policy
	pools  atomic.Pointer[map[string]gorm.ConnPool] // by the name of the replica
}

// Name implements policy.Balancer.
func (b *policyBalancer) Name() string { return "dbresolver" }

// Pick implements policy.Balancer.
func (b *policyBalancer) Pick(_ *policy.Query, candidates []policy.Candidate) int {
	pools := b.pools.Load()
	if pools == nil {
		return 0
	}
	offered := make([]gorm.ConnPool, len(candidates))
	for i := range candidates {
		if offered[i] = (*pools)[candidates[i].Replica.Name]; offered[i] == nil {
			return 0 // a replica that was added just now
		}
	}
	chosen := b.resolve(offered)
	for i, pool := range offered {
		if pool == chosen {
			return i
		}
	}
	return 0
}

// resolve asks the Policy. Were the lock kept when it panics, every later read
// would wait for it.
func (b *policyBalancer) resolve(offered []gorm.ConnPool) gorm.ConnPool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.policy.Resolve(offered)
}
