package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/readsplit/readsplit/bench/load"
	"github.com/readsplit/readsplit/bench/overhead"
	"github.com/readsplit/readsplit/bench/side"
)

// Lose lists what readsplit does worse than others in what was measured. Of what is measured
// in time, that is what 95 % of an interval around the median says; what is nearer than
// that is nobody's.
func Lose(m Measured) string {
	var b strings.Builder
	b.WriteString("Per statement, over the driver that answers at once: three replicas and a session, beside dbresolver with three replicas (which does nothing of what a session does) and plain GORM.\n\n")
	b.WriteString("| statement | x dbresolver's time | x plain's time | allocations more than dbresolver | bytes more | |\n|---|--:|--:|--:|--:|---|\n")
	for _, o := range m.Overhead {
		b.WriteString(statement(o))
	}
	b.WriteString("\nOn real servers, readsplit with a session beside each other form:\n\n")
	lost := servers(m.Load)
	if lost == nil {
		lost = []string{"nothing that can be told from the noise."}
	}
	for _, l := range lost {
		fmt.Fprintf(&b, "- %s\n", l)
	}
	var over []string
	for _, l := range m.Budgets {
		if !l.OK() {
			over = append(over, fmt.Sprintf("`%s`", strings.TrimPrefix(l.String(), "budget: ")))
		}
	}
	if over != nil {
		fmt.Fprintf(&b, "\nBudgets that are over: %s.\n", strings.Join(over, ", "))
	}
	return b.String()
}

func find(results []side.Result, form string) side.Result {
	return results[slices.IndexFunc(results, func(r side.Result) bool { return r.Form == form })]
}

func statement(o overhead.Measured) string {
	ours, theirs, plain := find(o.Results, "readsplit_3_session"), find(o.Results, "dbresolver_3"), o.Results[0]
	time := side.Ratios(ours.CPU, theirs.CPU)
	allocs, bytes := side.More(theirs, ours)
	var lost []string
	if time.From > 1 {
		lost = append(lost, "time")
	}
	if allocs >= 0.5 {
		lost = append(lost, "allocations")
	}
	if bytes >= 8 {
		lost = append(lost, "bytes")
	}
	verdict := "no loss"
	if lost != nil {
		verdict = "we lose: " + strings.Join(lost, ", ")
	}
	return fmt.Sprintf("| %s | %.2f (%s) | %.2f | %+.0f | %+.0f | %s |\n", o.Name(), time.Median, time.Interval(),
		side.Ratios(ours.CPU, plain.CPU).Median, allocs, bytes, verdict)
}

// servers lists where another form is faster, and says where that form shows less.
func servers(all [][]load.Row) (lost []string) {
	for _, rows := range all {
		i := slices.IndexFunc(rows, func(r load.Row) bool { return r.Form == load.Session })
		if i < 0 {
			continue
		}
		ours := rows[i]
		for _, other := range rows {
			if other.Form == load.Session || other.Form == load.ReadSplit {
				continue
			}
			var what []string
			if r := side.Ratios(ours.Values(load.PerSecond), other.Values(load.PerSecond)); r.To < 1 {
				what = append(what, fmt.Sprintf("%.2f x its throughput (%.2f to %.2f)", r.Median, r.From, r.To))
			}
			for _, l := range []struct {
				name string
				of   func(load.Slice) load.Latency
			}{
				{"reads", func(s load.Slice) load.Latency { return s.Reads }},
				{"own reads", func(s load.Slice) load.Latency { return s.Own }},
				{"writes", func(s load.Slice) load.Latency { return s.Writes }},
			} {
				for q, of := range map[string]func(load.Slice) float64{
					"p50": func(s load.Slice) float64 { return l.of(s).P50 }, "p99": func(s load.Slice) float64 { return l.of(s).P99 },
				} {
					if d := side.Differences(ours.Values(of), other.Values(of)); d.From > 0 {
						what = append(what, fmt.Sprintf("%s of %s %+.2f ms (%.2f beside %.2f)", q, l.name, d.Median, ours.Of(of), other.Of(of)))
					}
				}
			}
			slices.Sort(what)
			if what == nil {
				continue
			}
			line := fmt.Sprintf("%s, clients: %d, %s: %s", ours.Mix, ours.Clients, other.Form, strings.Join(what, "; "))
			if n := other.Missed(); n > 0 {
				line += fmt.Sprintf(". It did not show %d writes to those who had made them", n)
			}
			lost = append(lost, line)
		}
	}
	return lost
}
