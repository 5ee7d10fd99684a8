package policytest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/policy"
)

func TestOurPolicies(t *testing.T) {
	for _, p := range []policy.Policy{
		policy.Sticky(5 * time.Second), policy.Sticky(0), policy.RestOfRequest(), policy.OneServer(),
		policy.MaxLag(time.Second), policy.MaxLag(0), policy.MaxBytes(1), policy.MaxBytes(0),
		policy.SampleAge(200 * time.Millisecond), policy.CaughtUp(),
		policy.Func("never", func(*policy.Query, *policy.Snapshot, *policy.Replica, time.Time) policy.Reason {
			return policy.ReasonObjected
		}),
	} {
		t.Run(p.Name(), func(t *testing.T) {
			t.Parallel()
			Policy(t, p)
		})
	}
}

func TestOurBalancers(t *testing.T) {
	for _, b := range []policy.Balancer{
		policy.Random(), policy.RoundRobin(), policy.LeastInFlight(), policy.ZoneFirst(nil),
		policy.ZoneFirst(policy.Random()), policy.ZoneFirst(policy.ZoneFirst(policy.RoundRobin())),
		policy.Latency(), policy.ZoneFirst(policy.Latency()), policy.Affinity(policy.Latency()),
		policy.LeastBehind(0, nil), policy.LeastBehind(time.Millisecond, policy.Latency()),
		policy.ZoneFirstUntil(policy.Spill{InFlight: 2, Latency: time.Millisecond, Lag: time.Millisecond}, policy.LeastBehind(time.Second, policy.RoundRobin())),
		policy.ZoneFirstUntil(policy.Spill{InFlight: -1, Latency: -1}, policy.Latency()),
	} {
		t.Run(b.Name(), func(t *testing.T) {
			t.Parallel()
			Balancer(t, b)
		})
	}
}

type judge func(q *policy.Query, s *policy.Snapshot, r *policy.Replica, now time.Time) policy.Reason

func TestPolicyConvicts(t *testing.T) {
	var calls atomic.Int64
	for name, c := range map[string]struct {
		judge judge
		want  string
	}{
		"panics": {func(_ *policy.Query, s *policy.Snapshot, _ *policy.Replica, _ time.Time) policy.Reason {
			if s.Replicas[0].Role > policy.RolePrimary {
				panic("no such role")
			}
			return policy.ReasonNone
		}, "panics with no such role"},
		"approval as an objection": {func(*policy.Query, *policy.Snapshot, *policy.Replica, time.Time) policy.Reason {
			return policy.ReasonCaughtUp
		}, `answers "caught_up", which is not an objection`},
		"has a memory": {func(*policy.Query, *policy.Snapshot, *policy.Replica, time.Time) policy.Reason {
			if calls.Add(1)%2 == 0 {
				return policy.ReasonObjected
			}
			return policy.ReasonNone
		}, "to the same input"},
		"looks at addresses": {firstSeen(), "to a copy of it"},
		"changes the snapshot": {func(_ *policy.Query, _ *policy.Snapshot, r *policy.Replica, _ time.Time) policy.Reason {
			r.Applied.LSN = 1 << 40
			return policy.ReasonNone
		}, "changed its arguments"},
		"changes the query": {func(q *policy.Query, _ *policy.Snapshot, _ *policy.Replica, _ time.Time) policy.Reason {
			q.Need.LSN = 0
			return policy.ReasonNone
		}, "changed its arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			assertFound(t, checkPolicy(policy.Func("bad", c.judge)), c.want)
		})
	}
	assertFound(t, checkPolicy(policy.Func("two words", policy.CaughtUp().Judge)), "want a word without blanks")
	assertFound(t, checkPolicy(twoFaced{policy.CaughtUp()}), "JudgeQuery and Judge answer")
}

// firstSeen objects to every replica but those of the first snapshot that it
// was asked about twice: a policy that remembers addresses.
func firstSeen() judge {
	seen := map[*policy.Replica]bool{}
	return func(_ *policy.Query, _ *policy.Snapshot, r *policy.Replica, _ time.Time) policy.Reason {
		if len(seen) == 0 || seen[r] {
			seen[r] = true
			return policy.ReasonNone
		}
		return policy.ReasonObjected
	}
}

// twoFaced says something else once than for each replica.
type twoFaced struct{ policy.Policy }

func (twoFaced) JudgeQuery(*policy.Query, time.Time) policy.Reason { return policy.ReasonObjected }

type pickFunc func(q *policy.Query, c []policy.Candidate) int

