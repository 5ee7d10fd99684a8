package policy_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

var (
	limits  = policy.Limits{MaxLag: 2 * time.Second, MaxSampleAge: time.Second, MaxWait: 5 * time.Millisecond}
	history = lsn.History{System: 1, Timeline: 1, Incarnation: 1}
)

func at(n lsn.LSN) lsn.Position { return lsn.Position{History: history, LSN: n} }

func decide(r policy.Rules, q policy.Query, s *policy.Snapshot, now time.Time) policy.Decision {
	r.Limits = limits
	return policy.NewDecider(r).Decide(&q, s, nil, now)
}

func TestZeroValuesGoToThePrimary(t *testing.T) {
	now := time.Now()
	var d policy.Decider
	unknown := policy.Decision{Target: policy.ToPrimary, Reason: policy.ReasonUnknownStatement}
	assert.Equal(t, unknown, policy.NewDecider(policy.Rules{}).Decide(nil, nil, nil, now))
	assert.Equal(t, unknown, d.Decide(&policy.Query{}, &policy.Snapshot{}, nil, time.Time{}))
	assert.Equal(t, policy.Decision{Reason: policy.ReasonNoReplicas}, policy.NewDecider(policy.Rules{}).Decide(&policy.Query{Statement: policy.Read}, nil, nil, now))

	// Limits that nobody set let nothing through.
	s := fleet(3, now)
	assert.Equal(t, policy.Decision{Reason: policy.ReasonOldNews}, policy.NewDecider(policy.Rules{}).Decide(&policy.Query{Statement: policy.Read}, s, nil, now))
	// A replica that nothing is known of serves nobody, not even AnyReplica.
	nothing := &policy.Snapshot{Replicas: make([]policy.Replica, 2)}
	assert.Equal(t, policy.Decision{Reason: policy.ReasonNoNews}, decide(policy.Rules{}, policy.Query{Statement: policy.Read, Mode: policy.AnyReplica}, nothing, now))
}

func TestUnknownModesAndStatementsGoToThePrimary(t *testing.T) {
	now := time.Now()
	s := fleet(3, now)
	assert.Equal(t, policy.Decision{Reason: policy.ReasonFresh}, decide(policy.Rules{}, policy.Query{Statement: policy.Read, Mode: policy.AnyReplica + 1}, s, now))
	assert.Equal(t, policy.Decision{Reason: policy.ReasonUnknownStatement}, decide(policy.Rules{}, policy.Query{Statement: policy.Write + 1}, s, now))
}

func TestBoundsAreInclusive(t *testing.T) {
	now := time.Now()
	q := policy.Query{Statement: policy.Read}
	for _, c := range []struct {
		name   string
		change func(r *policy.Replica)
		want   policy.Reason
	}{
		{"lag at the bound", func(r *policy.Replica) { r.ReplayedAt = now.Add(-limits.MaxLag) }, policy.ReasonWithinLag},
		{"lag over the bound", func(r *policy.Replica) { r.ReplayedAt = now.Add(-limits.MaxLag - 1) }, policy.ReasonLagging},
		{"lag over the bound by its margin", func(r *policy.Replica) { r.ReplayedAt = now.Add(-limits.MaxLag); r.Margin = 1 }, policy.ReasonLagging},
		{"a negative margin does not make it fresher", func(r *policy.Replica) { r.ReplayedAt = now.Add(-limits.MaxLag - 1); r.Margin = -1 }, policy.ReasonLagging},
		{"a margin that overflows", func(r *policy.Replica) { r.Margin = math.MaxInt64 }, policy.ReasonLagging},
		{"a time that overflows", func(r *policy.Replica) { r.ReplayedAt = time.Unix(-1<<50, 0); r.Margin = 1 }, policy.ReasonLagging},
		{"a sample at the age", func(r *policy.Replica) { r.Sampled = now.Add(-limits.MaxSampleAge) }, policy.ReasonWithinLag},
		{"a sample over the age", func(r *policy.Replica) { r.Sampled = now.Add(-limits.MaxSampleAge - 1) }, policy.ReasonOldNews},
		{"a sample begun after now was taken", func(r *policy.Replica) { r.Sampled, r.ReplayedAt = now.Add(1), now.Add(1) }, policy.ReasonWithinLag},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fleet(1, now)
			c.change(&s.Replicas[0])
			assert.Equal(t, c.want, decide(policy.Rules{}, q, s, now).Reason)
		})
	}
}

