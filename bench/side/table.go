package side

import (
	"fmt"
	"io"
	"runtime"
)

// Benchstat writes results in the form that benchstat and go test read and write, a line
// for each round.
func Benchstat(w io.Writer, what string, results []Result) error {
	for _, r := range results {
		for _, ns := range r.Ns {
			if _, err := fmt.Fprintf(w, "Benchmark%s/%s-%d\t%d\t%.1f ns/op\t%.0f B/op\t%.1f allocs/op\n",
				what, r.Form, runtime.GOMAXPROCS(0), r.Ops, ns, r.Bytes, r.Allocs); err != nil {
				return err
			}
		}
	}
	return nil
}

// Table writes results as rows of a table in Markdown; the first form is what the others
// are compared with.
func Table(w io.Writer, what string, results []Result) error {
	for _, r := range results {
		ratio, low, high := Ratio(r, results[0])
		if _, err := fmt.Fprintf(w, "| %s | %s | %.2f us | %.2f (%.2f to %.2f) | %.1f | %+.1f | %.0f | %+.0f |\n", what, r.Form,
			Median(r.Ns)/1000, ratio, low, high, r.Allocs, r.Allocs-results[0].Allocs, r.Bytes, r.Bytes-results[0].Bytes); err != nil {
			return err
		}
	}
	return nil
}

// TableHead is the head of [Table].
const TableHead = "| what | by | time | x plain (quartiles) | allocations | more | bytes | more |\n|---|---|--:|--:|--:|--:|--:|--:|\n"
