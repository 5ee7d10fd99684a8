package readsplit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

func TestDecisionAsText(t *testing.T) {
	d := readsplit.Decision{Server: "pg2", Replica: true, Reason: policy.ReasonCaughtUp, Attempts: 1}
	assert.Equal(t, "pg2, caught_up", d.String())
	d.Resolver, d.Attempts = "archive", 2
	assert.Equal(t, "pg2 of archive, caught_up, run 2", d.String())
	assert.Equal(t, "not routed", readsplit.Decision{}.String())
}
