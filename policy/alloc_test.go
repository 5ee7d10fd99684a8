package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/policy"
)

// A read that is routed must cost no more memory than one that is not. The
// race detector drops a part of what is pooled; the average is still below one.
func TestDecideAllocatesNothing(t *testing.T) {
	now := time.Now()
	var load policy.Load = make(flat, 1000)
	policies := []policy.Policy{
		policy.Sticky(time.Second), policy.RestOfRequest(), policy.OneServer(), policy.MaxLag(time.Second),
		policy.MaxBytes(1 << 30), policy.SampleAge(time.Second), policy.CaughtUp(),
	}
	for _, b := range []policy.Balancer{policy.Random(), policy.RoundRobin(), policy.LeastInFlight(), policy.ZoneFirst(policy.RoundRobin()), policy.ZoneFirst(policy.Latency()), policy.LeastBehind(0, nil)} {
		d := policy.NewDecider(policy.Rules{Limits: limits, Policies: policies, Balancer: b})
		for i, n := range []int{1, 3, 1000, 1, 3, 1000} {
			s := fleet(n, now)
			if i >= 3 {
				s.Prepare(now)
				d = policy.NewDecider(policy.Rules{Limits: limits, Balancer: b}) // policies are asked each replica
			}
			for name, q := range map[string]*policy.Query{
				"replica": {Statement: policy.Read, Zone: "z1", Group: "all", Need: at(900)},
				"wait":    {Statement: policy.Read, Need: at(2000)},
				"primary": {Statement: policy.Write},
			} {
				assert.Zero(t, testing.AllocsPerRun(100, func() { d.Decide(q, s, load, now) }), "%s %d %s", b.Name(), n, name)
			}
		}
	}
}