// The wall clock of a process may be set back or forward between a sample and a
// decision; only the monotonic reading says how long ago the sample was.
func TestWallClockDoesNotMatter(t *testing.T) {
	now := time.Now()
	s := fleet(1, now)
	shown := now.Round(0).Add(-24 * time.Hour)
	require.Greater(t, now.Sub(shown), limits.MaxLag)
	s.Replicas[0].Sampled = shown
	assert.Equal(t, policy.ReasonOldNews, decide(policy.Rules{}, policy.Query{Statement: policy.Read}, s, now).Reason, "no monotonic reading: the wall clock is all there is")
	s.Replicas[0].Sampled = now
	assert.Equal(t, policy.ReasonWithinLag, decide(policy.Rules{}, policy.Query{Statement: policy.Read}, s, now).Reason)
}

func TestExcludeIsModulo64(t *testing.T) {
	now := time.Now()
	s := fleet(70, now)
	d := policy.NewDecider(policy.Rules{Limits: limits, Balancer: policy.RoundRobin()})
	q := policy.Query{Statement: policy.Read, Exclude: 1<<5 | 1<<63}
	seen := map[int]bool{}
	for q.Ticket = range 7000 {
		got := d.Decide(&q, s, nil, now)
		require.Equal(t, policy.ToReplica, got.Target)
		seen[got.Replica] = true
	}
	for i := range 70 {
		assert.Equal(t, i != 5 && i != 69 && i != 63, seen[i], i)
	}
	q.Exclude = math.MaxUint64
	assert.Equal(t, policy.Decision{Reason: policy.ReasonFailedThisRead}, d.Decide(&q, s, nil, now))
}

// With more replicas than a balancer is offered, all of them get their share.
func TestManyReplicasAllGetTheirShare(t *testing.T) {
	now := time.Now()
	const replicas, reads = 1000, 20_000
	s := fleet(replicas, now)
	d := policy.NewDecider(policy.Rules{Limits: limits, Balancer: policy.RoundRobin()})
	got := make([]int, replicas)
	for ticket := range uint64(reads) {
		got[d.Decide(&policy.Query{Statement: policy.Read, Ticket: ticket}, s, nil, now).Replica]++
	}
	for i, n := range got {
		assert.InDelta(t, reads/replicas, n, 1, i)
	}

	// One that alone may serve is found wherever it is.
	need := policy.Query{Statement: policy.Read, Need: at(1001)}
	for _, i := range []int{0, 63, 64, 500, 999} {
		s := fleet(replicas, now)
		s.Replicas[i].Applied = at(1001)
		for _, need.Ticket = range []uint64{0, 63, 64, 1000, math.MaxUint64} {
			require.Equal(t, policy.Decision{Target: policy.ToReplica, Replica: i, Reason: policy.ReasonCaughtUp},
				policy.NewDecider(policy.Rules{Limits: limits}).Decide(&need, s, nil, now))
		}
	}
}

type meddler struct {
	pick func(c []policy.Candidate) int
}

func (meddler) Name() string                                     { return "meddler" }
func (m meddler) Pick(_ *policy.Query, c []policy.Candidate) int { return m.pick(c) }

// Whatever a balancer answers or writes, a replica that may not serve the read
// does not get it.
func TestBalancersCannotAddAReplica(t *testing.T) {
	now := time.Now()
	s := fleet(4, now)
	s.Replicas[0].Up = false
	s.Replicas[2].Up = false
	for name, c := range map[string]struct {
		pick func(c []policy.Candidate) int
		want int
	}{
		"index of the snapshot":   {func([]policy.Candidate) int { return 3 }, 1},
		"negative":                {func([]policy.Candidate) int { return math.MinInt }, 1},
		"too large":               {func([]policy.Candidate) int { return math.MaxInt }, 1},
		"forged, ineligible":      {func(c []policy.Candidate) int { c[1].Index = 2; return 1 }, 1},
		"forged, out of range":    {func(c []policy.Candidate) int { c[1].Index = -1; return 1 }, 1},
		"forged, all":             {func(c []policy.Candidate) int { clear(c); return 1 }, 1},
		"reordered":               {func(c []policy.Candidate) int { c[0], c[1] = c[1], c[0]; return 0 }, 3},
		"grown within the buffer": {func(c []policy.Candidate) int { c = append(c, policy.Candidate{Index: 2}); return len(c) - 1 }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := decide(policy.Rules{Balancer: meddler{c.pick}}, policy.Query{Statement: policy.Read}, s, now)
			assert.Equal(t, policy.Decision{Target: policy.ToReplica, Replica: c.want, Reason: policy.ReasonWithinLag}, got)
		})
	}
}

