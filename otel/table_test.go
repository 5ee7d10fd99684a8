package otel

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/prometheus"
	api "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/catalog"
	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// row is one line of the tables of metrics in docs/metrics.md.
type row struct {
	name, prometheus, instrument, unit string
	attributes                         []string
}

var quoted = regexp.MustCompile("`([^`]+)`")

func unquoted(cell string) (words []string) {
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		words = append(words, m[1])
	}
	return words
}

// documented reads docs/metrics.md: the metrics, and the values of each attribute.
func documented(t *testing.T) (rows map[string]row, values map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	rows, values = map[string]row{}, map[string][]string{}
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		switch {
		case strings.HasPrefix(line, "| `readsplit.") && len(cells) == 9, strings.HasPrefix(line, "| `db.client.") && len(cells) == 9:
			r := row{unquoted(cells[1])[0], unquoted(cells[2])[0], strings.TrimSpace(cells[3]), unquoted(cells[4])[0], unquoted(cells[5])}
			require.NotContains(t, rows, r.name, "twice")
			rows[r.name] = r
		case (strings.HasPrefix(line, "| `") && strings.Contains(cells[1], ".")) && len(cells) == 4:
			values[unquoted(cells[1])[0]] = unquoted(cells[2])
		}
	}
	require.Greater(t, len(rows), 40)
	return rows, values
}

// everything is a status in which nothing is missing.
func everything() readsplit.Status {
	now := time.Now()
	pool := sql.DBStats{MaxOpenConnections: 9, InUse: 2, Idle: 3, WaitCount: 4, WaitDuration: time.Second, MaxIdleClosed: 5, MaxIdleTimeClosed: 6, MaxLifetimeClosed: 7}
	conflicts := map[retry.ConflictKind]uint64{}
	for _, k := range retry.ConflictKinds()[1:] { // there is none of no kind
		conflicts[k] = uint64(k)
	}
	st := readsplit.Status{
		Primary: readsplit.ServerStatus{Name: "primary", Up: true, Role: policy.RolePrimary, Sampled: now, Pool: pool},
		Replicas: []readsplit.ServerStatus{{
			Name: "replica1", Up: true, Role: policy.RoleStandby, Sampled: now, Lag: 1500 * time.Millisecond, LagKnown: true,
			BehindBytes: 77, CatchUp: time.Millisecond, InFlight: 3, Pool: pool, Conflicts: conflicts,
		}},
		ReplicaReads: 3, PrimaryReads: 1, Conflicts: conflicts, KeepConflicting: 1, Unsure: 2, OtherHistory: 3, Voided: 4, Refused: 5,
		Shadow:      policy.ShadowCounts{Replica: 6, Primary: 7, Stale: 8},
		Budget:      overload.Status{Reads: 9, InUse: 1, Waiting: 2, Waited: 3, WaitedFor: 1500 * time.Millisecond, Refused: 4, ServedStale: 5},
		Connections: []overload.Connections{{Servers: []string{"primary"}, Available: 97, Needed: 64}, {}},
		Failover:    failover.Status{State: failover.Elected, Timeline: 3, Moves: 2, Hosts: []failover.HostStatus{{Name: "secret.example"}}},
		Catalog:     catalog.Status{Current: true, Functions: 4, Loads: 2, Risks: make([]catalog.Risk, 3)},
	}
	resolver := st
	resolver.Resolver, resolver.SharesPrimary = "orders", true
	own := st
	own.Resolver = "audit"
	st.Resolvers = []readsplit.Status{resolver, own}
	st.RefusedReasons = map[policy.Reason]uint64{policy.ReasonPrimaryLostRefused: 2, policy.ReasonLagging: 1}
	return st
}

// saying is an Observer whose plugin knows and tells all there is.
func saying(t *testing.T, readers ...metric.Reader) *Observer {
	t.Helper()
	var with []metric.Option
	for _, r := range readers {
		with = append(with, metric.WithReader(r))
	}
	provider := metric.NewMeterProvider(with...)
	x, err := New(Options{MeterProvider: provider})
	require.NoError(t, err)
	_, err = x.meter.RegisterCallback(func(_ context.Context, o api.Observer) error {
		x.report(o, everything())
		return nil
	}, x.in.observed...)
	require.NoError(t, err)
	ctx := context.Background()
	for _, resolver := range []string{"", "orders"} {
		for _, r := range policy.Reasons() {
			for _, replica := range []bool{true, false} {
				server := map[bool]string{true: "replica1", false: "primary"}[replica]
				x.ObserveDecision(ctx, observe.Decision{Resolver: resolver, Server: server, Replica: replica, Read: replica, Reason: r, Attempts: 1, Waited: time.Millisecond})
				x.ObserveDecision(ctx, observe.Decision{Resolver: resolver, Server: server, Replica: replica, Read: replica, Reason: r, Begins: true})
			}
		}
		for _, c := range retry.Causes() {
			x.ObserveRetry(ctx, observe.Retry{Resolver: resolver, Server: "replica1", Cause: c})
		}
		for o := observe.TokenAccepted; o <= observe.TokenExpired; o++ {
			x.ObserveToken(observe.Token{Resolver: resolver, Outcome: o})
		}
		x.ObserveCapture(observe.Capture{Resolver: resolver, Took: time.Millisecond})
		x.ObserveCapture(observe.Capture{Resolver: resolver, Took: time.Millisecond, Err: errors.New("password=swordfish")})
	}
	return x
}

