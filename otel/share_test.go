package otel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestShare is a replayed day of one resolver: seconds since the start, totals then,
// and the share that is told.
func TestShare(t *testing.T) {
	start := time.Unix(1000, 0)
	var s shares
	for _, step := range []struct {
		at               int
		replica, primary uint64
		share            float64 // -1: none
	}{
		{0, 0, 0, -1},
		{0, 3, 1, .75},  // since the beginning
		{15, 3, 1, .75}, // nothing since
		{30, 3, 7, .3},  // 3 of 10
		{45, 103, 7, 103. / 110},
		{75, 103, 107, .5},  // since 15: 100 replica, 106 primary
		{135, 103, 107, -1}, // nothing since 75
		{200, 203, 107, 1},  // since 135
		{3600, 203, 108, 0}, // long after
		{3660, 1, 1, .5},    // the plugin was replaced, and begins anew
		{3721, 5, 1, 1},
	} {
		share, ok := s.of("", start.Add(time.Duration(step.at)*time.Second), step.replica, step.primary)
		require.Equal(t, step.share >= 0, ok, "at %d", step.at)
		if ok {
			want := step.share
			if step.at == 75 {
				want = 100. / 206
			}
			assert.InDelta(t, want, share, 1e-9, "at %d", step.at)
		}
	}
	_, ok := s.of("orders", start, 0, 0)
	assert.False(t, ok, "of each resolver its own")
}

// TestShareForgets: what is remembered does not grow with the number of collections.
func TestShareForgets(t *testing.T) {
	start := time.Unix(1000, 0)
	var s shares
	for i := range 100_000 {
		s.of("", start.Add(time.Duration(i)*10*time.Millisecond), uint64(i), 0)
	}
	assert.LessOrEqual(t, len(s[""]), 62)
}
