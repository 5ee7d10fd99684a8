package policy_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/policy/policytest"
)

func TestAffinityKeepsTheContract(t *testing.T) {
	policytest.Balancer(t, policy.Affinity(nil))
	policytest.Balancer(t, policy.Affinity(policy.RoundRobin()))
	policytest.Balancer(t, policy.ZoneFirst(policy.Affinity(policy.Random())))
	assert.Equal(t, "affinity(round_robin)", policy.Affinity(policy.RoundRobin()).Name())
}

// users asks who serves each of n users, among replicas with these weights; a
// negative weight is a replica that is away.
func users(n int, weights ...int) []string {
	chosen := make([]string, n)
	var c []policy.Candidate
	for i, w := range weights {
		if w >= 0 {
			c = append(c, policy.Candidate{Index: i, Replica: &policy.Replica{Name: fmt.Sprintf("pg%d", i+2), Weight: w}})
		}
	}
	b := policy.Affinity(nil)
	for u := range n {
		offered := append([]policy.Candidate(nil), c...)
		chosen[u] = offered[b.Pick(&policy.Query{Affinity: uint64(u + 1), Random: uint64(u), Ticket: uint64(u)}, offered)].Replica.Name
	}
	return chosen
}

// Users are spread by weight; one of them stays where it is whatever chance, turn and
// order the candidates come in.
func TestAffinitySpreadsUsers(t *testing.T) {
	const n = 20_000
	for _, weights := range [][]int{{1, 1}, {0, 0, 0}, {1, 1, 1, 1, 1, 1, 1}, {1, 2}, {5, 1, 2}, {10, 1, 1}} {
		sum := 0
		for _, w := range weights {
			sum += max(w, 1)
		}
		got := map[string]int{}
		for _, name := range users(n, weights...) {
			got[name]++
		}
		for i, w := range weights {
			want := float64(n*max(w, 1)) / float64(sum)
			assert.InDelta(t, want, got[fmt.Sprintf("pg%d", i+2)], want/10, "weights %v, replica %d", weights, i)
		}
	}
	a, b := policy.Replica{Name: "a"}, policy.Replica{Name: "b"}
	for u := range uint64(100) {
		there := []policy.Candidate{{Replica: &a}, {Index: 1, Replica: &b, InFlight: 9}}
		back := []policy.Candidate{{Index: 1, Replica: &b}, {Replica: &a, InFlight: 7}}
		first := there[policy.Affinity(nil).Pick(&policy.Query{Affinity: u + 1, Random: u}, there)].Replica
		again := back[policy.Affinity(nil).Pick(&policy.Query{Affinity: u + 1, Ticket: u}, back)].Replica
		require.Same(t, first, again)
	}
}

// When a replica is away its own users move and nobody else, to all others, and they
// return with it.
func TestAffinityMovesOnlyTheUsersOfWhoIsGone(t *testing.T) {
	const n = 10_000
	before, without := users(n, 1, 1, 1, 1), users(n, 1, -1, 1, 1)
	to := map[string]int{}
	for u := range before {
		if before[u] == "pg3" {
			to[without[u]]++
			continue
		}
		require.Equal(t, before[u], without[u], "user %d", u)
	}
	moved := to["pg2"] + to["pg4"] + to["pg5"]
	assert.InDelta(t, n/4, moved, n/40)
	for _, name := range []string{"pg2", "pg4", "pg5"} {
		assert.InDelta(t, moved/3, to[name], float64(moved)/30, name)
	}
	assert.Equal(t, before, users(n, 1, 1, 1, 1))
}

// A replica that comes back gets its users one by one, each for good.
func TestAffinityDuringASlowStart(t *testing.T) {
	now := time.Now()
	limits := policy.Limits{MaxLag: time.Second, MaxSampleAge: time.Second, SlowStart: 10 * time.Second}
	d := policy.NewDecider(policy.Rules{Limits: limits, Balancer: policy.Affinity(nil)})
	home := func(u int, after time.Duration, random uint64) string {
		s := policy.Snapshot{}
		for _, name := range []string{"a", "b"} {
			s.Replicas = append(s.Replicas, policy.Replica{Name: name, Role: policy.RoleStandby, Up: true, Sampled: now, ReplayedAt: now, Applied: at(1)})
		}
		s.Replicas[1].Since = now.Add(-after)
		got := d.Decide(&policy.Query{Statement: policy.Read, Affinity: uint64(u+1) << 20, Random: random}, &s, nil, now)
		require.Equal(t, policy.ToReplica, got.Target)
		return s.Replicas[got.Replica].Name
	}
	last := -1
	for _, after := range []time.Duration{0, 3 * time.Second, 6 * time.Second, 10 * time.Second} {
		n := 0
		for u := range 1000 {
			where := home(u, after, uint64(u))
			require.Equal(t, where, home(u, after, ^uint64(u)<<7), "not by chance")
			if where == "b" {
				n++
				require.Equal(t, "b", home(u, after+time.Second, 3), "who is back stays")
			}
		}
		require.Greater(t, n, last)
		last = n
	}
	assert.InDelta(t, 500, last, 60)
}

