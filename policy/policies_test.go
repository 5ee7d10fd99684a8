package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

func TestPolicies(t *testing.T) {
	now := time.Now()
	fresh := fleet(1, now).Replicas[0] // at 1000, 200 ms behind at most, sampled 100 ms ago
	with := func(change func(r *policy.Replica)) policy.Replica {
		r := fresh
		change(&r)
		return r
	}
	dev := policy.Replica{Role: policy.RolePrimary, AllowPrimary: true, Up: true, Sampled: now}
	other := at(900)
	other.Timeline++

	for _, c := range []struct {
		name    string
		policy  policy.Policy
		query   policy.Query
		replica policy.Replica
		want    policy.Reason
	}{
		{"no write", policy.Sticky(time.Second), policy.Query{}, fresh, policy.ReasonNone},
		{"a write just now", policy.Sticky(time.Second), policy.Query{LastWrite: now}, fresh, policy.ReasonStickyWindow},
		{"a write after now was taken", policy.Sticky(time.Second), policy.Query{LastWrite: now.Add(1)}, fresh, policy.ReasonStickyWindow},
		{"the last moment", policy.Sticky(time.Second), policy.Query{LastWrite: now.Add(1 - time.Second)}, fresh, policy.ReasonStickyWindow},
		{"over", policy.Sticky(time.Second), policy.Query{LastWrite: now.Add(-time.Second)}, fresh, policy.ReasonNone},
		{"stale keeps own writes", policy.Sticky(time.Second), policy.Query{LastWrite: now, Mode: policy.Stale}, fresh, policy.ReasonStickyWindow},
		{"any replica does not", policy.Sticky(time.Second), policy.Query{LastWrite: now, Mode: policy.AnyReplica}, fresh, policy.ReasonNone},

		{"not written", policy.RestOfRequest(), policy.Query{}, fresh, policy.ReasonNone},
		{"written", policy.RestOfRequest(), policy.Query{Wrote: true}, fresh, policy.ReasonRestOfRequest},
		{"written, any replica", policy.RestOfRequest(), policy.Query{Wrote: true, Mode: policy.AnyReplica}, fresh, policy.ReasonNone},

		{"free", policy.OneServer(), policy.Query{}, fresh, policy.ReasonNone},
		{"held here", policy.OneServer(), policy.Query{Held: 1}, fresh, policy.ReasonNone},
		{"held there", policy.OneServer(), policy.Query{Held: 2}, fresh, policy.ReasonHeldElsewhere},
		{"held on the primary", policy.OneServer(), policy.Query{Held: -1}, fresh, policy.ReasonHeldElsewhere},
		{"held on nothing", policy.OneServer(), policy.Query{Held: 99}, fresh, policy.ReasonHeldElsewhere},
		{"held, any replica", policy.OneServer(), policy.Query{Held: -1, Mode: policy.AnyReplica}, fresh, policy.ReasonNone},

		{"within", policy.MaxLag(200 * time.Millisecond), policy.Query{}, fresh, policy.ReasonNone},
		{"over", policy.MaxLag(200*time.Millisecond - 1), policy.Query{}, fresh, policy.ReasonLagging},
		{"AtMost is a matter of the core", policy.MaxLag(time.Second), policy.Query{AtMost: 1}, fresh, policy.ReasonNone},
		{"over, stale", policy.MaxLag(0), policy.Query{Mode: policy.Stale}, fresh, policy.ReasonNone},
		{"unknown", policy.MaxLag(time.Hour), policy.Query{}, policy.Replica{}, policy.ReasonLagUnknown},
		{"a primary", policy.MaxLag(0), policy.Query{}, dev, policy.ReasonNone},

		{"few", policy.MaxBytes(10), policy.Query{}, with(func(r *policy.Replica) { r.BehindBytes = 10 }), policy.ReasonNone},
		{"many", policy.MaxBytes(10), policy.Query{}, with(func(r *policy.Replica) { r.BehindBytes = 11 }), policy.ReasonBehindBytes},
		{"many, stale", policy.MaxBytes(10), policy.Query{Mode: policy.Stale}, with(func(r *policy.Replica) { r.BehindBytes = 11 }), policy.ReasonNone},
		{"unknown", policy.MaxBytes(10), policy.Query{}, policy.Replica{}, policy.ReasonLagUnknown},
		{"a primary", policy.MaxBytes(0), policy.Query{}, dev, policy.ReasonNone},

		{"young", policy.SampleAge(100 * time.Millisecond), policy.Query{}, fresh, policy.ReasonNone},
		{"old", policy.SampleAge(100*time.Millisecond - 1), policy.Query{}, fresh, policy.ReasonOldNews},
		{"none", policy.SampleAge(time.Hour), policy.Query{}, policy.Replica{}, policy.ReasonNoNews},

		{"nothing needed", policy.CaughtUp(), policy.Query{}, policy.Replica{}, policy.ReasonNone},
		{"there", policy.CaughtUp(), policy.Query{Need: at(1000)}, fresh, policy.ReasonNone},
		{"one byte short", policy.CaughtUp(), policy.Query{Need: at(1001)}, fresh, policy.ReasonBehindSession},
		{"one byte short, stale", policy.CaughtUp(), policy.Query{Need: at(1001), Mode: policy.Stale}, fresh, policy.ReasonBehindSession},
		{"one byte short, any replica", policy.CaughtUp(), policy.Query{Need: at(1001), Mode: policy.AnyReplica}, fresh, policy.ReasonNone},
		{"another history", policy.CaughtUp(), policy.Query{Need: other}, fresh, policy.ReasonOtherHistory},
		{"a history without a place", policy.CaughtUp(), policy.Query{Need: at(0)}, fresh, policy.ReasonOtherHistory},
		{"a place without a history", policy.CaughtUp(), policy.Query{Need: lsn.Position{LSN: 1}}, fresh, policy.ReasonOtherHistory},
		{"unproven", policy.CaughtUp(), policy.Query{Need: at(1)}, policy.Replica{}, policy.ReasonUnprovenHistory},
		{"unproven, with a number", policy.CaughtUp(), policy.Query{Need: at(1)}, policy.Replica{Applied: lsn.Position{LSN: 5}}, policy.ReasonUnprovenHistory},
		{"a primary", policy.CaughtUp(), policy.Query{Need: at(1 << 40)}, dev, policy.ReasonNone},
	} {
		t.Run(c.policy.Name()+"/"+c.name, func(t *testing.T) {
			s := &policy.Snapshot{Replicas: []policy.Replica{c.replica}}
			assert.Equal(t, c.want, c.policy.Judge(&c.query, s, &s.Replicas[0], now))
		})
	}
}

// Held is an index: the policy must compare the replica that it is asked about
// with the one at that place, not look at names.
func TestOneServerKnowsReplicasByTheirPlace(t *testing.T) {
	now := time.Now()
	s := fleet(3, now)
	for i := range s.Replicas {
		s.Replicas[i].Name = "same"
	}
	q := policy.Query{Statement: policy.Read, Held: 2}
	assert.Equal(t, policy.Decision{Target: policy.ToReplica, Replica: 1, Reason: policy.ReasonWithinLag},
		decide(policy.Rules{Policies: []policy.Policy{policy.OneServer()}}, q, s, now))
}

func TestMaxLagIsStricterThanTheCore(t *testing.T) {
	now := time.Now()
	s := fleet(2, now)
	s.Replicas[0].ReplayedAt = now.Add(-1500 * time.Millisecond)
	got := decide(policy.Rules{Policies: []policy.Policy{policy.MaxLag(time.Second)}}, policy.Query{Statement: policy.Read}, s, now)
	assert.Equal(t, policy.Decision{Target: policy.ToReplica, Replica: 1, Reason: policy.ReasonWithinLag}, got)
}
