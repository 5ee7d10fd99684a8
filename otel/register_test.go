package otel

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	otelapi "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
)

// TestUnregister: it takes away everything but the two histograms, and what comes
// later is not counted.
func TestUnregister(t *testing.T) {
	x := newApp(t, Options{}, nil)
	orders(t, x.user())
	x.watch.ObserveDecision(t.Context(), observe.Decision{Server: "replica1", Replica: true, Read: true, Reason: policy.ReasonWaited, Waited: time.Millisecond})
	before := x.collect(t)
	require.Greater(t, len(before), 60)
	require.NoError(t, x.watch.Unregister())
	left := x.collect(t)
	for name := range left {
		assert.Regexp(t, `^readsplit\.(decision\.wait|capture\.duration)\{`, name)
	}
	orders(t, x.user())
	x.watch.ObserveDecision(t.Context(), observe.Decision{Server: "replica1", Replica: true, Read: true, Reason: policy.ReasonWaited, Waited: time.Millisecond})
	assert.Equal(t, left, x.collect(t), "nothing is counted any more")
	require.NoError(t, x.watch.Unregister(), "again does nothing")

	// Another time, from the beginning.
	require.NoError(t, x.watch.Register(x.plugin))
	again := x.collect(t)
	assert.Empty(t, again.of("readsplit.statements"))
	assert.Len(t, again.of("readsplit.server.up"), 3)
	orders(t, x.user())
	assert.InDelta(t, 1, x.collect(t).sum("readsplit.statements"), 0)
}

// TestUnregisterLetsGo: neither the Observer nor the MeterProvider keeps a plugin.
func TestUnregisterLetsGo(t *testing.T) {
	reader := metric.NewManualReader()
	watch, err := New(Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	require.NoError(t, err)
	gone := make(chan struct{})
	func() {
		plugin := readsplit.New(readsplit.Config{Observers: []any{watch}})
		runtime.AddCleanup(plugin, func(c chan struct{}) { close(c) }, gone)
		require.NoError(t, watch.Register(plugin))
		require.NotEmpty(t, collected(t, reader))
		require.NoError(t, watch.Unregister())
	}()
	eventually(t, "the plugin to be collected", func() bool {
		runtime.GC()
		select {
		case <-gone:
			return true
		default:
			return false
		}
	})
	require.Empty(t, collected(t, reader))
	runtime.KeepAlive(watch)
}

func TestRegisterOnce(t *testing.T) {
	watch, err := New(Options{MeterProvider: noop.NewMeterProvider()})
	require.NoError(t, err)
	require.EqualError(t, watch.Register(nil), "readsplit: otel: Register was called without a plugin: give it what readsplit.New returned")
	require.NoError(t, watch.Unregister(), "before there is anything")
	p := readsplit.New(readsplit.Config{})
	require.NoError(t, watch.Register(p))
	require.ErrorContains(t, watch.Register(p), "this Observer has a plugin already: make one for each with otel.New")
	require.NoError(t, watch.Unregister())
	require.NoError(t, watch.Register(readsplit.New(readsplit.Config{})))
	require.NoError(t, watch.Unregister())
}

func TestOptions(t *testing.T) {
	_, err := New(Options{Attributes: []attribute.KeyValue{attribute.String("db.namespace", "shop"), attribute.String("readsplit.server.name", "x")}})
	require.ErrorContains(t, err, `otel.Options.Attributes[1] is "readsplit.server.name": names that begin with readsplit. are this package's own`)
	_, err = New(Options{Attributes: []attribute.KeyValue{{}}})
	require.ErrorContains(t, err, "otel.Options.Attributes[0] has no key or no value")
	_, err = New(Options{})
	require.NoError(t, err, "the global MeterProvider")
}

// TestSeveralPlugins: two plugins of one process, told apart by an attribute.
func TestSeveralPlugins(t *testing.T) {
	c := cluster(t)
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	for _, name := range []string{"shop", "archive"} {
		watch, err := New(Options{MeterProvider: provider, Attributes: []attribute.KeyValue{attribute.String("db.namespace", name)}})
		require.NoError(t, err)
		db, err := gorm.Open(postgres.Open(c.Primary().DSN()), &gorm.Config{Logger: logger.Discard})
		require.NoError(t, err)
		pool, err := db.DB()
		require.NoError(t, err)
		plugin := readsplit.New(readsplit.Config{Observers: []any{watch}, Replicas: []readsplit.Replica{{Name: "replica1", Dialector: postgres.Open(c.Replica(0).DSN())}}})
		require.NoError(t, db.Use(plugin))
		require.NoError(t, watch.Register(plugin))
		t.Cleanup(func() {
			require.NoError(t, watch.Unregister())
			require.NoError(t, plugin.Close(limit(t)))
			require.NoError(t, pool.Close())
		})
		var n int
		require.NoError(t, db.WithContext(readsplit.Fresh(t.Context())).Raw("SELECT 1").Scan(&n).Error)
		if name == "shop" {
			require.NoError(t, db.WithContext(readsplit.Fresh(t.Context())).Raw("SELECT 1").Scan(&n).Error)
		}
	}
	m := collected(t, reader)
	const rest = ",readsplit.operation=read,readsplit.reason=fresh,readsplit.server.name=primary,readsplit.server.role=primary"
	assert.Equal(t, map[string]float64{"db.namespace=shop" + rest: 2, "db.namespace=archive" + rest: 1}, m.of("readsplit.statements"))
	assert.Len(t, m.of("readsplit.server.up"), 4)
}

// TestDeaf: an Observer that was not given to the plugin says so, once.
func TestDeaf(t *testing.T) {
	var said []string
	old := otelapi.GetErrorHandler()
	otelapi.SetErrorHandler(otelapi.ErrorHandlerFunc(func(err error) { said = append(said, err.Error()) }))
	defer otelapi.SetErrorHandler(old)
	x := newApp(t, Options{}, func(cfg *readsplit.Config) { cfg.Observers = nil })
	x.collect(t)
	x.collect(t)
	assert.Empty(t, said, "nothing was read")
	orders(t, x.user())
	for range 3 {
		x.collect(t)
	}
	assert.Equal(t, []string{"readsplit: otel: the plugin serves reads and tells this Observer of none: put it into readsplit.Config.Observers, else what it counts itself stays at 0"}, said)
}

// TestCollectingWhileRegistering: a collection holds a lock of the SDK that Register and
// Unregister need. Statements, collections and registrations in each other's way must
// neither race nor wait for each other for ever.
func TestCollectingWhileRegistering(t *testing.T) {
	readers := []*metric.ManualReader{metric.NewManualReader(), metric.NewManualReader()}
	watch, err := New(Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(readers[0]), metric.WithReader(readers[1]))})
	require.NoError(t, err)
	p := readsplit.New(readsplit.Config{})
	var all sync.WaitGroup
	for _, r := range readers {
		all.Go(func() {
			for range 200 {
				var data metricdata.ResourceMetrics
				assert.NoError(t, r.Collect(context.Background(), &data))
			}
		})
	}
	all.Go(func() {
		for range 200 {
			assert.NoError(t, watch.Register(p))
			assert.NoError(t, watch.Unregister())
		}
	})
	all.Go(func() {
		for i := range 2000 {
			watch.ObserveDecision(context.Background(), observe.Decision{Server: string(rune('a' + i%26)), Reason: policy.ReasonCaughtUp})
		}
	})
	all.Wait()
}
