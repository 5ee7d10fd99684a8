package main

import (
	"bytes"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/internal/orderlab"
)

// few is a lab of trials that are over soon.
func few() *lab {
	return &lab{
		options:  options{orders: 20, faulty: 12, customers: 40, window: time.Second, seed: 1, atOnce: 3},
		out:      new(bytes.Buffer),
		progress: new(orderlab.Progress),
		getenv:   func(string) string { return "" },
	}
}

// TestTheLab runs a trial of each kind on doubles; `make sqlserver` runs them all. It
// leaves out what depends on how busy the machine is: the share of the secondaries.
func TestTheLab(t *testing.T) {
	l := few()
	phases := l.phases()[2:] // without healthy and one_redo_paused
	require.Equal(t, "redo_paused", phases[0].name)
	for i := range phases {
		phases[i].strategies = slices.DeleteFunc(phases[i].strategies, func(s strategy) bool {
			return s.Name() == "plain" || s.Name() == "routed_no_session" || phases[i].name == "failover" && s.Name() == "dbresolver"
		})
	}
	require.NoError(t, l.all(t.Context(), phases, true))
	found := map[string]*orderlab.Outcome{}
	for _, o := range l.outcomes {
		at := o.Phase + " " + o.Strategy
		found[at] = o
		assert.Empty(t, o.Disagreements, at)
		assert.Equal(t, o.Orders*(1+orderlab.Others), o.All()+o.Failed, at)
		switch o.Strategy {
		case "routed", "routed_stated":
			assert.Zero(t, o.Missed, "%s: %v", at, o.Evidence)
			assert.True(t, o.Moved || o.Failed == 0, "%s: %v", at, o.Failure)
		}
	}
	for _, at := range []string{
		"redo_paused dbresolver", "redo_paused lag_seconds", "redo_paused hardened", "suspended dbresolver", "suspended lag_seconds",
	} {
		assert.Equal(t, 12, found[at].Missed, "%s: everybody misses the own order", at)
	}
	assert.Zero(t, found["redo_paused position"].Missed, "what was not redone is known to be missing")
	assert.Zero(t, found["suspended hardened"].Missed, "what is not hardened is known to be missing")
	for at, o := range found {
		if o.Strategy == "routed" && (o.Phase == "redo_paused" || o.Phase == "marker_redo_paused" || o.Phase == "suspended") {
			assert.GreaterOrEqual(t, o.OnPrimary(), o.Orders, "%s: no secondary has the own order of anybody", at)
		}
		if o.Phase == "forced_failover" {
			assert.Equal(t, 3, o.Lost, "%s: what was written while data movement was suspended", at)
			assert.True(t, o.Strategy == "dbresolver" || o.Missed == 0, at)
		}
		if o.Strategy == "routed" && o.Moved {
			assert.Zero(t, o.FailedElsewhere, "%s: %v", at, o.Failure)
		}
	}
	assert.Equal(t, 0, found["no_permission routed"].OnReplicas(), "nothing is known of a secondary, and nothing was stated")
	assert.Len(t, l.outcomes, 18)
}

// TestAFailedTrialEndsTheRun: the servers that were named are not there.
func TestAFailedTrialEndsTheRun(t *testing.T) {
	l := few()
	l.only = "healthy"
	l.servers.Primary = "sqlserver://sa:hidden@127.0.0.1:1?database=shop&encrypt=disable&dial+timeout=1"
	err := l.run(t.Context())
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "hidden")
}

func TestArguments(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want options
	}{
		"none":  {nil, options{orders: 1000, faulty: 300, customers: 400, pause: 5 * time.Millisecond, seed: 1, atOnce: 1}},
		"short": {[]string{"-short", "-rate", "0", "-seed", "7", "-only", "marker", "-v"}, options{orders: 100, faulty: 80, customers: 100, window: time.Second, seed: 7, only: "marker", verbose: true, atOnce: 3}},
	} {
		got, err := parse(c.args, new(bytes.Buffer))
		require.NoError(t, err, name)
		assert.Equal(t, c.want, got, name)
	}
	for _, args := range [][]string{{"healthy"}, {"-only", "health"}, {"-seed", "-1"}, {"-rate", "-1"}} {
		var out bytes.Buffer
		_, err := parse(args, &out)
		require.Error(t, err)
		assert.NotEmpty(t, out.String(), "%v: it says what is wrong", args)
	}
	_, err := parse([]string{"-help"}, new(bytes.Buffer))
	assert.ErrorIs(t, err, flag.ErrHelp)
}

func TestEveryPhaseAndStrategyHasWords(t *testing.T) {
	for _, p := range few().phases() {
		assert.NotEmpty(t, words.Phases[p.name], p.name)
		for _, s := range p.strategies {
			assert.NotEmpty(t, words.Strategies[s.Name()], s.Name())
		}
	}
}
