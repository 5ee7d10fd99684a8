package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv"
)

// A minute of the rules is so short here. Windows stay long enough for a look of
// Prometheus that comes seconds late.
const (
	waitScale   = 200 * time.Millisecond // of "for: 5m"
	windowScale = 700 * time.Millisecond // of [5m]
	docs        = "../../docs"
)

// TestAlertsAndDashboard: Prometheus understands each expression of both files and has
// an answer to it; each alert fires when what it is about happens, and no other; and it
// ends with it.
func TestAlertsAndDashboard(t *testing.T) {
	t.Parallel()
	x := observedShop(t)
	asked := expressions(t)
	for expression := range quiet {
		require.Contains(t, asked, expression, "it is expected to be quiet, and in neither file")
	}

	// Health. Replicas are a little later than a user who has just ordered, who waits.
	for _, r := range x.cluster.Replicas() {
		_, err := r.LagNetwork(x.limit, 10*time.Millisecond)
		require.NoError(t, err)
	}
	var spoken []string
	for _, e := range asked {
		if quiet[e] == "" {
			spoken = append(spoken, e)
		}
	}
	x.speak(t, spoken...)
	x.firing(t, nil)

	// A replica is gone, and somebody has thrown the kill switch and forgotten it.
	x.does(t, "kill replica1", "switch")
	x.firing(t, saying{
		"ReadsplitServerOut replica1 ticket": "down (1)",
		"ReadsplitPrimaryCarriesReads page":  " kill_switch (",
	})
	x.speak(t, quietUntil("an alert")...)
	x.does(t, "undo")
	x.firing(t, nil)

	// Both replicas are paused: the primary carries all reads that its budget admits, and
	// users get errors for the others.
	x.does(t, "pause replica1", "pause replica2")
	x.firing(t, saying{
		"ReadsplitServerOut replica1 ticket": "paused (1)",
		"ReadsplitServerOut replica2 ticket": "paused (1)",
		"ReadsplitPrimaryCarriesReads page":  " lagging (",
		"ReadsplitReadsRefused page":         " lagging (",
	})
	x.does(t, "undo")
	x.firing(t, nil)

	// Reports stand in the way of replay.
	conflicts := quietUntil("a conflict")
	require.NotEmpty(t, conflicts)
	for !x.spoken(t, conflicts...) {
		_, err := x.cluster.Primary().DB().ExecContext(x.limit, "BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE; COMMIT")
		require.NoError(t, err)
		require.NoError(t, x.limit.Err(), "no conflict was seen")
	}
}

// quiet are the expressions to which there is rightly no answer in health, and what it
// takes.
var quiet = map[string]string{
	// Counters that begin with the first of what they count.
	`sum by (readsplit_server_name, readsplit_retry_cause) (rate(readsplit_retries_total{job=~".*",readsplit_resolver_name=~".*",readsplit_server_name=~".*"}[4s]))`: "a conflict",
	`sum by (readsplit_conflict_kind) (rate(readsplit_conflicts_total{job=~".*",readsplit_resolver_name=~".*"}[4s]))`:                                                "a conflict",
	// Reads that are not where they should be.
	"readsplit:reads_displaced:rate5m": "an alert",
	// Marks on a plot, where an alert fired.
	`ALERTS{alertname=~"Readsplit.+",alertstate="firing",job=~".*"}`: "an alert",
}

func quietUntil(what string) (found []string) {
	for expression, until := range quiet {
		if until == what {
			found = append(found, expression)
		}
	}
	return found
}

// watched is a shop with people in it, and a Prometheus that looks at it.
type watched struct {
	cluster    *testenv.Cluster
	prometheus *server
	desk       *desk
	limit      context.Context
}

func observedShop(t *testing.T) *watched {
	limit, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	x := &watched{cluster: testenv.Start(t, testenv.Setting("max_standby_streaming_delay", "0")), limit: limit}
	settings := stage(x.cluster, slog.New(slog.NewTextHandler(t.Output(), nil)))
	settings.config.SampleTimeout = 5 * time.Second // a busy machine is no fault
	settings.config.MaxWait = 200 * time.Millisecond
	shop, err := start(settings)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, shop.close(context.Background())) })
	rules, err := os.ReadFile(filepath.Join(docs, "alerts.yml"))
	require.NoError(t, err)
	x.prometheus, err = prometheusServer(limit, t.TempDir(), shop.url, hurried(rules, waitScale, windowScale))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, x.prometheus.close()) })
	t.Cleanup(welcome(shop.url, customers).home)
	x.desk = &desk{cluster: x.cluster, plugin: shop.plugin, out: io.Discard}
	return x
}

// does what a person would type.
func (x *watched) does(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		_, err := x.desk.obey(x.limit, strings.Fields(line))
		require.NoError(t, err)
	}
}

// speak waits until there is an answer to each expression.
func (x *watched) speak(t *testing.T, all ...string) {
	t.Helper()
	for _, expression := range all {
		x.eventually(t, func() (bool, string) {
			return x.spoken(t, expression), "no answer to " + expression
		})
	}
}

// spoken reports whether there is an answer to each expression now. NaN is none.
func (x *watched) spoken(t *testing.T, all ...string) bool {
	t.Helper()
	for _, expression := range all {
		found, err := x.prometheus.query(x.limit, expression)
		require.NoError(t, err, expression)
		if !slices.ContainsFunc(found, func(s series) bool { return s.Value[1] != "NaN" }) {
			return false
		}
	}
	return true
}

// saying are alerts, by name, server and severity, and what is in their descriptions.
type saying map[string]string

// firing waits until exactly these alerts are active, all of them firing, and say what
// they should: reasons change while a fault is young.
func (x *watched) firing(t *testing.T, want saying) {
	t.Helper()
	x.eventually(t, func() (bool, string) {
		alerts, err := x.prometheus.alerts(x.limit)
		require.NoError(t, err)
		right := len(alerts) == len(want)
		now := map[string]string{}
		for _, a := range alerts {
			name := strings.Join(strings.Fields(a.Labels["alertname"]+" "+a.Labels["readsplit_server_name"]+" "+a.Labels["severity"]), " ")
			now[name] = a.State + ": " + a.Annotations["description"]
			text, wanted := want[name]
			right = right && wanted && a.State == "firing" && strings.Contains(a.Annotations["description"], text)
		}
		return right, fmt.Sprintf("active are %q, and these should fire: %q", now, want)
	})
}

func (x *watched) eventually(t *testing.T, done func() (bool, string)) {
	t.Helper()
	tick := time.NewTicker(judges / 4)
	defer tick.Stop()
	for {
		ok, problem := done()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-x.limit.Done():
			require.FailNow(t, problem)
		}
	}
}

// TestRun: what a person sees who starts it, and ends it.
func TestRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out := &screen{until: "Ctrl-C ends.", then: cancel}
	var errOut screen
	require.NoError(t, run(ctx, []string{"-hurry", "-docs", docs}, strings.NewReader("hello\n"), out, &errOut))
	assert.Contains(t, out.String(), "/readsplit/")
	assert.Contains(t, out.String(), "/alerts")
	require.ErrorContains(t, run(ctx, []string{"-docs", t.TempDir()}, nil, out, &errOut), "-docs")
	require.Error(t, run(ctx, []string{"-nothing"}, nil, out, &errOut))
}

// screen is what a person looks at, who ends the program at a word.
type screen struct {
	mu    sync.Mutex
	text  bytes.Buffer
	until string
	then  func()
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.text.Write(p)
	if s.then != nil && strings.Contains(s.text.String(), s.until) {
		s.then()
	}
	return n, err
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
