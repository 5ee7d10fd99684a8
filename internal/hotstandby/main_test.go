package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// TestWhoPays: a report on a replica is cancelled, or replay waits for it, or the primary
// keeps what it might read; and a server that serves reports alone keeps all of it away
// from everybody else. It is what docs/conflicts.md says, in short.
func TestWhoPays(t *testing.T) {
	l, err := newLab(t.Context(), options{length: 1500 * time.Millisecond, patience: 500 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.close()) })
	var results []*result
	for _, f := range forms(l.o) {
		r, err := l.measure(t.Context(), f)
		require.NoError(t, err, f.name)
		t.Log(r)
		results = append(results, r)
		require.EqualValues(t, rows, r.entries, "%s: whatever happened, the report is whole", f.name)
		require.Positive(t, r.others.reads[site], f.name)
		if f.cancels {
			continue
		}
		require.Empty(t, r.cancelled, f.name)
		require.Equal(t, 1, r.decision.Attempts, f.name)
		require.Equal(t, f.place, r.decision.Server, f.name)
	}
	cancels, keeps, waits, replica, database := results[0], results[1], results[2], results[3], results[4]

	require.Len(t, cancels.cancelled, 1, "not tried on replicas again and again")
	assert.Equal(t, site, cancels.cancelled[0].server)
	assert.Equal(t, "40001", cancels.cancelled[0].code)
	assert.Contains(t, []string{retry.ConflictSnapshot.String(), retry.ConflictBufferPin.String()}, cancels.cancelled[0].kind)
	assert.Equal(t, "primary", cancels.decision.Server)
	assert.Contains(t, []policy.Reason{policy.ReasonKeepsConflicting, policy.ReasonFailedThisRead}, cancels.decision.Reason)
	assert.Equal(t, [2]int{0, changed}, cancels.dead, "what runs on the primary keeps rows there")

	assert.Equal(t, [2]int{changed, 2 * changed}, keeps.dead)
	for _, r := range []*result{waits, replica} {
		assert.Equal(t, [2]int{}, r.dead, r.name)
		assert.True(t, r.held, "%s: replay stood still until the report ended", r.name)
		assert.Positive(t, r.lag, r.name)
	}
	assert.Equal(t, [2]int{}, database.dead)
	assert.False(t, database.held)

	text := table(results)
	assert.Equal(t, 2+len(results), strings.Count(text, "\n"), text)
	assert.Contains(t, plot(results).SVG(), "<svg")
}
