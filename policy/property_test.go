package policy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/policy/policytest"
)

// TestDecideAgainstOracle compares decisions over random servers and queries
// with the promise as one formula: a chosen replica always satisfies it, a
// replica that satisfies it is never passed over for the primary, and a wait is
// started exactly when it may help. It also counts what the cases reached, since
// a generator that reaches nothing proves nothing.
func TestDecideAgainstOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(2024, 5))
	balancers := []policy.Balancer{nil, policy.Random(), policy.RoundRobin(), policy.ZoneFirst(policy.Random()), policy.Latency(), policy.LeastBehind(0, nil)}
	seen := map[policy.Target]int{}
	reasons := map[policy.Reason]int{}
	for i := range 30_000 {
		c := policytest.Random(r)
		d := policy.NewDecider(policy.Rules{Limits: c.Limits, Balancer: balancers[i%len(balancers)]})
		got := d.Decide(&c.Query, &c.Snapshot, c.Load, c.Now)
		if problem := disagreement(c, got); problem != "" {
			require.Fail(t, problem, "case %d: %+v\n%v", i, c, d.Explain(&c.Query, &c.Snapshot, c.Load, c.Now))
		}
		seen[got.Target]++
		reasons[got.Reason]++
	}
	for target, least := range map[policy.Target]int{policy.ToPrimary: 10_000, policy.ToReplica: 4_000, policy.Wait: 60, policy.Refuse: 500} {
		assert.GreaterOrEqual(t, seen[target], least, target)
	}
	for _, reason := range []policy.Reason{
		policy.ReasonCaughtUp, policy.ReasonWithinLag, policy.ReasonWaited, policy.ReasonStatedLag, policy.ReasonStale, policy.ReasonAnyReplica, policy.ReasonPrimaryLost,
		policy.ReasonWrite, policy.ReasonLockingRead, policy.ReasonUnknownStatement, policy.ReasonFresh, policy.ReasonNoReplicas,
		policy.ReasonGroupEmpty, policy.ReasonPreferPrimary, policy.ReasonUnsure, policy.ReasonOtherHistory, policy.ReasonPositionPending,
		policy.ReasonFailedThisRead, policy.ReasonHeldElsewhere, policy.ReasonDrained, policy.ReasonEjected, policy.ReasonKillSwitch, policy.ReasonPercent, policy.ReasonNotAStandby, policy.ReasonDown, policy.ReasonNoNews,
		policy.ReasonOldNews, policy.ReasonUnprovenHistory, policy.ReasonLagUnknown, policy.ReasonNoPosition, policy.ReasonStickyWindow, policy.ReasonLagging,
		policy.ReasonBehindSession, policy.ReasonWaitExpired, policy.ReasonPrimaryLostRefused, policy.ReasonAtMostUnproven, policy.ReasonReserved, policy.ReasonLogical,
	} {
		assert.Positive(t, reasons[reason], "no case reached %v", reason)
	}
}

