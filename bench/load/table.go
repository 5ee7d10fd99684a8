package load

import (
	"fmt"
	"strings"

	"github.com/readsplit/readsplit/bench/side"
)

// TableHead is the head of the rows that Table writes.
const TableHead = "| clients | by | operations/s | x plain (quartiles) | processor | read p50 | p99 | own read p50 | p99 | write p50 | p99 | on replicas | missed |\n|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"

// Table returns rows of a table in Markdown; the first is what the others are compared with.
func Table(rows []Row) string {
	var b strings.Builder
	for _, r := range rows {
		ratio := side.Ratios(r.Values(PerSecond), rows[0].Values(PerSecond))
		fmt.Fprintf(&b, "| %d | %s | %.0f | %.2f (%.2f to %.2f) | %.0f us | %s | %s | %s | %s | %s | %s | %s | %s |\n",
			r.Clients, r.Form, r.Of(PerSecond), ratio.Median, ratio.Low, ratio.High, r.Of(func(s Slice) float64 { return s.CPU }),
			r.ms(func(s Slice) float64 { return s.Reads.P50 }), r.ms(func(s Slice) float64 { return s.Reads.P99 }),
			r.ms(func(s Slice) float64 { return s.Own.P50 }), r.ms(func(s Slice) float64 { return s.Own.P99 }),
			r.ms(func(s Slice) float64 { return s.Writes.P50 }), r.ms(func(s Slice) float64 { return s.Writes.P99 }),
			r.share(), r.missed())
	}
	return b.String()
}

func (r Row) ms(of func(Slice) float64) string {
	v := r.Of(of)
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f ms", v)
}

func (r Row) share() string {
	if v := r.Of(func(s Slice) float64 { return s.OnReplicas }); v >= 0 {
		return fmt.Sprintf("%.1f %%", 100*v)
	}
	return ""
}

func (r Row) missed() string {
	if n := r.Missed(); n > 0 {
		return fmt.Sprintf("**%d**", n)
	}
	return "0"
}
