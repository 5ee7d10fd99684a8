package otel

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// app is an application with the plugin and an Observer, in a database of its own.
type app struct {
	*gorm.DB
	c        *testenv.Cluster
	database string
	plugin   *readsplit.Plugin
	watch    *Observer
	reader   *metric.ManualReader
}

var databases atomic.Int64

// newApp opens an application over both replicas. What change leaves open has bounds
// that a slow machine does not reach.
func newApp(t *testing.T, o Options, change func(*readsplit.Config)) *app {
	t.Helper()
	x := &app{c: cluster(t), reader: metric.NewManualReader()}
	x.database = fmt.Sprintf("app_%d", databases.Add(1))
	require.NoError(t, x.c.CreateDatabase(limit(t), x.database))
	o.MeterProvider = metric.NewMeterProvider(metric.WithReader(x.reader))
	var err error
	x.watch, err = New(o)
	require.NoError(t, err)
	cfg := readsplit.Config{
		Observers: []any{x.watch}, SampleEvery: 20 * time.Millisecond, SampleTimeout: 10 * time.Second,
		MaxLag: time.Minute, MaxSampleAge: time.Minute, MaxWait: 10 * time.Second,
	}
	for _, r := range x.c.Replicas() {
		cfg.Replicas = append(cfg.Replicas, x.replica(r))
	}
	if change != nil {
		change(&cfg)
	}
	x.DB, err = gorm.Open(postgres.Open(x.c.Primary().DSNFor(x.database)), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	pool, err := x.DB.DB()
	require.NoError(t, err)
	x.plugin = readsplit.New(cfg)
	t.Cleanup(func() {
		for name := range x.collect(t) {
			for _, secret := range append(strings.Fields(x.c.Primary().DSN()), "SELECT", "ann") {
				_, value, _ := strings.Cut(secret, "=")
				if len(value) > 3 && value != "postgres" {
					secret = value
				}
				require.NotContains(t, name, secret)
			}
		}
		require.NoError(t, x.watch.Unregister())
		require.NoError(t, x.plugin.Close(limit(t)))
		require.NoError(t, pool.Close())
	})
	require.NoError(t, x.Use(x.plugin))
	require.NoError(t, x.watch.Register(x.plugin))
	require.NoError(t, x.Exec("CREATE TABLE orders (id bigserial PRIMARY KEY, customer text)").Error)
	require.NoError(t, x.c.WaitCaughtUp(limit(t))) // AnyReplica would not find the table
	eventually(t, "the replicas to serve", func() bool {
		if !x.plugin.Status().Catalog.Current {
			return false
		}
		for _, r := range x.plugin.Status().Replicas {
			if !r.LagKnown && x.c.Server(r.Name) != nil {
				return false
			}
		}
		return true
	})
	return x
}

func (x *app) replica(s *testenv.Server) readsplit.Replica {
	return readsplit.Replica{Name: s.Name(), Dialector: postgres.Open(s.DSNFor(x.database))}
}

// user is a handle for a user of their own.
func (x *app) user() *gorm.DB {
	return x.WithContext(readsplit.WithSession(context.Background(), readsplit.NewSession()))
}

// whoSQL asks the server that runs it for its name, and what it has.
const whoSQL = "SELECT current_setting('cluster_name') FROM (SELECT count(*) FROM orders) o"

// orders reads, and returns who answered, as the server says.
func orders(t *testing.T, db *gorm.DB) (server string) {
	t.Helper()
	require.NoError(t, db.Raw(whoSQL).Scan(&server).Error)
	return server
}

// emitted is what a collection brought: for each series, as name{attribute=value,..}
// with its attributes sorted, its value; the number of values of a histogram.
type emitted map[string]float64

func (x *app) collect(t *testing.T) emitted {
	t.Helper()
	return collected(t, x.reader)
}

func collected(t *testing.T, reader *metric.ManualReader) emitted {
	t.Helper()
	m := emitted{}
	for _, one := range metrics(t, reader) {
		add := func(set attribute.Set, v float64) {
			name := one.Name + "{" + set.Encoded(attribute.DefaultEncoder()) + "}"
			require.NotContains(t, m, name, "twice")
			m[name] = v
		}
		switch data := one.Data.(type) {
		case metricdata.Sum[int64]:
			points(data.DataPoints, add)
		case metricdata.Sum[float64]:
			points(data.DataPoints, add)
		case metricdata.Gauge[int64]:
			points(data.DataPoints, add)
		case metricdata.Gauge[float64]:
			points(data.DataPoints, add)
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				add(p.Attributes, float64(p.Count))
			}
		default:
			require.FailNow(t, "unknown kind", "%s: %T", one.Name, one.Data)
		}
	}
	return m
}

func points[N int64 | float64](all []metricdata.DataPoint[N], add func(attribute.Set, float64)) {
	for _, p := range all {
		add(p.Attributes, float64(p.Value))
	}
}

// metrics returns what a collection brings.
func metrics(t *testing.T, reader *metric.ManualReader) []metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &all))
	var found []metricdata.Metrics
	for _, s := range all.ScopeMetrics {
		found = append(found, s.Metrics...)
	}
	return found
}

// of returns the series of one metric, without its name.
func (m emitted) of(name string) map[string]float64 {
	found := map[string]float64{}
	for k, v := range m {
		if rest, ok := strings.CutPrefix(k, name+"{"); ok {
			found[strings.TrimSuffix(rest, "}")] = v
		}
	}
	return found
}

// sum adds up the series of a metric whose attributes contain all of the words.
func (m emitted) sum(name string, words ...string) (sum float64) {
next:
	for k, v := range m.of(name) {
		for _, w := range words {
			if !regexp.MustCompile(`(^|,)` + regexp.QuoteMeta(w) + `($|,)`).MatchString(k) {
				continue next
			}
		}
		sum += v
	}
	return sum
}

// limit is a context that no step of a test should outlast.
func limit(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for what has no event to wait for.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	ctx := limit(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(t, "waited 30 s in vain for: "+what)
		}
	}
}
