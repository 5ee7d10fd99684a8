package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Users far from their primary miss none of their writes, and those who wrote nothing
// are read for in their own region.
func TestRegion(t *testing.T) {
	l, err := newLab(t.Context(), options{away: 10 * time.Millisecond, behind: 50 * time.Millisecond, length: 4 * time.Second, users: 4, version: os.Getenv("READSPLIT_PG")})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.close()) })
	f, err := l.readsplit()
	require.NoError(t, err)
	r, err := l.measure(t.Context(), f)
	require.NoError(t, err)
	require.NoError(t, f.close())
	require.Positive(t, r.writes)
	for i := range r.buckets {
		assert.Zero(t, r.buckets[i].missing, "writes of this age")
	}
	others := r.buckets[len(ages)]
	require.NotEmpty(t, others.took)
	assert.Greater(t, others.local, len(others.took)*8/10, "reads of users who never wrote, of %d", len(others.took))
	assert.Contains(t, r.table(), "never")
}