func (pickFunc) Name() string                                     { return "bad" }
func (p pickFunc) Pick(q *policy.Query, c []policy.Candidate) int { return p(q, c) }

func TestBalancerConvicts(t *testing.T) {
	var calls atomic.Int64
	for name, c := range map[string]struct {
		pick pickFunc
		want string
	}{
		"outside":      {func(_ *policy.Query, c []policy.Candidate) int { return len(c) }, "index outside"},
		"negative":     {func(*policy.Query, []policy.Candidate) int { return -1 }, "index outside"},
		"panics":       {func(_ *policy.Query, c []policy.Candidate) int { return c[1].Index }, "panics with"},
		"has a memory": {func(_ *policy.Query, c []policy.Candidate) int { return int(calls.Add(1)) % len(c) }, "from the same candidates"},
		"forges": {func(_ *policy.Query, c []policy.Candidate) int {
			c[0].Index = 1
			return 0
		}, "changed its arguments"},
		"starves": {func(*policy.Query, []policy.Candidate) int { return 0 }, "with weights [1 1] gives candidate 0 20000 of 20000 reads"},
		"ignores weights": {func(q *policy.Query, c []policy.Candidate) int {
			return int(q.Ticket % uint64(len(c)))
		}, "with weights [1 2] gives candidate 0 10000 of 20000 reads: want 6667"},
	} {
		t.Run(name, func(t *testing.T) {
			assertFound(t, checkBalancer(c.pick, options{}), c.want)
		})
	}
	var kept [][]int
	wasteful := pickFunc(func(_ *policy.Query, c []policy.Candidate) int {
		kept = [][]int{make([]int, len(c))}
		return len(kept[0]) - len(c)
	})
	assertFound(t, (func() []string { var f findings; f.checkAllocations(wasteful); return f.list })(), "allocates memory")
	assertFound(t, checkBalancer(policy.LeastInFlight(), options{herd: 0.5}), "20000 of 20000 reads that decide at the same moment")
	assertFound(t, checkBalancer(policy.LeastInFlight(), options{herd: 0.99}), "want at most 19800")
	first := pickFunc(func(*policy.Query, []policy.Candidate) int { return 0 })
	assert.Empty(t, checkBalancer(first, options{unfair: true}), "unfair on purpose")
}

// What only shows when several goroutines ask at once is found as well. The
// implementations change their minds with the first of those calls, which a
// first run counts.
func TestConcurrencyConvicts(t *testing.T) {
	var calls, flip atomic.Int64
	flip.Store(1 << 60)
	p := policy.Func("late", func(*policy.Query, *policy.Snapshot, *policy.Replica, time.Time) policy.Reason {
		if calls.Add(1) > flip.Load() {
			return policy.ReasonObjected
		}
		return policy.ReasonNone
	})
	assert.Empty(t, checkPolicy(p))
	together := int64(0)
	for _, c := range append(extremes(), inputs(rounds, 1)...)[:200] {
		together += callers * int64(len(c.Snapshot.Replicas))
	}
	flip.Store(calls.Swap(0) - together)
	assertFound(t, checkPolicy(p), "concurrent calls answer [objected")

	calls.Store(0)
	flip.Store(1 << 60)
	b := pickFunc(func(_ *policy.Query, c []policy.Candidate) int {
		if calls.Add(1) > flip.Load() {
			return len(c) - 1
		}
		return 0
	})
	assert.Empty(t, checkBalancer(b, options{unfair: true}))
	flip.Store(calls.Swap(0) - 500*callers)
	assertFound(t, checkBalancer(b, options{unfair: true}), "concurrent calls pick")
}

// recorder is a test that is allowed to fail.
type recorder struct {
	testing.TB
	errors []string
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestReports(t *testing.T) {
	r := &recorder{TB: t}
	Policy(r, twoFaced{policy.CaughtUp()})
	Balancer(r, pickFunc(func(*policy.Query, []policy.Candidate) int { return -1 }))
	assert.Len(t, r.errors, 2*most)
	assert.Contains(t, r.errors[0], "policy caught_up: JudgeQuery and Judge answer")
	assert.Contains(t, r.errors[most], "balancer bad: answers with an index outside the")
}

func assertFound(t *testing.T, found []string, want string) {
	t.Helper()
	assert.Contains(t, strings.Join(found, "\n"), want)
}

func TestWithoutFairness(t *testing.T) {
	Balancer(t, pickFunc(func(*policy.Query, []policy.Candidate) int { return 0 }), WithoutFairness())
}
