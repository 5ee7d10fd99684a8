package policy_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/policy/policytest"
)

func byChance(b policy.Balancer, n int, servers ...server) []int {
	r := rand.New(rand.NewPCG(13, 14))
	got := make([]int, len(servers))
	given := offered(servers...)
	c := make([]policy.Candidate, len(given))
	for range n {
		copy(c, given)
		got[c[b.Pick(&policy.Query{Random: r.Uint64()}, c)].Index]++
	}
	return got
}

func TestLatency(t *testing.T) {
	for _, c := range []struct {
		name    string
		servers []server
		want    []float64
	}{
		{"the fastest", []server{{latency: 5 * ms}, {latency: ms}, {latency: 2 * ms}}, []float64{0, 1, 0}},
		{"times one plus what is in flight", []server{{latency: 2 * ms, inFlight: 1}, {latency: ms, inFlight: 6}}, []float64{1, 0}},
		{"for its weight", []server{{latency: ms, inFlight: 4, weight: 4}, {latency: ms, inFlight: 3}}, []float64{1, 0}},
		{"a fifth is noise", []server{{latency: 10 * ms}, {latency: 8 * ms}}, []float64{0.5, 0.5}},
		{"noise leaves the weights", []server{{latency: 10 * ms, weight: 9}, {latency: 8 * ms}}, []float64{0.9, 0.1}},
		{"idle and equal, by weight", []server{{latency: ms, weight: 6}, {latency: ms, weight: 3}, {latency: ms}}, []float64{0.6, 0.3, 0.1}},
		{"nothing is known, by weight", []server{{weight: 6}, {weight: 3}, {}}, []float64{0.6, 0.3, 0.1}},
		{"nothing is known: the least busy", []server{{inFlight: 3}, {inFlight: 1}, {inFlight: 2}}, []float64{0, 1, 0}},
		{"who was not measured is tried", []server{{latency: ms}, {}}, []float64{0, 1}},
		{"by one read", []server{{latency: time.Second, inFlight: 50}, {inFlight: 1}}, []float64{1, 0}},
		{"two are being measured", []server{{inFlight: 2}, {inFlight: 1}}, []float64{0, 1}},
		{"a latency below zero is none", []server{{latency: -5}, {latency: ms}}, []float64{1, 0}},
	} {
		got := byChance(policy.Latency(), 10_000, c.servers...)
		for i, want := range c.want {
			assert.InDelta(t, want, float64(got[i])/10_000, 0.015, "%s: %v", c.name, got)
		}
	}
}

// Of the reads that decide on the same counts, at most 3/n find the same of n servers.
// (All of them do under LeastInFlight, see policytest.)
func TestHerds(t *testing.T) {
	policytest.Balancer(t, policy.Latency(), policytest.HerdsAtMost(3.0/8*1.03))
	policytest.Balancer(t, policy.RoundRobin(), policytest.HerdsAtMost(1.0/8))
}

// Chance is even: the squared differences from the shares by weight, of 30,000 reads,
// are what chance gives in 999 of 1,000 cases.
func TestChanceIsEven(t *testing.T) {
	// The 99.9th percentile of chi-square with 2, 3 and 7 degrees of freedom.
	limit := map[int]float64{3: 13.82, 4: 16.27, 8: 24.32}
	for _, b := range []policy.Balancer{policy.Random(), policy.LeastInFlight(), policy.Latency(), policy.LeastBehind(0, nil), policy.ZoneFirst(policy.Random())} {
		for _, weights := range [][]int{{1, 1, 1}, {1, 2, 3, 4}, {1, 1, 1, 1, 1, 1, 1, 1}, {50, 1, 9}} {
			const n = 30_000
			var servers []server
			sum := 0
			for _, w := range weights {
				servers = append(servers, server{weight: w, latency: ms})
				sum += w
			}
			chi := 0.0
			for i, got := range byChance(b, n, servers...) {
				want := float64(n*weights[i]) / float64(sum)
				chi += (float64(got) - want) * (float64(got) - want) / want
			}
			assert.Less(t, chi, limit[len(weights)], "%s %v", b.Name(), weights)
		}
	}
}

// The Decider hands latencies on, and asks for none where the Load knows none.
func TestDeciderKnowsLatencies(t *testing.T) {
	now := time.Now()
	d := policy.NewDecider(policy.Rules{Limits: limits, Balancer: policy.Latency()})
	q := &policy.Query{Statement: policy.Read}
	for range 50 {
		q.Random += 0x9e3779b97f4a7c15
		assert.Equal(t, 1, d.Decide(q, fleet(2, now), timed{30 * ms, ms}, now).Replica)
		assert.Equal(t, 0, d.Decide(q, fleet(2, now), flat{0, 5}, now).Replica)
	}
}

type timed []time.Duration

func (timed) InFlight(int) int64 { return 0 }

func (l timed) Latency(i int, _ time.Time) time.Duration { return l[i] }
