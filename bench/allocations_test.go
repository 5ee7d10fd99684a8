package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/bench/overhead"
	"github.com/readsplit/readsplit/bench/side"
)

// more is how many allocations and bytes a statement may take more than by plain GORM.
type more struct{ allocs, bytes float64 }

// What readsplit adds with three replicas and a session; make budget has the limits for
// reads. A number that became smaller is to be made smaller here.
var mayAllocate = map[string]more{
	"First": {1, 160}, "Find10": {1, 160}, "RawScan": {2, 330}, "Create": {3, 400}, "Transaction": {7, 620},
	"First, prepared": {1, 160}, "Find10, prepared": {1, 160}, "RawScan, prepared": {2, 330}, "Create, prepared": {3, 400}, "Transaction, prepared": {7, 620},
}

func TestAllocations(t *testing.T) {
	for _, prepare := range []bool{false, true} {
		err := overhead.With(overhead.OfThree(prepare), shared.catalog, func(opened []*overhead.Opened) error {
			for _, c := range overhead.Cases {
				name := overhead.Measured{Case: c.Name, Prepare: prepare}.Name()
				may, ok := mayAllocate[name]
				require.True(t, ok, name)
				m := side.Fixed(c.Forms(opened), 1)
				allocs, bytes := 0.0, 0.0
				// Servers are sampled meanwhile, which can only add: one round without is enough.
				for range 50 {
					m.Count(5)
					r := m.Results()
					allocs, bytes = side.More(r[0], r[2])
					if raceEnabled || allocs <= may.allocs && bytes <= may.bytes {
						break
					}
				}
				said := fmt.Sprintf("%s allocates %+.0f times, %+.0f bytes beside plain GORM; it may %+.0f times, %+.0f bytes", name, allocs, bytes, may.allocs, may.bytes)
				t.Log(said)
				if !raceEnabled {
					assert.LessOrEqual(t, allocs, may.allocs, said)
					assert.LessOrEqual(t, bytes, may.bytes, said)
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
}
