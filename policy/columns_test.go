package policy_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/policy/policytest"
)

// TestPreparedDecidesTheSame: over random servers and queries, a snapshot that was
// prepared gives the decision, to the last field, that judging each replica by all
// rules gives; at another moment than that of its preparation too.
func TestPreparedDecidesTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(77, 7))
	balancers := []policy.Balancer{nil, policy.RoundRobin(), policy.ZoneFirst(policy.Latency()), policy.Affinity(policy.Random())}
	known, many := 0, 0
	for i := range 30_000 {
		c := policytest.Random(r)
		if i%2 == 0 {
			plain(c, r)
		}
		later := time.Duration(r.Int64N(3)) * 40 * time.Millisecond
		d := policy.NewDecider(policy.Rules{Limits: c.Limits, Balancer: balancers[i%len(balancers)]})
		want := d.Decide(&c.Query, &c.Snapshot, c.Load, c.Now)
		c.Snapshot.Prepare(c.Now.Add(-later))
		got := d.Decide(&c.Query, &c.Snapshot, c.Load, c.Now)
		require.Equal(t, want, got, "case %d: %+v", i, c)
		known += count(got.Target == policy.ToReplica || got.Reason == policy.ReasonBehindSession)
		many += count(len(c.Snapshot.Replicas) > policy.MaxCandidates && got.Target == policy.ToReplica)
	}
	assert.Greater(t, known, 7_000)
	assert.Greater(t, many, 50)
}

// plain makes most replicas of c ordinary, as they are in a fleet that is well.
func plain(c *policytest.Case, r *rand.Rand) {
	c.Query.Statement, c.Query.Pending, c.Query.Unsure, c.Query.Foreign = policy.Read, false, false, false
	for i := range c.Snapshot.Replicas {
		if x := &c.Snapshot.Replicas[i]; r.IntN(8) > 0 {
			x.Role, x.Up, x.Balanced, x.Gone, x.Drained, x.AllowPrimary = policy.RoleStandby, true, false, false, false, false
			x.EjectedUntil = time.Time{}
			if r.IntN(3) > 0 {
				x.Since = time.Time{}
			}
			if x.Applied.History == c.Snapshot.Primary.Position.History && r.IntN(2) == 0 {
				x.Sampled, x.ReplayedAt = c.Now, c.Now
			}
		}
	}
}

// Few replicas, all of them ordinary, that lack what the session needs: where looking
// at one of them may settle it for all.
func TestPreparedDecidesTheSameWhereNobodyServes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	now := time.Now()
	targets := map[policy.Target]int{}
	for i := range 30_000 {
		s := fleet(1+r.IntN(4), now)
		s.Primary.Lost = r.IntN(3) == 0
		for i := range s.Replicas {
			x := &s.Replicas[i]
			x.Applied = at(lsn.LSN(998 + r.IntN(3)))
			x.CatchUp = time.Duration(1+r.IntN(6)) * time.Millisecond
			x.Paused = r.IntN(4) == 0
			if r.IntN(3) == 0 {
				x.EjectedUntil = now.Add(time.Duration(r.IntN(3)-1) * time.Second)
				x.Since = x.EjectedUntil
			}
			if r.IntN(5) == 0 {
				x.Sampled = now.Add(-time.Minute)
			}
		}
		within := limits
		within.MaxWait = time.Duration(r.IntN(6)) * time.Millisecond
		if r.IntN(2) == 0 {
			within.SlowStart = 10 * time.Second
		}
		d := policy.NewDecider(policy.Rules{Limits: within})
		q := &policy.Query{Statement: policy.Read, Need: at(1000), Random: r.Uint64(), TryEjected: r.IntN(4) == 0, Exclude: r.Uint64() & r.Uint64() & r.Uint64()}
		want := d.Decide(q, s, nil, now)
		s.Prepare(now)
		require.Equal(t, want, d.Decide(q, s, nil, now), "case %d: %+v\n%+v", i, q, s)
		targets[want.Target]++
	}
	for _, target := range []policy.Target{policy.ToPrimary, policy.ToReplica, policy.Wait} {
		assert.Greater(t, targets[target], 2_000, target)
	}
}

// A clock without a monotonic reading, and times that have one: a step of the wall
// clock between them must count as it does for the rules.
func TestPreparedWithMixedClocks(t *testing.T) {
	now := time.Now()
	for _, base := range []time.Time{now, now.Round(0)} {
		for _, at := range []time.Time{now, now.Round(0)} {
			for _, sampled := range []time.Time{now.Add(-time.Millisecond), now.Round(0).Add(-time.Minute)} {
				s := fleet(3, now)
				for i := range s.Replicas {
					s.Replicas[i].Sampled = sampled
				}
				d := policy.NewDecider(policy.Rules{Limits: limits})
				q := &policy.Query{Statement: policy.Read, Need: at900}
				want := d.Decide(q, s, nil, at)
				s.Prepare(base)
				assert.Equal(t, want, d.Decide(q, s, nil, at))
			}
		}
	}
}

