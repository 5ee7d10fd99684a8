package journey

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/readsplit/readsplit/examples/webshop/stage"
)

// columns are the conditions of the table.
var columns = []struct {
	name string
	of   []stage.Condition
}{
	{"all", nil},
	{"quiet", []stage.Condition{stage.Quiet}},
	{"one off", []stage.Condition{stage.OneDelayed, stage.OnePaused}},
	{"both off", []stage.Condition{stage.BothDelayed, stage.BothPaused}},
	{"5s behind", []stage.Condition{stage.FarBehind}},
}

// Table shows how much of the reads replicas have answered, for each endpoint.
func (t *Tally) Table() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%-26s %9s %8s  ", "", "", "")
	fmt.Fprintf(&b, "reads on replicas\n%-26s %9s %8s ", "endpoint", "requests", "reads")
	for _, c := range columns {
		fmt.Fprintf(&b, " %9s", c.name)
	}
	fmt.Fprintf(&b, " %8s %8s\n", "p50", "p99")
	row := func(name, filter string, requests int, took []time.Duration) {
		fmt.Fprintf(&b, "%-26s %9d %8d ", name, requests, t.sum(filter).reads)
		for _, c := range columns {
			fmt.Fprintf(&b, " %9s", percent(t.sum(filter, c.of...)))
		}
		fmt.Fprintf(&b, " %8s %8s\n", millis(percentile(took, 0.5)), millis(percentile(took, 0.99)))
	}
	var requests int
	var took []time.Duration
	for _, name := range t.names() {
		e := t.endpoints[name]
		row(name, name, e.requests, e.took)
		requests += e.requests
		took = append(took, e.took...)
	}
	row("together", "", requests, took)
	return b.String()
}

func percent(c count) string {
	share, ok := c.share()
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*share)
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.2fms", float64(d)/float64(time.Millisecond))
}

// Reasons says why the reads went where they went, the most frequent reason first.
func (t *Tally) Reasons() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, r := range slices.SortedFunc(maps.Keys(t.reasons), func(a, b reason) int {
		return cmp.Or(t.reasons[b]-t.reasons[a], strings.Compare(a.why, b.why))
	}) {
		where := primary
		if r.replica {
			where = "replica"
		}
		fmt.Fprintf(&b, "%8d  on a %-8s %s\n", t.reasons[r], where, cmp.Or(r.why, "no reason given"))
	}
	return b.String()
}

// Share is the part of all reads that replicas have answered.
func (t *Tally) Share() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	share, _ := t.sum("").share()
	return share
}

// Shares says what that part is made of.
func (t *Tally) Shares() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	always, quiet := t.sum(""), t.sum("", stage.Quiet)
	return fmt.Sprintf("replica share: %s of all reads, %s while nothing is disturbed; without what the checkout must read on the primary %s, and %s",
		percent(always), percent(quiet), percent(always.free()), percent(quiet.free()))
}

// Line is the last line.
func (o *Outcome) Line(t *Tally) string {
	return fmt.Sprintf("journeys: total=%d missing=%d replica_share=%.1f%%", o.Total, o.Missing, 100*t.Share())
}

// String says what the customers have seen.
func (o *Outcome) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d journeys in %.0fs\n", o.Total, o.Took.Seconds())
	fmt.Fprintf(&b, "journeys by how they ordered:")
	for w := range ways {
		if w > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %s %d (missing %d)", w, o.byWay[w].total, o.byWay[w].missing)
	}
	fmt.Fprintf(&b, "\nmissing: orders in lists %d, products in carts %d, carts that the checkout took for empty %d\n",
		o.missed.orders, o.missed.carts, o.missed.refused)
	return b.String()
}

// Lists says what happened to the replicas while lists of orders were read.
func (t *Tally) Lists() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	for _, c := range stage.Conditions() {
		parts = append(parts, fmt.Sprintf("%s %d", c, t.lists(c)))
	}
	return "lists of orders by what happened to the replicas meanwhile: " + strings.Join(parts, ", ")
}

func (t *Tally) lists(during stage.Condition) int {
	if e := t.endpoints[listEndpoint]; e != nil && e.during[during] != nil {
		return e.during[during].requests
	}
	return 0
}

// Undisturbed reports what the run did not show: without replicas that were behind, a
// journey in which nothing is missing proves nothing.
func (t *Tally) Undisturbed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	behind, all := 0, 0
	for _, c := range stage.Conditions() {
		n := t.lists(c)
		all += n
		if c.Both() {
			behind += n
		}
	}
	if behind*10 < all {
		return fmt.Errorf("only %d of %d lists were read while both replicas were behind: too few to prove anything", behind, all)
	}
	return nil
}

// CostTable shows what the sessions around the handler cost.
func CostTable(costs []Cost) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-38s %6s  %-28s %-28s\n", "what a request takes", "pairs", "p50 without -> with", "p99 without -> with")
	for _, c := range costs {
		fmt.Fprintf(&b, "%-38s %6d  %-28s %-28s\n", c.What, len(c.With), added(c, 0.5), added(c, 0.99))
	}
	return b.String()
}

func added(c Cost, p float64) string {
	without, with := percentile(c.Without, p), percentile(c.With, p)
	return fmt.Sprintf("%s -> %s (%+.2fms)", millis(without), millis(with), float64(with-without)/float64(time.Millisecond))
}
