package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/bench/budget"
	"github.com/readsplit/readsplit/bench/load"
	"github.com/readsplit/readsplit/bench/overhead"
	"github.com/readsplit/readsplit/bench/side"
)

// rounds are the same number, with a little noise, so often that an interval is known.
func rounds(v float64) (all []float64) {
	for i := range 15 {
		all = append(all, v*(1+0.001*float64(i%3)))
	}
	return all
}

func result(form string, ns, allocs, bytes float64) side.Result {
	return side.Result{Form: form, CPU: rounds(ns), LeastAllocs: allocs, LeastBytes: bytes}
}

func row(form string, perSecond, own float64, missed int) load.Row {
	r := load.Row{Mix: "read own write", Clients: 8, Form: form}
	for i := range 15 {
		noise := 1 + 0.001*float64(i%3)
		r.Slices = append(r.Slices, load.Slice{PerSecond: perSecond * noise, Own: load.Latency{P50: own * noise, P99: 9}, Missed: missed})
	}
	return r
}

func TestLose(t *testing.T) {
	said := Lose(Measured{
		Overhead: []overhead.Measured{
			{Case: "First", Results: []side.Result{result("plain", 1000, 50, 3000), result("dbresolver_3", 1100, 51, 3160), result("readsplit_3_session", 1320, 51, 3360)}},
			{Case: "First", Prepare: true, Results: []side.Result{result("plain", 1000, 50, 3000), result("dbresolver_3", 1100, 52, 3160), result("readsplit_3_session", 1000, 51, 3100)}},
		},
		Load:    [][]load.Row{{row(load.Plain, 1000, 0.1, 0), row(load.DBResolver, 3000, 1, 2), row(load.ReadSplit, 9000, 0.01, 0), row(load.Session, 2000, 2, 0)}},
		Budgets: []budget.Line{{Name: "kept", Measured: 1, Limit: 1}, {Name: "missed", Measured: 2, Limit: 1}},
	})
	assert.Contains(t, said, "| First | 1.20 (1.20 to 1.20) | 1.32 | +0 | +200 | we lose: time, bytes |")
	assert.Contains(t, said, "| First, prepared | 0.91 (0.91 to 0.91) | 1.00 | -1 | -60 | no loss |")
	assert.Contains(t, said, "- read own write, clients: 8, plain: p50 of own reads +1.90 ms (2.00 beside 0.10)\n")
	assert.Contains(t, said, "- read own write, clients: 8, dbresolver: 0.67 x its throughput (0.67 to 0.67); p50 of own reads +1.00 ms (2.00 beside 1.00). It did not show 30 writes to those who had made them\n")
	assert.NotContains(t, said, "readsplit: ", "two forms of ours are not compared")
	assert.Contains(t, said, "Budgets that are over: `missed measured=2 limit=1 over`.")
}

func TestNothingLost(t *testing.T) {
	said := Lose(Measured{Load: [][]load.Row{{row(load.Plain, 1000, 1, 0), row(load.Session, 1000, 1, 0)}}})
	assert.Contains(t, said, "- nothing that can be told from the noise.")
	assert.NotContains(t, said, "over:")
}
