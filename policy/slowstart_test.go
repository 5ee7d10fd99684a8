package policy_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/policy"
)

// A replica that came back gets a tenth of its share at once and all of it at the
// end, under every balancer: the chance of the slow start must be another one than
// the balancer's.
func TestSlowStartGrows(t *testing.T) {
	now := time.Now()
	standby := func(name string, since time.Time) policy.Replica {
		return policy.Replica{Name: name, Role: policy.RoleStandby, Up: true, Sampled: now, Since: since}
	}
	for _, b := range []policy.Balancer{policy.Random(), policy.RoundRobin(), policy.LeastInFlight(), policy.Latency(), policy.LeastBehind(0, nil), policy.ZoneFirst(nil)} {
		d := policy.NewDecider(policy.Rules{Limits: policy.Limits{MaxLag: time.Second, MaxSampleAge: time.Second, SlowStart: 10 * time.Second}, Balancer: b})
		for back, want := range map[time.Duration]float64{0: 0.05, time.Second: 0.05, 5 * time.Second: 0.25, 9 * time.Second: 0.45, 10 * time.Second: 0.5, time.Hour: 0.5} {
			s := &policy.Snapshot{Replicas: []policy.Replica{standby("a", time.Time{}), standby("b", now.Add(-back))}}
			rng := rand.New(rand.NewPCG(3, 4))
			got := 0
			const reads = 10_000
			for i := range reads {
				decision := d.Decide(&policy.Query{Statement: policy.Read, Mode: policy.Stale, Random: rng.Uint64(), Ticket: uint64(i)}, s, nil, now)
				if decision.Target != policy.ToReplica {
					require.FailNow(t, "a read found nobody")
				}
				got += decision.Replica
			}
			assert.InDelta(t, want, float64(got)/reads, 0.02, "%s, back for %v", b.Name(), back)
		}
	}
}

func TestTraffic(t *testing.T) {
	share := func(traffic policy.Traffic) float64 {
		rng := rand.New(rand.NewPCG(5, 6))
		kept := 0
		for range 50_000 {
			if traffic.Withholds(rng.Uint64()) == policy.ReasonPercent {
				kept++
			}
		}
		return float64(kept) / 50_000
	}
	assert.Zero(t, share(policy.Traffic{}))
	assert.Zero(t, share(policy.Traffic{Percent: 100}))
	assert.InDelta(t, 0.99, share(policy.Traffic{Percent: 1}), 0.005)
	assert.InDelta(t, 0.25, share(policy.Traffic{Percent: 75}), 0.01)
	assert.Equal(t, policy.ReasonKillSwitch, policy.Traffic{KillSwitch: true, Percent: 100}.Withholds(0))

	require.NoError(t, policy.Traffic{Percent: 100}.Validate())
	for _, bad := range []int{-1, 101} {
		require.ErrorContains(t, policy.Traffic{Percent: bad}.Validate(), "Traffic.Percent is")
	}
}
