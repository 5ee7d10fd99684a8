package policy_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/policy"
)

type server struct {
	zone     string
	weight   int
	inFlight int64
	latency  time.Duration
	behind   time.Duration
}

var replayed = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

func offered(servers ...server) []policy.Candidate {
	c := make([]policy.Candidate, len(servers))
	for i, s := range servers {
		c[i] = policy.Candidate{Index: i, Replica: &policy.Replica{Zone: s.zone, Weight: s.weight, ReplayedAt: replayed.Add(-s.behind)}, InFlight: s.inFlight, Latency: s.latency}
	}
	return c
}

// shares returns how often each server is picked in n tickets, with chance
// spread evenly.
func shares(b policy.Balancer, n uint64, zone string, servers ...server) []int {
	got := make([]int, len(servers))
	for ticket := range n {
		c := offered(servers...)
		q := policy.Query{Zone: zone, Ticket: ticket, Random: math.MaxUint64 / n * ticket}
		got[c[b.Pick(&q, c)].Index]++
	}
	return got
}

func TestRandomFollowsWeights(t *testing.T) {
	assert.InDeltaSlice(t, []int{1000, 1000, 1000}, shares(policy.Random(), 3000, "", server{}, server{}, server{}), 1)
	assert.InDeltaSlice(t, []int{500, 2000, 500}, shares(policy.Random(), 3000, "", server{weight: 1}, server{weight: 4}, server{weight: -7}), 1)
}

func TestRoundRobinIsExact(t *testing.T) {
	assert.Equal(t, []int{7, 7, 7}, shares(policy.RoundRobin(), 21, "", server{}, server{}, server{}))
	assert.Equal(t, []int{5, 1, 1}, shares(policy.RoundRobin(), 7, "", server{weight: 5}, server{}, server{}))
	assert.Equal(t, []int{100, 1}, shares(policy.RoundRobin(), 101, "", server{weight: 100}, server{}))
	for _, sum := range []int{2, 3, 4, 5, 6, 7, 10, 12, 30, 64, 97, 128, 210, 1000} {
		assert.Equal(t, []int{3 * (sum - 1), 3}, shares(policy.RoundRobin(), uint64(3*sum), "", server{weight: sum - 1}, server{}), sum)
	}
}

func TestRoundRobinTakesEqualsInOrder(t *testing.T) {
	for ticket, want := range []int{0, 1, 2, 0, 1, 2, 0} {
		assert.Equal(t, want, policy.RoundRobin().Pick(&policy.Query{Ticket: uint64(ticket)}, offered(server{}, server{weight: 1}, server{})))
	}
}

// A heavy server's turns are spread: not half of a run on one server and then
// the other half on another.
func TestRoundRobinSpreadsTurns(t *testing.T) {
	longest, run, last := 0, 0, -1
	for ticket := range uint64(200) {
		c := offered(server{weight: 50}, server{weight: 50})
		i := policy.RoundRobin().Pick(&policy.Query{Ticket: ticket}, c)
		if i != last {
			run, last = 0, i
		}
		run++
		longest = max(longest, run)
	}
	assert.LessOrEqual(t, longest, 2)
}

func TestLeastInFlight(t *testing.T) {
	for _, c := range []struct {
		name    string
		servers []server
		want    []int // of 300 reads
	}{
		{"the least busy", []server{{inFlight: 2}, {inFlight: 1}, {inFlight: 3}}, []int{0, 300, 0}},
		{"for its weight", []server{{inFlight: 2}, {inFlight: 3, weight: 2}, {inFlight: 4}}, []int{0, 300, 0}},
		{"the first and the last are equal", []server{{inFlight: 1}, {inFlight: 2}, {inFlight: 1}}, []int{150, 0, 150}},
		{"equal for their weights, shared by weight", []server{{inFlight: 1}, {inFlight: 2, weight: 2}, {inFlight: 9, weight: 2}}, []int{100, 200, 0}},
		{"idle, shared by weight", []server{{weight: 1}, {weight: 2}, {weight: 3}}, []int{50, 100, 150}},
		{"a weight of 0 counts as 1", []server{{weight: 0}, {weight: 1}, {weight: -1}}, []int{100, 100, 100}},
		{"products that would overflow", []server{{inFlight: math.MaxInt64, weight: 1}, {inFlight: 1, weight: math.MaxInt}}, []int{0, 300}},
		{"a count below zero is zero", []server{{inFlight: -5}, {inFlight: 0}}, []int{150, 150}},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.InDeltaSlice(t, c.want, shares(policy.LeastInFlight(), 300, "", c.servers...), 1)
		})
	}
}

func TestWeight(t *testing.T) {
	for weight, want := range map[int]uint64{math.MinInt: 1, -1: 1, 0: 1, 1: 1, 7: 7, policy.MaxWeight: policy.MaxWeight, math.MaxInt: policy.MaxWeight} {
		c := policy.Candidate{Replica: &policy.Replica{Weight: weight}}
		assert.Equal(t, want, c.Weight(), weight)
	}
}
