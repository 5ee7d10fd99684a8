package parts

import (
	"fmt"
	"slices"
	"testing"

	"github.com/readsplit/readsplit/bench/side"
)

// BenchmarkDecide is what make budget measures as decide_ns_3 and decide_ns_1000, for
// benchstat and profiles.
func BenchmarkDecide(b *testing.B) {
	var ops []func(int)
	keep := func(op func(int)) side.Alone {
		ops = append(ops, op)
		return side.Alone{}
	}
	for i, line := range slices.Concat(Decisions(keep), Situations(keep)) {
		for j, n := range Sizes {
			b.Run(fmt.Sprintf("%s/replicas=%d", line.Name, n), func(b *testing.B) {
				b.ReportAllocs()
				ops[i*len(Sizes)+j](b.N)
			})
		}
	}
}
