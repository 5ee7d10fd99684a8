package orderlab

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

func claimed(server string, reason policy.Reason) claim {
	return claim{made: true, decision: readsplit.Decision{Server: server, Replica: server != Primary, Reason: reason, Attempts: 1}}
}

func list(servedBy string, c claim) reading {
	now := time.Now()
	return reading{began: now, ended: now.Add(time.Millisecond), servedBy: servedBy, replica: servedBy != Primary, claim: c}
}

// named is a strategy of which nothing but the name is asked.
type named string

func (n named) Name() string                                       { return string(n) }
func (named) Request(ctx context.Context, _ int64) context.Context { return ctx }
func (named) Status() (readsplit.Status, bool)                     { return readsplit.Status{}, false }
func (named) Close(context.Context) error                          { return nil }

func trialOf(readings ...reading) *Outcome {
	t := &Trial{Phase: "healthy", Strategy: named("routed"), Orders: 10, Ways: []string{"Create"}}
	return t.measure(&record{readings: readings}, nil)
}

func TestReadsAreCountedByTheNamesOfTheServers(t *testing.T) {
	o := trialOf(list("replica1", claim{}), list("replica2", claim{}), list("replica1", claim{}), list(Primary, claim{}))
	assert.Equal(t, map[string]int{"replica1": 2, "replica2": 1, Primary: 1}, o.Reads)
	assert.Equal(t, 4, o.All())
	assert.Equal(t, 3, o.OnReplicas())
	assert.Equal(t, 1, o.OnPrimary())
	assert.InDelta(t, 0.75, o.Share(), 1e-9)
	assert.Zero(t, new(Outcome).Share())
}

func TestAFailedReadIsNobodys(t *testing.T) {
	broken := errors.New("broken")
	failed := list("", claim{})
	failed.err = broken
	o := trialOf(failed, list(Primary, claim{}))
	assert.Equal(t, map[string]int{Primary: 1}, o.Reads)
	assert.Equal(t, 1, o.Failed)
	assert.Equal(t, broken, o.Failure)
}

func TestTheRouterMustSayWhatTheListSays(t *testing.T) {
	assert.Empty(t, trialOf(list("replica1", claimed("replica1", policy.ReasonCaughtUp))).Disagreements)
	assert.Equal(t,
		[]string{`DecisionOf says that "replica2" (replica=true, reason caught_up) served a list that "replica1" made`},
		trialOf(list("replica1", claimed("replica2", policy.ReasonCaughtUp))).Disagreements)
	wrongKind := claimed(Primary, policy.ReasonBehindSession)
	wrongKind.decision.Replica = true
	assert.Len(t, trialOf(list(Primary, wrongKind)).Disagreements, 1)
}

func TestTheRouterMustCountWhatTheListsSay(t *testing.T) {
	before := readsplit.Status{PrimaryReads: 5, Replicas: []readsplit.ServerStatus{{Name: "replica1", Reads: 7}}}
	after := readsplit.Status{PrimaryReads: 6, Replicas: []readsplit.ServerStatus{{Name: "replica1", Reads: 9}}}
	made := []reading{
		list(Primary, claimed(Primary, policy.ReasonBehindSession)),
		list("replica1", claimed("replica1", policy.ReasonCaughtUp)),
		list("replica1", claimed("replica1", policy.ReasonCaughtUp)),
	}
	o := trialOf(made...)
	o.compareStatus(before, after)
	assert.Empty(t, o.Disagreements)

	o = trialOf(made[:2]...)
	o.compareStatus(before, after)
	assert.Equal(t, []string{"Status counts 2 reads of replica1, which made 1 lists"}, o.Disagreements)

	o = trialOf(list(Primary, claim{}))
	o.compareStatus(readsplit.Status{}, readsplit.Status{PrimaryReads: 1})
	assert.Equal(t, []string{"DecisionOf says nothing of any read"}, o.Disagreements)
}

func TestTheServersMustCountWhatTheListsSay(t *testing.T) {
	for name, c := range map[string]struct {
		executed, retried int
		fault             *Fault
		want              int
	}{
		"the same":                           {2, 0, nil, 0},
		"one less":                           {1, 0, nil, 1},
		"one more":                           {3, 0, nil, 1},
		"one more, that was run again":       {3, 1, nil, 0},
		"two more, one was run again":        {4, 1, nil, 1},
		"it lost its counters in a crash":    {0, 0, &Fault{Server: "replica1", Crashes: true}, 0},
		"another one lost its counters":      {0, 0, &Fault{Server: "replica2", Crashes: true}, 1},
		"its replay is paused, it can count": {0, 0, &Fault{Server: "replica1"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := trialOf(list("replica1", claim{}), list("replica1", claim{}))
			o.compareServers(map[string]int{"replica1": c.executed, Primary: 0}, c.retried, c.fault)
			assert.Len(t, o.Disagreements, c.want)
		})
	}
}

func TestRunsThatCameToNothing(t *testing.T) {
	before := readsplit.Status{Voided: 1, Retries: map[retry.Cause]uint64{retry.CauseServerDead: 2}}
	after := readsplit.Status{Voided: 2, Retries: map[retry.Cause]uint64{retry.CauseServerDead: 5, retry.CauseSchemaBehind: 1}}
	assert.Equal(t, 5, retried(before, after))
}

func TestReadsUnderAFaultAreThoseThatItCouldHarm(t *testing.T) {
	start := time.Now()
	at := func(began, ended int) reading {
		return reading{began: start.Add(time.Duration(began)), ended: start.Add(time.Duration(ended)), servedBy: "replica1", replica: true}
	}
	f := &Fault{Server: "replica1", Struck: Span{start.Add(10), start.Add(20)}, Late: start.Add(50)}
	tr := &Trial{Phase: "replica_killed", Strategy: named("routed"), Fault: f}
	o := tr.measure(&record{readings: []reading{at(0, 5), at(5, 15), at(30, 40), at(45, 60), at(50, 60), at(70, 80)}},
		[]Span{{start.Add(15), start.Add(45)}})
	assert.Equal(t, 1, o.FaultReads)
	assert.Equal(t, 1, o.InFlight)
	assert.Equal(t, map[string]int{"replica1": 2}, o.Late)
}