var at900 = at(900)

// What prepared columns say must follow from every field that a rule looks at. Whoever
// adds a field to Replica or Query decides here what it means for columns.go: that it
// makes a replica odd or a decision slow, is a column of its own, or does not count
// against a replica.
func TestColumnsKnowEveryField(t *testing.T) {
	assert.ElementsMatch(t, []string{
		"Role", "AllowPrimary", "Gone", "Drained", "Up", // fixed, or odd
		"Balanced", "NoPosition", "StatedLag", "Reserved", // odd; StatedLag counts with NoPosition
		"EjectedUntil", "Since", // settled
		"Sampled", "ReplayedAt", "Margin", // columns
		"Applied", "CatchUp", "Paused", // columns
		"Groups",                           // asked of the rule
		"Name", "Zone", "Weight", "CutOff", // not for the rules
		"Generation", "BehindBytes", // not for the rules of the core
	}, fields(policy.Replica{}))
	assert.ElementsMatch(t, []string{
		"Mode", "AtMost", "Need", // the bounds of a scan
		"Group", "Exclude", "Failed", // asked of the rules
		"Monotonic",          // of logical replicas, which are odd
		"Only",               // one replica is looked at
		"KeepServer", "Held", // slow; Held means nothing without
		"TryEjected", "Random", "Affinity", // what is settled is asked of the rules
		"Statement", "PreferPrimary", "Withheld", // decided before
		"Pending", "Unsure", "Foreign", "Sticky", // decided before
		"LastWrite", "Wrote", "Waited", // policies, and how long to wait
		"Zone", "Ticket", // who is offered
	}, fields(policy.Query{}))
}

func fields(of any) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
		names = append(names, f.Name)
	}
	return names
}

// Only lets one replica serve, also beyond the 64 that bits tell apart.
func TestOnlyOne(t *testing.T) {
	now := time.Now()
	for _, prepared := range []bool{false, true} {
		s := fleet(200, now)
		s.Replicas[150].Up = false
		if prepared {
			s.Prepare(now)
		}
		d := policy.NewDecider(policy.Rules{Limits: limits})
		q := &policy.Query{Statement: policy.Read, Need: at(900), Only: 131}
		assert.Equal(t, policy.Decision{Target: policy.ToReplica, Replica: 130, Reason: policy.ReasonCaughtUp}, d.Decide(q, s, nil, now))
		q.Only = 151
		assert.Equal(t, policy.Decision{Reason: policy.ReasonDown}, d.Decide(q, s, nil, now))
		q.Only = 1000
		assert.Equal(t, policy.Decision{Reason: policy.ReasonFailedThisRead}, d.Decide(q, s, nil, now))
		q.Only, q.Exclude = 131, 1<<(130%64)
		assert.Equal(t, policy.Decision{Reason: policy.ReasonFailedThisRead}, d.Decide(q, s, nil, now))
		assert.Equal(t, d.Explain(q, s, nil, now).Decision, d.Decide(q, s, nil, now))
	}
}

// Of many replicas those of the query's own zone are offered, wherever they stand in
// the list, and some of each other zone get their turn.
func TestManyReplicasKeepTheirZone(t *testing.T) {
	now := time.Now()
	for _, prepared := range []bool{false, true} {
		s := fleet(256, now)
		for i := range s.Replicas {
			s.Replicas[i].Zone = "far"
			if i >= 250 {
				s.Replicas[i].Zone = "near"
			}
		}
		if prepared {
			s.Prepare(now)
		}
		d := policy.NewDecider(policy.Rules{Limits: limits, Balancer: policy.ZoneFirst(policy.Random())})
		q := &policy.Query{Statement: policy.Read, Zone: "near"}
		r := rand.New(rand.NewPCG(1, 1))
		for q.Ticket = range uint64(2000) {
			q.Random = r.Uint64()
			require.GreaterOrEqual(t, d.Decide(q, s, nil, now).Replica, 250, "ticket %d", q.Ticket)
		}
		// The zone is gone from the fleet: everybody gets a share.
		for i := 250; i < 256; i++ {
			s.Replicas[i].Up = false
		}
		if prepared {
			s.Prepare(now)
		}
		got := map[int]int{}
		for q.Ticket = range uint64(10_000) {
			q.Random = r.Uint64()
			got[d.Decide(q, s, nil, now).Replica]++
		}
		assert.Len(t, got, 250)
	}
}