func TestPoliciesCannotAddAReplica(t *testing.T) {
	now := time.Now()
	s := fleet(2, now)
	for i := range s.Replicas {
		s.Replicas[i].ReplayedAt = now.Add(-time.Hour)
	}
	for _, answer := range []policy.Reason{policy.ReasonNone, policy.ReasonCaughtUp, policy.ReasonAnyReplica, 200, 255} {
		p := policy.Func("liar", func(*policy.Query, *policy.Snapshot, *policy.Replica, time.Time) policy.Reason { return answer })
		assert.Equal(t, policy.Decision{Reason: policy.ReasonLagging}, decide(policy.Rules{Policies: []policy.Policy{p}}, policy.Query{Statement: policy.Read}, s, now), answer)
	}
}

// An answer that is not an objection would be counted as something that did not
// happen.
func TestAnswersOutsideTheListAreObjections(t *testing.T) {
	now := time.Now()
	s := fleet(2, now)
	for _, answer := range []policy.Reason{policy.ReasonCaughtUp, policy.ReasonWrite, policy.ReasonWaitExpired, 200, 255} {
		p := policy.Func("liar", func(*policy.Query, *policy.Snapshot, *policy.Replica, time.Time) policy.Reason { return answer })
		assert.Equal(t, policy.Decision{Reason: policy.ReasonObjected}, decide(policy.Rules{Policies: []policy.Policy{nil, p}}, policy.Query{Statement: policy.Read}, s, now), answer)
	}
}

// A policy may ask for the wait as the core does, but not start one that a rule
// of the core makes pointless.
func TestPolicyThatIsBehind(t *testing.T) {
	now := time.Now()
	p := policy.Func("behind", func(*policy.Query, *policy.Snapshot, *policy.Replica, time.Time) policy.Reason {
		return policy.ReasonBehindSession
	})
	rules := policy.Rules{Policies: []policy.Policy{p}}
	q := policy.Query{Statement: policy.Read}
	s := fleet(2, now)
	assert.Equal(t, policy.Decision{Target: policy.Wait, Reason: policy.ReasonBehindSession, Wait: 5 * time.Millisecond}, decide(rules, q, s, now))
	q.Waited = 5 * time.Millisecond
	assert.Equal(t, policy.Decision{Reason: policy.ReasonWaitExpired}, decide(rules, q, s, now))

	// Behind, and another policy objects: nothing to wait for.
	q = policy.Query{Statement: policy.Read, Need: at(2000)}
	never := policy.Func("never", func(*policy.Query, *policy.Snapshot, *policy.Replica, time.Time) policy.Reason {
		return policy.ReasonObjected
	})
	assert.Equal(t, policy.Decision{Reason: policy.ReasonObjected}, decide(policy.Rules{Policies: []policy.Policy{never}}, q, s, now))
}

type countingJudge struct {
	policy.Policy
	once, each *int
}

func (c countingJudge) JudgeQuery(*policy.Query, time.Time) policy.Reason {
	*c.once++
	return policy.ReasonNone
}

func (c countingJudge) Judge(*policy.Query, *policy.Snapshot, *policy.Replica, time.Time) policy.Reason {
	*c.each++
	return policy.ReasonNone
}

func TestQueryJudgeIsAskedOnce(t *testing.T) {
	now := time.Now()
	var once, each int
	decide(policy.Rules{Policies: []policy.Policy{countingJudge{policy.CaughtUp(), &once, &each}}}, policy.Query{Statement: policy.Read}, fleet(10, now), now)
	assert.Equal(t, 1, once)
	assert.Zero(t, each)
}

// A panic of the application's own code must not leave a Decider that answers
// from half a scratch buffer.
func TestPanicIsPassedOn(t *testing.T) {
	now := time.Now()
	s := fleet(3, now)
	bad := true
	d := policy.NewDecider(policy.Rules{Limits: limits, Balancer: meddler{func([]policy.Candidate) int {
		if bad {
			panic("boom")
		}
		return 2
	}}})
	q := policy.Query{Statement: policy.Read}
	assert.PanicsWithValue(t, "boom", func() { d.Decide(&q, s, nil, now) })
	bad = false
	assert.Equal(t, policy.Decision{Target: policy.ToReplica, Replica: 2, Reason: policy.ReasonWithinLag}, d.Decide(&q, s, nil, now))
}
