package nemesis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/verify/nemesis"
)

var replicas = []string{"replica1", "replica2"}

func TestSameSeedSameSchedule(t *testing.T) {
	a := nemesis.Plan(7, time.Minute, nemesis.Names(), replicas)
	assert.Equal(t, a, nemesis.Plan(7, time.Minute, nemesis.Names(), replicas))
	assert.NotEqual(t, a, nemesis.Plan(8, time.Minute, nemesis.Names(), replicas))
}

// A lane keeps its schedule when another has none.
func TestLanesAreIndependent(t *testing.T) {
	all := nemesis.Plan(7, time.Minute, nemesis.Names(), replicas)
	var primary []nemesis.Step
	for _, s := range all {
		if s.On == "primary" {
			primary = append(primary, s)
		}
	}
	assert.Equal(t, primary, nemesis.Plan(7, time.Minute, nemesis.Names(nemesis.Primary), replicas))
}

// No lane has two faults at once, all end before the run does, and every fault has
// its turn.
func TestSchedule(t *testing.T) {
	const total = 20 * time.Minute
	busy := map[string]time.Duration{}
	seen := map[string]bool{}
	last := time.Duration(0)
	for _, s := range nemesis.Plan(3, total, nemesis.Names(), replicas) {
		require.GreaterOrEqual(t, s.At, last)
		require.Greater(t, s.At, busy[s.On], "%v", s)
		require.Less(t, s.At+s.For, total)
		f, ok := nemesis.Lookup(s.Fault)
		require.True(t, ok)
		require.GreaterOrEqual(t, s.For, f.Least)
		require.LessOrEqual(t, s.For, f.Most)
		busy[s.On], seen[s.Fault], last = s.At+s.For, true, s.At
	}
	for _, name := range nemesis.Names() {
		assert.True(t, seen[name], name)
	}
	assert.Empty(t, nemesis.Plan(3, total, nil, replicas))
}
