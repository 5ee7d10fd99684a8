package side

import (
	"fmt"
	"io"
	"runtime"
	"strings"
)

// Benchstat writes results in the form that benchstat and go test read and write, a line
// for each round.
func Benchstat(w io.Writer, what string, results []Result) error {
	for _, r := range results {
		for i := range r.CPU {
			if _, err := fmt.Fprintf(w, "Benchmark%s/by=%s-%d\t%d\t%.1f ns/op\t%.1f cpu-ns/op\t%.0f B/op\t%.0f allocs/op\n",
				what, r.Form, runtime.GOMAXPROCS(0), r.Ops, r.Wall[i], r.CPU[i], r.Bytes[i], r.Allocs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Table returns results as rows of a table in Markdown; the first form is what the others
// are compared with.
func Table(what string, results []Result) string {
	var b strings.Builder
	plain := results[0]
	for _, r := range results {
		allocs, bytes := More(plain, r)
		ratio := Ratios(r.CPU, plain.CPU)
		fmt.Fprintf(&b, "| %s | %s | %.2f us | %.2f (%.2f to %.2f) | %.0f | %+.0f | %.0f | %+.0f |\n", what, r.Form,
			Median(r.CPU)/1000, ratio.Median, ratio.Low, ratio.High,
			r.LeastAllocs, allocs, r.LeastBytes, bytes)
	}
	return b.String()
}

// TableHead is the head of [Table].
const TableHead = "| what | by | processor time | x plain (quartiles) | allocations | more | bytes | more |\n|---|---|--:|--:|--:|--:|--:|--:|\n"
