package policy_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
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
	balancers := []policy.Balancer{
		nil, policy.RoundRobin(), policy.ZoneFirst(policy.Latency()), policy.Affinity(policy.Random()),
		policy.LeastBehind(20*time.Millisecond, nil), policy.ZoneFirstUntil(policy.Spill{Lag: 20 * time.Millisecond}, policy.Latency()),
	}
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

// One replica that may not serve, among others that may: none of what can be the matter
// with it is missed where the columns of all are looked at together.
func TestPreparedLeavesOneOut(t *testing.T) {
	now := time.Now()
	slow := limits
	slow.SlowStart = 10 * time.Second
	for name, change := range map[string]func(*policy.Replica){
		"old news":            func(r *policy.Replica) { r.Sampled = now.Add(-limits.MaxSampleAge - 1) },
		"no news":             func(r *policy.Replica) { r.Sampled = time.Time{} },
		"lagging":             func(r *policy.Replica) { r.ReplayedAt = now.Add(-limits.MaxLag - 1) },
		"lagging by a margin": func(r *policy.Replica) { r.ReplayedAt, r.Margin = now.Add(-limits.MaxLag), 1 },
		"a lag of no bound":   func(r *policy.Replica) { r.ReplayedAt = time.Time{} },
		"behind":              func(r *policy.Replica) { r.Applied = at(899) },
		"another history":     func(r *policy.Replica) { r.Applied.Timeline++ },
		"ejected":             func(r *policy.Replica) { r.EjectedUntil = now.Add(1) },
		"coming back":         func(r *policy.Replica) { r.Since = now },
		"down":                func(r *policy.Replica) { r.Up = false },
		"drained":             func(r *policy.Replica) { r.Drained = true },
		"gone":                func(r *policy.Replica) { r.Gone = true },
		"reserved":            func(r *policy.Replica) { r.Reserved = true },
		"a primary":           func(r *policy.Replica) { r.Role = policy.RolePrimary },
		"logical":             func(r *policy.Replica) { r.Role = policy.RoleLogical },
	} {
		for _, n := range []int{2, 3, 70} {
			for _, out := range []int{0, n - 1} {
				s := fleet(n, now)
				change(&s.Replicas[out])
				s.Prepare(now)
				d := policy.NewDecider(policy.Rules{Limits: slow, Balancer: policy.RoundRobin()})
				for ticket := range uint64(2 * n) {
					// A slow start leaves out nine of ten: this chance is one of theirs.
					q := &policy.Query{Statement: policy.Read, Need: at(900), Ticket: ticket, Random: 1}
					got := d.Decide(q, s, nil, now)
					assert.Equal(t, policy.ToReplica, got.Target, name)
					assert.NotEqual(t, out, got.Replica, "%s: %d of %d", name, out, n)
				}
			}
		}
	}
}

// Where nobody has what the session needs, those that the columns do not answer for are
// looked at all the same: the primary that stands in serves, wherever it is.
func TestPreparedLooksAtTheOddOnes(t *testing.T) {
	now := time.Now()
	r := rand.New(rand.NewPCG(5, 6))
	served := 0
	for range 3000 {
		s := fleet(1+r.IntN(200), now)
		for range r.IntN(4) {
			x := &s.Replicas[r.IntN(len(s.Replicas))]
			switch r.IntN(5) {
			case 0:
				x.Role, x.AllowPrimary = policy.RolePrimary, true
			case 1:
				x.Balanced = true
			case 2:
				x.NoPosition = true
			case 3:
				x.Role = policy.RoleLogical
			case 4:
				x.Role, x.AllowPrimary, x.Since = policy.RolePrimary, true, now
			}
		}
		for i := range s.Replicas {
			s.Replicas[i].CatchUp = time.Duration(r.IntN(2)) * time.Minute
		}
		within := limits
		within.SlowStart = time.Duration(r.IntN(2)) * time.Minute
		d := policy.NewDecider(policy.Rules{Limits: within, Balancer: policy.RoundRobin()})
		q := &policy.Query{Statement: policy.Read, Need: at(2000), Ticket: r.Uint64(), Random: r.Uint64(), Exclude: r.Uint64() & r.Uint64() & r.Uint64() & r.Uint64()}
		if r.IntN(2) == 0 {
			q.Zone = "z1"
		}
		want := d.Decide(q, s, nil, now)
		s.Prepare(now)
		require.Equal(t, want, d.Decide(q, s, nil, now), "%+v\n%+v", q, s)
		served += count(want.Target == policy.ToReplica)
	}
	assert.Greater(t, served, 500)
}

// What was known of the replicas of one snapshot is not said of those of another, which
// nobody has prepared.
func TestUnpreparedAfterPrepared(t *testing.T) {
	now := time.Now()
	d := policy.NewDecider(policy.Rules{Limits: limits, Balancer: policy.RoundRobin()})
	even, uneven := fleet(2, now), fleet(2, now)
	even.Prepare(now)
	uneven.Replicas[1].Weight = 9
	got := 0
	for ticket := range uint64(100) {
		d.Decide(&policy.Query{Statement: policy.Read, Ticket: ticket}, even, nil, now)
		got += d.Decide(&policy.Query{Statement: policy.Read, Ticket: ticket}, uneven, nil, now).Replica
	}
	assert.Equal(t, 90, got)
}

// A position that the primary has had for a while has less to wait for; one that it will
// have, as a clock may say, no more than any other.
func TestNeedAtInTheFuture(t *testing.T) {
	now := time.Now()
	for _, prepared := range []bool{false, true} {
		s := fleet(2, now)
		for i := range s.Replicas {
			s.Replicas[i].CatchUp = limits.MaxWait
		}
		if prepared {
			s.Prepare(now)
		}
		d := policy.NewDecider(policy.Rules{Limits: limits})
		q := &policy.Query{Statement: policy.Read, Need: at(2000), NeedAt: now.Add(time.Second)}
		assert.Equal(t, policy.Wait, d.Decide(q, s, nil, now).Target)
	}
}

// More zones than the columns tell apart: their names are compared.
func TestPreparedWithManyZones(t *testing.T) {
	now := time.Now()
	r := rand.New(rand.NewPCG(9, 9))
	s := fleet(300, now)
	for i := range s.Replicas {
		s.Replicas[i].Zone = fmt.Sprint("z", i%150)
	}
	prepared := &policy.Snapshot{Primary: s.Primary, Replicas: slices.Clone(s.Replicas)}
	prepared.Prepare(now)
	d := policy.NewDecider(policy.Rules{Limits: limits, Balancer: policy.ZoneFirst(policy.Random())})
	for range 3000 {
		q := &policy.Query{Statement: policy.Read, Zone: fmt.Sprint("z", r.IntN(200)), Ticket: r.Uint64(), Random: r.Uint64()}
		require.Equal(t, d.Decide(q, s, nil, now), d.Decide(q, prepared, nil, now), "%+v", q)
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
		"Mode", "AtMost", "Need", "NeedAt", "Ahead", // the bounds of a scan
		"Group", "Exclude", "Failed", // asked of the rules
		"Monotonic",          // of logical replicas, which are odd
		"Only",               // one replica is looked at
		"KeepServer", "Held", // slow; Held means nothing without
		"TryEjected", "Random", "Affinity", // what is settled is asked of the rules
		"Statement", "PreferPrimary", "Withheld", // decided before
		"Pending", "Unsure", "Foreign", "Sticky", // decided before
		"LastWrite", "Wrote", "Waited", "Spent", // policies, and how long to wait
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
