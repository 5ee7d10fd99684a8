package main

import (
	"fmt"
	"strings"
	"time"
)

// table prints the results of one network.
func table(o options, network time.Duration, results []result) string {
	var b strings.Builder
	where := "the servers side by side"
	if network > 0 {
		where = fmt.Sprintf("%s of network between primary and replicas, each way", network)
	}
	fmt.Fprintf(&b, "\n**%s%s**\n\n", strings.ToUpper(where[:1]), where[1:])
	fmt.Fprintf(&b, "| | a write, p50 | p99 | own orders missing | reads on the primary | one replica's replay paused: writes not acknowledged within %s | and committed all the same | own orders missing |\n", o.patience)
	b.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range results {
		primary := "0"
		if r.split {
			primary = fmt.Sprintf("%d of %d", r.primary, o.writes)
		}
		held, committed := "-", "-"
		if r.waited > 0 {
			committed = fmt.Sprintf("%d of %d", r.committed, r.waited)
		}
		if r.acknowledged > 0 {
			held = fmt.Sprintf("%d of %d", r.missingHeld, r.acknowledged)
		}
		fmt.Fprintf(&b, "| %s | %.1f ms | %.1f ms | %d of %d | %s | %d of %d | %s | %s |\n", r.name,
			float64(r.median.Microseconds())/1000, float64(r.slow.Microseconds())/1000, r.missing, o.writes, primary, r.waited, o.held, committed, held)
	}
	return b.String()
}
