package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/internal/orderlab"
	"github.com/readsplit/readsplit/policy"
)

// good returns an outcome without a problem.
func good(phase, strategy string) *orderlab.Outcome {
	o := &orderlab.Outcome{
		Phase: phase, Strategy: strategy, Orders: 300, Claims: strategy != "dbresolver",
		Reads:  map[string]int{"replica1": 700, "replica2": 795, orderlab.Primary: 5},
		OwnP50: 900 * time.Microsecond, OwnP99: 3100 * time.Microsecond, Took: 1500 * time.Millisecond,
		Late: map[string]int{},
	}
	if phase != "healthy" && phase != "rush" {
		o.Faulty, o.FaultReads = true, 1500
	}
	switch phase {
	case "one_replica_paused":
		o.Broken = "replica1"
	case "replica_killed":
		o.Broken, o.Crashed, o.InFlight, o.Late = "replica1", true, 12, map[string]int{"replica1": 60}
	}
	if strategy == "dbresolver" {
		o.Missed, o.MissingReads = 200, 260
		if phase == "replay_paused" {
			o.Missed = 300
		}
	}
	return o
}

var combinations = []struct{ phase, strategy string }{
	{"healthy", "dbresolver"},
	{"healthy", "sticky"},
	{"healthy", "routed"},
	{"healthy", "routed_no_session"},
	{"rush", "dbresolver"},
	{"rush", "routed"},
	{"replay_paused", "dbresolver"},
	{"replay_paused", "sticky"},
	{"replay_paused", "routed"},
	{"one_replica_paused", "dbresolver"},
	{"one_replica_paused", "routed"},
	{"replica_killed", "routed"},
}

func TestAGoodOutcomeHasNoProblem(t *testing.T) {
	for _, c := range combinations {
		assert.Empty(t, problems(good(c.phase, c.strategy)), "%s %s", c.phase, c.strategy)
	}
}

func TestEveryFailureIsFound(t *testing.T) {
	const every = ""
	for _, c := range []struct {
		phase, strategy string // every: all of them
		spoil           func(o *orderlab.Outcome)
		problem         string
	}{
		{every, every, func(o *orderlab.Outcome) { o.Disagreements = []string{"this is not that"} }, "in dispute: this is not that"},
		{every, every, func(o *orderlab.Outcome) { o.Failed, o.Failure = 1, errors.New("broken") }, "1 lists failed, the first with: broken"},
		{every, every, func(o *orderlab.Outcome) { o.Missed, o.Evidence = 1, []string{"order 7"} }, "1 of 300 orders were missing"},
		{every, "routed", func(o *orderlab.Outcome) { o.Missed, o.Evidence = 1, []string{"order 7"} }, "order 7"},
		{"replay_paused", every, func(o *orderlab.Outcome) { o.FaultReads = 99 }, "only 99 reads ran while the fault was in force"},
		{"one_replica_paused", every, func(o *orderlab.Outcome) { o.FaultReads = 0 }, "only 0 reads ran"},
		{"replica_killed", every, func(o *orderlab.Outcome) { o.FaultReads = 99 }, "only 99 reads ran"},
		{"healthy", "dbresolver", func(o *orderlab.Outcome) { o.Missed = 29 }, "the lab proves nothing"},
		{"one_replica_paused", "dbresolver", func(o *orderlab.Outcome) { o.Missed = 29 }, "the lab proves nothing"},
		{"replay_paused", "dbresolver", func(o *orderlab.Outcome) { o.Missed = 299 }, "the lab proves nothing"},
		{"healthy", "routed", func(o *orderlab.Outcome) { o.Reads = map[string]int{"replica1": 9499, primary: 501} }, "95.0% of the reads were on replicas, at least 95%"},
		{"healthy", "routed", func(o *orderlab.Outcome) { o.Reads = nil }, "0.0% of the reads"},
		{"one_replica_paused", "routed", func(o *orderlab.Outcome) { o.Reads = map[string]int{"replica2": 799, primary: 201} }, "those of replica1 belong on the other one"},
		{"one_replica_paused", "routed", func(o *orderlab.Outcome) { o.Late = map[string]int{"replica1": 1} }, "replica1 made 1 lists although it was further behind than MaxLag"},
		{"replica_killed", "routed", func(o *orderlab.Outcome) { o.InFlight = 0 }, "no read was in flight"},
		{"replica_killed", "routed", func(o *orderlab.Outcome) { o.Late = nil }, "replica1 was started again and made no list"},
	} {
		for _, x := range combinations {
			if c.phase != every && c.phase != x.phase || c.strategy != every && c.strategy != x.strategy {
				continue
			}
			o := good(x.phase, x.strategy)
			c.spoil(o)
			found := strings.Join(problems(o), "\n")
			if x.strategy == "dbresolver" && strings.Contains(c.problem, "1 of 300") {
				assert.Contains(t, found, "the lab proves nothing", "a baseline that misses one order is none")
				continue
			}
			assert.Contains(t, found, c.problem, "%s %s", x.phase, x.strategy)
			assert.Contains(t, found, "phase="+x.phase+" strategy="+x.strategy+": ")
		}
	}
}

func TestABusyMachineExplainsNothingButTheShare(t *testing.T) {
	o := good("healthy", "routed")
	o.Reads, o.ToPrimary = map[string]int{primary: 1500}, map[policy.Reason]int{policy.ReasonBehindSession: 1400, policy.ReasonWaitExpired: 100}
	assert.Empty(t, faults(o))
	assert.Equal(t, []string{"phase=healthy strategy=routed: 0.0% of the reads were on replicas, at least 95% should be: behind_session 1400, wait_expired 100"}, problems(o))
	o.Missed = 1
	assert.Len(t, faults(o), 1)
}

func TestARushIsNotAskedForItsShare(t *testing.T) {
	o := good("rush", "routed")
	o.Reads = map[string]int{primary: 1500}
	assert.Empty(t, problems(o))
}

func TestOthersMayLeaveTheReplicasIdle(t *testing.T) {
	for _, strategy := range []string{"sticky", "routed_no_session"} {
		o := good("healthy", strategy)
		o.Reads = map[string]int{primary: 1500}
		assert.Empty(t, problems(o), strategy)
	}
}

func TestTheGuardIsHeldToItsWord(t *testing.T) {
	held := func() *guarded { return &guarded{attempts: 8, panicked: 8, control: 3} }
	assert.Empty(t, held().problems())
	for problem, spoil := range map[string]func(g *guarded){
		"Save through a read session did not panic":           func(g *guarded) { g.passed = []string{"Save"} },
		"the servers saw 1 statements":                        func(g *guarded) { g.sent = 1 },
		"the count proves nothing":                            func(g *guarded) { g.control = 0 },
		"a list through the read session failed: no such row": func(g *guarded) { g.readErr = errors.New("no such row") },
	} {
		g := held()
		spoil(g)
		assert.Contains(t, strings.Join(g.problems(), "\n"), problem)
	}
}
