package readsplit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Decisions that follow each other draw numbers that look independent: each bit is set in
// half of them, also beside the one before, and small ranges are met evenly.
func TestChanceOfDecisions(t *testing.T) {
	const n = 64000
	for _, seed := range []uint64{0, 1, 0xfeedface} {
		rt := &router{seed: seed}
		var set, changed [64]int
		var thirds [3]int
		last := rt.scattered(0)
		seen := map[uint64]bool{}
		for ticket := range uint64(n) {
			z := rt.scattered(ticket + 1)
			require.False(t, seen[z])
			seen[z] = true
			for i := range 64 {
				set[i] += int(z >> i & 1)
				changed[i] += int((z ^ last) >> i & 1)
			}
			thirds[z%3]++
			last = z
		}
		for i := range 64 { // ten standard deviations
			assert.InDelta(t, n/2, set[i], 1300, "bit %d", i)
			assert.InDelta(t, n/2, changed[i], 1300, "bit %d", i)
		}
		for _, k := range thirds {
			assert.InDelta(t, n/3, k, 1300)
		}
	}
	require.NotEqual(t, (&router{seed: 1}).scattered(7), (&router{seed: 2}).scattered(7), "processes that began together do not all do the same")
}