// disagreement says how got breaks the promise; "" if it does not.
func disagreement(c *policytest.Case, got policy.Decision) string {
	q, s := &c.Query, &c.Snapshot
	within := c.Limits
	within.RefuseWhenLost = true // MayServe then lifts no bound
	may, lifted, wait := 0, 0, 0
	for i := range s.Replicas {
		may += count(policytest.MayServe(within, q, s, i, c.Now))
		lifted += count(policytest.MayServe(c.Limits, q, s, i, c.Now))
		wait += count(policytest.WaitMayHelp(c.Limits, q, s, i, c.Now))
	}
	want := policy.ToPrimary
	switch {
	case may > 0:
		want = policy.ToReplica
	case wait > 0:
		want = policy.Wait
	case lifted > 0:
		want = policy.ToReplica
	case s.Primary.Lost && policytest.ReplicaAsked(q, s) && inGroup(q, s) &&
		(c.Limits.RefuseWhenLost || q.AtMost != 0 && q.Mode != policy.Stale && q.Mode != policy.AnyReplica):
		want = policy.Refuse
	}
	limits := c.Limits
	if may > 0 {
		limits = within // no replica out of bounds while one is within
	}
	switch {
	case got.Target != want:
		return fmt.Sprintf("%v (%v): want %v", got.Target, got.Reason, want)
	case got.Target == policy.ToReplica && got.Check != policytest.Checked(q, s, got.Replica):
		return "what has to be found out on the connection is not said, or nothing has to be"
	case got.Target == policy.ToReplica && !policytest.MayServe(limits, q, s, got.Replica, c.Now):
		return fmt.Sprintf("replica %d (%v) must not serve this", got.Replica, got.Reason)
	case got.Target == policy.ToReplica && (got.Reason == policy.ReasonPrimaryLost) != (may == 0):
		return fmt.Sprintf("reason %v with %d replicas within bounds", got.Reason, may)
	case got.Target == policy.ToReplica && s.Replicas[got.Replica].EjectedUntil.After(c.Now) && !q.TryEjected && trusted(c, within) > 0:
		return fmt.Sprintf("replica %d is ejected, and another may serve this", got.Replica)
	case got.Target == policy.Wait && (got.Wait <= 0 || got.Wait+max(q.Waited, 0) != c.Limits.MaxWait):
		return fmt.Sprintf("waits %v after %v, of %v", got.Wait, q.Waited, c.Limits.MaxWait)
	case got.Target != policy.Wait && got.Wait != 0:
		return fmt.Sprintf("%v with a wait of %v", got.Target, got.Wait)
	case got.Reason == policy.ReasonNone:
		return "no reason"
	}
	return ""
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// trusted counts the replicas that may serve c and are not ejected.
func trusted(c *policytest.Case, within policy.Limits) (n int) {
	for i, r := range c.Snapshot.Replicas {
		if !r.EjectedUntil.After(c.Now) {
			n += count(policytest.MayServe(within, &c.Query, &c.Snapshot, i, c.Now))
		}
	}
	return n
}

func inGroup(q *policy.Query, s *policy.Snapshot) bool {
	for i := range s.Replicas {
		for _, g := range s.Replicas[i].Groups {
			if g == q.Group && !s.Replicas[i].Gone {
				return true
			}
		}
	}
	return q.Group == ""
}

// TestExplainIsDecide: the verdicts of Explain explain what Decide did.
func TestExplainIsDecide(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	policies := []policy.Policy{policy.Sticky(time.Second), policy.MaxBytes(1), policy.OneServer(), policy.CaughtUp()}
	for range 5_000 {
		c := policytest.Random(r)
		d := policy.NewDecider(policy.Rules{Limits: c.Limits, Policies: policies})
		trace := d.Explain(&c.Query, &c.Snapshot, c.Load, c.Now)
		require.Equal(t, d.Decide(&c.Query, &c.Snapshot, c.Load, c.Now), trace.Decision)
		require.NotEmpty(t, trace.Request)
		last := trace.Request[len(trace.Request)-1].Reason
		require.Equal(t, last != policy.ReasonNone, trace.Replicas == nil, "%v", trace)
		if trace.Replicas == nil {
			require.Equal(t, policy.Decision{Reason: last}, trace.Decision)
			continue
		}
		for i, replica := range trace.Replicas {
			require.Equal(t, c.Snapshot.Replicas[i].Name, replica.Name)
			require.Equal(t, firstObjection(replica.Verdicts, trace.Lifted), replica.Objection, "%v", trace)
			chosen := trace.Decision.Target == policy.ToReplica && trace.Decision.Replica == i
			require.Equal(t, chosen, replica.Chosen)
		}
	}
}

// firstObjection is the first verdict that counts: the session's position comes
// last, and bounds do not count when they are lifted.
func firstObjection(verdicts []policy.Verdict, lifted bool) policy.Reason {
	var behind policy.Reason
	for _, v := range verdicts {
		bound := v.Reason == policy.ReasonLagging || v.Reason == policy.ReasonBehindBytes || v.Reason == policy.ReasonLagUnknown || v.Reason == policy.ReasonNoPosition
		switch {
		case v.Reason == policy.ReasonNone || lifted && bound:
		case v.Reason == policy.ReasonBehindSession:
			behind = v.Reason
		case v.Rule == "slow_start" && behind != policy.ReasonNone:
		default:
			return v.Reason
		}
	}
	return behind
}
