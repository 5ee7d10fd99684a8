package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/internal/orderlab"
)

// good returns an outcome without a problem.
func good(phase, strategy string) *orderlab.Outcome {
	o := &orderlab.Outcome{Phase: phase, Strategy: strategy, Orders: 100, Reads: map[string]int{"SQL2": 300, orderlab.Primary: 200}}
	o.Moved = strings.HasSuffix(phase, "failover")
	if phase != "healthy" {
		o.Faulty, o.FaultReads = true, 500
	}
	if slices.Contains(deceived[phase].strategies, strategy) {
		o.Missed = 100
	}
	return o
}

func TestAGoodOutcomeHasNoProblem(t *testing.T) {
	for _, p := range few().phases() {
		for _, s := range p.strategies {
			assert.Empty(t, problems(good(p.name, s.Name())), "%s %s", p.name, s.Name())
		}
	}
}

func TestEveryFailureIsFound(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		phase, strategy string
		spoil           func(o *orderlab.Outcome)
		problem         string
	}{
		{"healthy", "plain", func(o *orderlab.Outcome) { o.Disagreements = []string{"this is not that"} }, "this is not that"},
		{"healthy", "plain", func(o *orderlab.Outcome) { o.Missed = 1 }, "1 of 100 orders were missing"},
		{"healthy", "routed", func(o *orderlab.Outcome) { o.Missed, o.Evidence = 1, []string{"order 7"} }, "order 7"},
		{"listener", "routed_stated", func(o *orderlab.Outcome) { o.Missed = 1 }, "1 of 100 orders"},
		{"redo_paused", "routed_no_session", func(o *orderlab.Outcome) { o.Missed = 1 }, "1 of 100 orders"},
		{"suspended", "routed", func(o *orderlab.Outcome) { o.Failed, o.Failure = 1, broken }, "1 lists failed, the first with: broken"},
		{"failover", "routed", func(o *orderlab.Outcome) { o.Failed, o.FailedElsewhere, o.Failure = 2, 1, broken }, "1 lists failed on secondaries: broken"},
		{"suspended", "routed", func(o *orderlab.Outcome) { o.FaultReads = 99 }, "only 99 reads ran"},
		{"redo_paused", "dbresolver", func(o *orderlab.Outcome) { o.Missed = 99 }, "the lab proves nothing"},
		{"healthy", "position", func(o *orderlab.Outcome) { o.Missed = 1 }, "1 of 100 orders"},
		{"commits_hidden", "position", func(o *orderlab.Outcome) { o.Missed = 0 }, "the lab proves nothing"},
		{"one_redo_paused", "dbresolver", func(o *orderlab.Outcome) { o.Missed = 24 }, "at least 25 should be: the lab proves nothing"},
		{"redo_paused", "hardened", func(o *orderlab.Outcome) { o.Missed = 99 }, "the lab proves nothing"},
		{"suspended", "lag_seconds", func(o *orderlab.Outcome) { o.Missed = 0 }, "the lab proves nothing"},
		{"healthy", "routed", func(o *orderlab.Outcome) { o.Reads = map[string]int{orderlab.Primary: 500} }, "no list was made by a secondary"},
		{"redo_paused", "routed", func(o *orderlab.Outcome) { o.Reads = map[string]int{"SQL2": 401, orderlab.Primary: 99} }, "99 reads were on the primary"},
		{"marker_redo_paused", "routed", func(o *orderlab.Outcome) { o.Reads = map[string]int{"SQL2": 500} }, "0 reads were on the primary"},
	} {
		o := good(c.phase, c.strategy)
		c.spoil(o)
		assert.Contains(t, strings.Join(problems(o), "\n"), c.problem, "%s %s", c.phase, c.strategy)
	}
}

func TestWhatMayBe(t *testing.T) {
	o := good("failover", "routed")
	o.Failed, o.Failure, o.FailedWrites = 3, errors.New("broken"), 10
	assert.Empty(t, problems(o), "requests that were under way on the old primary")
	o = good("suspended", "hardened")
	assert.Empty(t, problems(o), "it knows that nothing arrives")
	assert.Equal(t, "   3 reads failed   10 writes failed, and were made again   6 orders were lost",
		remark(&orderlab.Outcome{Failed: 3, FailedWrites: 10, Lost: 6}))
}
