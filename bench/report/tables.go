package report

import (
	"fmt"
	"strings"

	"github.com/readsplit/readsplit/bench/budget"
	"github.com/readsplit/readsplit/bench/load"
	"github.com/readsplit/readsplit/bench/overhead"
	"github.com/readsplit/readsplit/bench/parts"
	"github.com/readsplit/readsplit/bench/side"
)

func budgetTable(all []budget.Line) string {
	var b strings.Builder
	b.WriteString("| budget | measured | limit | | how |\n|---|--:|--:|---|---|\n")
	for _, l := range all {
		f := strings.Fields(l.String()) // the same numbers as the command prints
		fmt.Fprintf(&b, "| %s | %s | %s%s | %s | %s |\n", l.Name, strings.TrimPrefix(f[2], "measured="),
			map[budget.Bound]string{budget.AtMost: "at most ", budget.AtLeast: "at least ", budget.Below: "below "}[l.Bound],
			strings.TrimPrefix(f[3], "limit="), map[string]string{"ok": "ok", "over": "**over**"}[f[4]], l.Note)
	}
	return b.String()
}

func overheadTable(all []overhead.Measured) string {
	var b strings.Builder
	for i, m := range all {
		if i == 0 || all[i-1].Prepare != m.Prepare {
			fmt.Fprintf(&b, "\n### PrepareStmt: %t\n\n%s", m.Prepare, side.TableHead)
		}
		b.WriteString(side.Table(m.Case, m.Results))
	}
	return strings.TrimSpace(b.String())
}

func loadTables(all [][]load.Row) string {
	var b strings.Builder
	for i, rows := range all {
		if i == 0 || all[i-1][0].Mix != rows[0].Mix {
			fmt.Fprintf(&b, "\n### %s\n\n%s", rows[0].Mix, load.TableHead)
		}
		b.WriteString(load.Table(rows))
	}
	return strings.TrimSpace(b.String())
}

func lines(first string, all []parts.Line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |", first)
	for _, n := range parts.Sizes {
		fmt.Fprintf(&b, " %d |", n)
	}
	fmt.Fprintf(&b, " allocations |\n|---|%s\n", strings.Repeat("--:|", len(parts.Sizes)+1))
	for _, l := range all {
		fmt.Fprintf(&b, "| %s |", l.Name)
		for _, a := range l.By {
			fmt.Fprintf(&b, " %.0f |", a.CPU)
		}
		fmt.Fprintf(&b, " %.0f |\n", l.Allocs())
	}
	return b.String()
}

func textTable(all []parts.Text) string {
	var b strings.Builder
	b.WriteString("| statement | bytes | by its text | with the catalogue, which is kept | allocations |\n|---|--:|--:|--:|--:|\n")
	for _, t := range all {
		fmt.Fprintf(&b, "| %s | %d | %.0f ns | %.0f ns | %.0f |\n", t.Name, len(t.SQL), t.Alone.CPU, t.Judged.CPU, t.Judged.Allocs)
	}
	return b.String()
}

func tokenTable(all []parts.Token) string {
	var b strings.Builder
	b.WriteString("| a signed token of | length | encode | verify | allocations |\n|---|--:|--:|--:|--:|\n")
	for _, t := range all {
		fmt.Fprintf(&b, "| %s | %d | %.0f ns | %.0f ns | %.0f and %.0f |\n", t.Name, t.Bytes, t.Encode.CPU, t.Verify.CPU, t.Encode.Allocs, t.Verify.Allocs)
	}
	return b.String()
}

// String is the tables of parts, for those who read them on a terminal.
func (p Parts) String() string {
	return strings.Join([]string{
		lines("a decision by the balancer, ns; replicas:", p.Decisions), lines("by the situation", p.Situations), lines("by a policy", p.Policies),
		lines("a balancer alone", p.Picks), textTable(p.Texts), tokenTable(p.Tokens),
		fmt.Sprintf("a user whom the process remembers, of %d: %.0f bytes\n", p.Users, p.SessionBytes),
	}, "\n")
}