// kindOf is the instrument of what was collected, as the table calls it.
func kindOf(t *testing.T, data metricdata.Aggregation) (kind string, sets []attribute.Set) {
	t.Helper()
	switch d := data.(type) {
	case metricdata.Sum[int64]:
		return sumKind(d.IsMonotonic), setsOf(d.DataPoints)
	case metricdata.Sum[float64]:
		return sumKind(d.IsMonotonic), setsOf(d.DataPoints)
	case metricdata.Gauge[int64]:
		return "gauge", setsOf(d.DataPoints)
	case metricdata.Gauge[float64]:
		return "gauge", setsOf(d.DataPoints)
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			sets = append(sets, p.Attributes)
		}
		return "histogram", sets
	}
	require.FailNow(t, "unknown kind", "%T", data)
	return "", nil
}

func sumKind(monotonic bool) string {
	if monotonic {
		return "counter"
	}
	return "updowncounter"
}

func setsOf[N int64 | float64](points []metricdata.DataPoint[N]) (sets []attribute.Set) {
	for _, p := range points {
		sets = append(sets, p.Attributes)
	}
	return sets
}

// TestTable: what is emitted is what docs/metrics.md says, no more and no less: names,
// instruments, units, attributes, and every value that an attribute of a closed list
// takes.
func TestTable(t *testing.T) {
	reader := metric.NewManualReader()
	saying(t, reader)
	rows, values := documented(t)
	seen := map[string]map[string]bool{} // values by attribute
	emitted := metrics(t, reader)
	for _, m := range emitted {
		r, ok := rows[m.Name]
		if !assert.True(t, ok, "%s is not in docs/metrics.md", m.Name) {
			continue
		}
		delete(rows, m.Name)
		kind, sets := kindOf(t, m.Data)
		assert.Equal(t, r.instrument, kind, m.Name)
		assert.Equal(t, r.unit, m.Unit, m.Name)
		assert.NotEmpty(t, m.Description, m.Name)
		keys := map[string]bool{}
		for _, set := range sets {
			for _, kv := range set.ToSlice() {
				key := string(kv.Key)
				keys[key] = true
				if seen[key] == nil {
					seen[key] = map[string]bool{}
				}
				seen[key][kv.Value.String()] = true
			}
		}
		delete(keys, string(keyResolver)) // on everything but what is said of the whole plugin
		want := map[string]bool{}
		for _, a := range r.attributes {
			want[a] = true
		}
		assert.Equal(t, want, keys, m.Name)
	}
	for name := range rows {
		assert.Fail(t, "in docs/metrics.md and not emitted: "+name)
	}
	for key, got := range seen {
		require.Contains(t, values, key, "an attribute that docs/metrics.md does not list")
		list := values[key]
		switch attribute.Key(key) {
		case keyResolver, keyServer, keyConnecting, keyPool:
			continue // names of the configuration
		case keyReason:
			list = nil
			for _, r := range policy.Reasons() {
				list = append(list, r.String())
			}
		case keyCause:
			list = nil
			for _, c := range retry.Causes() {
				list = append(list, c.String())
			}
		case keyError:
			list = []string{retry.CauseStatement.String()} // of the one that was told
		}
		var words []string
		for v := range got {
			words = append(words, v)
		}
		assert.ElementsMatch(t, list, words, key)
	}
}

// TestTablePrometheus: the names in the table are those that the exporter makes.
func TestTablePrometheus(t *testing.T) {
	registry := prom.NewRegistry()
	exporter, err := prometheus.New(prometheus.WithRegisterer(registry), prometheus.WithoutTargetInfo(), prometheus.WithoutScopeInfo())
	require.NoError(t, err)
	saying(t, exporter)
	rows, _ := documented(t)
	want := map[string]string{}
	for _, r := range rows {
		kind := map[string]string{"counter": "COUNTER", "updowncounter": "GAUGE", "gauge": "GAUGE", "histogram": "HISTOGRAM"}[r.instrument]
		want[r.prometheus] = kind
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	got := map[string]string{}
	for _, f := range families {
		got[f.GetName()] = f.GetType().String()
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				assert.Regexp(t, `^(readsplit_|db_client_connection_|error_type$)`, l.GetName())
			}
		}
	}
	assert.Equal(t, want, got)
}

// TestSecrets: nothing that an event or a status holds beside names gets out.
func TestSecrets(t *testing.T) {
	reader := metric.NewManualReader()
	saying(t, reader)
	text := fmt.Sprint(metrics(t, reader))
	assert.NotContains(t, text, "swordfish")
	assert.NotContains(t, text, "secret.example")
	assert.Contains(t, text, "replica1")
}

// TestEveryStateHasItsLine: the words for a server's state are explained.
func TestEveryStateHasItsLine(t *testing.T) {
	text := string(must(os.ReadFile("../docs/metrics.md")))
	var explained []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ").FindAllStringSubmatch(text, -1) {
		explained = append(explained, m[1])
	}
	for _, s := range states {
		assert.True(t, slices.Contains(explained, s), s)
	}
}
