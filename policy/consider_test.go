package policy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/policy"
)

// counting is a balancer that remembers that it was asked.
type counting struct{ asked int }

func (c *counting) Name() string { return "counting" }

func (c *counting) Pick(*policy.Query, []policy.Candidate) int { c.asked++; return 1 }

// A question must not take a turn of a balancer that counts turns.
func TestConsiderDoesNotAskTheBalancer(t *testing.T) {
	b := &counting{}
	d := policy.NewDecider(policy.Rules{Limits: policy.Limits{MaxLag: 1 << 50, MaxSampleAge: 1 << 50}, Balancer: b})
	q := &policy.Query{Statement: policy.Read}
	s := twoReplicas()
	trace := d.Consider(q, s, nil, noon)
	assert.Zero(t, b.asked)
	assert.Equal(t, policy.ToReplica, trace.Decision.Target)
	assert.Equal(t, policy.ReasonWithinLag, trace.Decision.Reason)
	may := []string{s.Replicas[0].Name, s.Replicas[1].Name}
	assert.Equal(t, may, trace.May())
	assert.False(t, trace.Replicas[0].Chosen || trace.Replicas[1].Chosen)
	assert.Contains(t, trace.String(), "one of "+may[0]+", "+may[1]+": within_lag\n")
	assert.Equal(t, "counting", trace.Balancer)

	q.Exclude = 1
	trace = d.Consider(q, s, nil, noon)
	assert.True(t, trace.Replicas[1].Chosen, "there is no choice")
	assert.Equal(t, d.Decide(q, s, nil, noon), trace.Decision)
	assert.Zero(t, b.asked)
	q.Exclude = 0
	explained := d.Explain(q, s, nil, noon)
	assert.Equal(t, 1, explained.Decision.Replica)
	assert.Equal(t, 1, b.asked)
	assert.Nil(t, (&policy.Trace{}).May())
}