// The request of one session is held where OneServer would hold it.
func TestKeepServer(t *testing.T) {
	now := time.Now()
	s := policy.Snapshot{Replicas: []policy.Replica{
		{Name: "a", Role: policy.RoleStandby, Up: true, Sampled: now, ReplayedAt: now, Applied: at(5)},
		{Name: "b", Role: policy.RoleStandby, Up: true, Sampled: now, ReplayedAt: now, Applied: at(7)},
	}}
	core := policy.NewDecider(policy.Rules{Limits: policy.Limits{MaxLag: time.Second, MaxSampleAge: time.Second}})
	listed := policy.NewDecider(policy.Rules{Limits: policy.Limits{MaxLag: time.Second, MaxSampleAge: time.Second}, Policies: []policy.Policy{policy.OneServer()}})
	for name, c := range map[string]struct {
		q    policy.Query
		want policy.Decision
	}{
		"on the first":              {policy.Query{Held: 1}, policy.Decision{Target: policy.ToReplica, Replica: 0, Reason: policy.ReasonWithinLag}},
		"on the second":             {policy.Query{Held: 2}, policy.Decision{Target: policy.ToReplica, Replica: 1, Reason: policy.ReasonWithinLag}},
		"on the primary":            {policy.Query{Held: -1}, policy.Decision{Reason: policy.ReasonHeldElsewhere}},
		"own write on another":      {policy.Query{Held: 1, Need: at(6)}, policy.Decision{Reason: policy.ReasonBehindSession}},
		"own write there":           {policy.Query{Held: 2, Need: at(6)}, policy.Decision{Target: policy.ToReplica, Replica: 1, Reason: policy.ReasonCaughtUp}},
		"lifted by AnyReplica":      {policy.Query{Held: -1, Mode: policy.AnyReplica}, policy.Decision{Target: policy.ToReplica, Replica: 1, Reason: policy.ReasonAnyReplica}},
		"its server is gone, again": {policy.Query{Held: 2, Exclude: 2}, policy.Decision{Reason: policy.ReasonFailedThisRead}},
	} {
		c.q.Statement, c.q.Random = policy.Read, 1<<63
		want := c.want
		byPolicy := listed.Decide(&c.q, &s, nil, now)
		require.Equal(t, want, byPolicy, "%s: by the policy", name)
		c.q.KeepServer = true
		require.Equal(t, want, core.Decide(&c.q, &s, nil, now), name)
		require.Equal(t, want, core.Explain(&c.q, &s, nil, now).Decision, name)
	}
}

// Users keep their replica from one version to the next: while a fleet is updated process
// by process, both choose for the same users. What is expected was picked by the first.
func TestAffinityOfEarlierVersions(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		weights [5]int
		want    string
	}{
		{[5]int{}, "131133431402431420232032322443424430304442044014220030121001"},
		{[5]int{3, 3, 3, 3, 3}, "131133431402431420232032322443424430304442044014220030121001"},
		{[5]int{1, 2, 3, 4, 5}, "232433434402431420432132342443424433344444344034223031121043"},
	} {
		s := fleet(len(c.weights), now)
		for i, w := range c.weights {
			s.Replicas[i].Name, s.Replicas[i].Weight = fmt.Sprintf("replica-%d", i), w
		}
		d := policy.NewDecider(policy.Rules{Limits: limits, Balancer: policy.Affinity(nil)})
		for _, prepared := range []bool{false, true} {
			if prepared {
				s.Prepare(now)
			}
			got := ""
			for user := range uint64(len(c.want)) {
				q := &policy.Query{Statement: policy.Read, Affinity: (user + 1) * 0x9e3779b97f4a7c15}
				got += strconv.Itoa(d.Decide(q, s, nil, now).Replica)
			}
			assert.Equal(t, c.want, got, "weights %v, prepared %v", c.weights, prepared)
		}
	}
}
