package readsplit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/policy"
)

// A decision is judged by a moment that is no earlier than the news that it goes by, on
// both of the clocks.
func TestTheMomentOfADecision(t *testing.T) {
	for name, snap := range map[string]*policy.Snapshot{
		"before the first sample": {}, "later": {Primary: policy.Primary{Sampled: time.Now().Add(-time.Second)}},
	} {
		before := time.Now()
		now := nowAfter(snap)
		after := time.Now()
		require.False(t, now.Before(before), name)
		require.False(t, after.Before(now), name)
		require.WithinDuration(t, before.Round(0), now.Round(0), time.Second, name)
		require.NotEqual(t, now.Round(0), now, "%s: it has a monotonic reading", name)
	}
}

// The clock is not read where nobody waits, and once where somebody does.
func TestPatienceBeginsWhenAskedFor(t *testing.T) {
	p := &patience{most: time.Minute}
	require.Zero(t, p.began)
	until := p.until()
	require.Equal(t, time.Minute, until.Sub(p.since()))
	require.Equal(t, until, p.until())
	deadline := time.Now().Add(time.Second)
	require.Equal(t, deadline, waitsBy(deadline).until())
}
