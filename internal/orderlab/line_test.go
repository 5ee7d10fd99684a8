package orderlab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/policy"
)

func TestExplainPutsTheFrequentReasonsFirst(t *testing.T) {
	o := &Outcome{Reasons: map[policy.Reason]int{
		policy.ReasonWithinLag: 5, policy.ReasonCaughtUp: 40, policy.ReasonWaited: 5,
	}}
	first, second := policy.ReasonWithinLag, policy.ReasonWaited
	if second < first {
		first, second = second, first
	}
	assert.Equal(t, "        40  caught_up\n         5  "+first.String()+"\n         5  "+second.String()+"\n", o.Explain())
}

func TestMillis(t *testing.T) {
	assert.Equal(t, "0.0ms", Millis(0))
	assert.Equal(t, "12.3ms", Millis(12345*time.Microsecond))
}
