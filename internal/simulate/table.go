package simulate

import (
	"fmt"
	"strings"
	"time"
)

// Seed is the one of docs/balancing.md.
const Seed = 7

// All runs a scenario under each of its balancers.
func All(sc Scenario) []*Result {
	results := make([]*Result, len(sc.Balancers))
	for i, c := range sc.Balancers {
		results[i] = Run(sc, c.Balancer, Seed)
	}
	return results
}

// Table is the results as a table in Markdown.
func Table(sc Scenario, results []*Result) string {
	var b strings.Builder
	b.WriteString("| balancer | p50 | p99 | longest |")
	for _, s := range sc.Servers {
		fmt.Fprintf(&b, " %s |", s.Name)
	}
	b.WriteString(" primary | queue | failed runs |\n|---|--:|--:|--:|" + strings.Repeat("--:|", len(sc.Servers)+3) + "\n")
	for i, r := range results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |", sc.Balancers[i].Name, short(r.P50), short(r.P99), short(r.Max))
		longest := 0
		for j, share := range r.Share {
			fmt.Fprintf(&b, " %.1f %% |", 100*share)
			longest = max(longest, r.Queue[j])
		}
		fmt.Fprintf(&b, " %d | %d |\n", longest, r.Retries)
	}
	return b.String()
}

func short(d time.Duration) string {
	switch ms := float64(d) / float64(time.Millisecond); {
	case ms < 100:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 10_000:
		return fmt.Sprintf("%.0f ms", ms)
	default:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
}
