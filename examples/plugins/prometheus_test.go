package plugins

import (
	"fmt"
	"testing"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/plugin/prometheus"
)

// gathered returns the value of a metric with a label, and whether there is one.
func gathered(t testing.TB, from client.Gatherer, name, label, value string) (float64, bool) {
	t.Helper()
	families, err := from.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label && l.GetValue() == value {
					return m.GetGauge().GetValue() + m.GetCounter().GetValue(), true
				}
			}
		}
	}
	return 0, false
}

// TestPrometheus: the numbers are those of the primary's pool, in either order.
// The plugin's goroutine never ends, and polls for the first time after a second.
func TestPrometheus(t *testing.T) {
	type observed struct {
		app    *app
		dbName string
	}
	var all []observed
	for i, when := range []order{alone, before, after} {
		o := observed{dbName: fmt.Sprint("app", i)}
		o.app = newApp(t, options{}, when, func(db *gorm.DB) error {
			pool, err := db.DB()
			require.NoError(t, err)
			pool.SetMaxOpenConns(7 + i)
			return db.Use(prometheus.New(prometheus.Config{DBName: o.dbName, RefreshInterval: 1}))
		})
		require.NoError(t, o.app.visitor().Find(&[]note{}).Error)
		all = append(all, o)
	}
	for i, o := range all {
		pool, err := o.app.DB.DB()
		require.NoError(t, err)
		require.Equal(t, 7+i, pool.Stats().MaxOpenConnections)
		eventually(t, "the plugin has looked at the pool", func() bool {
			n, _ := gathered(t, client.DefaultGatherer, "gorm_dbstats_max_open_connections", "db_name", o.dbName)
			return n == float64(7+i)
		})
	}
}

// TestPoolMetrics: what the plugin cannot see, PoolMetrics tells.
func TestPoolMetrics(t *testing.T) {
	x := newApp(t, options{}, before, func(*gorm.DB) error { return nil })
	registry := client.NewPedanticRegistry()
	require.NoError(t, registry.Register(PoolMetrics{Plugin: x.plugin}))
	served := map[string]int{}
	for range 20 {
		var n note
		require.NoError(t, x.visitor().First(&n).Error)
		onReplica(t, n.Server)
		served[n.Server]++
	}
	require.NoError(t, createNote(x.visitor()))
	for _, server := range []string{"replica1", "replica2"} {
		n, ok := gathered(t, registry, "readsplit_reads_total", "server", server)
		require.True(t, ok)
		require.Equal(t, served[server], int(n))
		open, ok := gathered(t, registry, "readsplit_pool_open_connections", "server", server)
		require.True(t, ok)
		require.Equal(t, served[server] > 0, open > 0)
		_, ok = gathered(t, registry, "readsplit_pool_in_use", "server", server)
		require.True(t, ok)
		waits, ok := gathered(t, registry, "readsplit_pool_wait_total", "server", server)
		require.True(t, ok)
		require.Zero(t, waits)
	}
	n, ok := gathered(t, registry, "readsplit_reads_total", "server", "primary")
	require.True(t, ok)
	require.Zero(t, n)
}

// TestPrometheusCollectors: the plugin's Postgres collector asks through the
// gorm.DB that it is installed on, and gets some replica's answer. On a gorm.DB of
// its own over the same pool it asks the primary, and readsplit does not see it.
func TestPrometheusCollectors(t *testing.T) {
	x := newApp(t, options{}, before, func(*gorm.DB) error { return nil })
	question := func(db *gorm.DB) (inRecovery bool) {
		rows, err := db.Raw("SELECT pg_is_in_recovery()").Rows() // as the collector asks
		require.NoError(t, err)
		defer func() { require.NoError(t, rows.Close()) }()
		require.True(t, rows.Next())
		require.NoError(t, rows.Scan(&inRecovery))
		return inRecovery
	}
	require.True(t, question(x.DB), "a replica's own numbers")

	pool, err := x.DB.DB()
	require.NoError(t, err)
	own, err := gorm.Open(postgres.New(postgres.Config{Conn: pool}), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	require.False(t, question(own), "the primary's")
}
