package plugins

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/readsplit/readsplit"
)

var (
	poolOpen  = prometheus.NewDesc("readsplit_pool_open_connections", "Connections to a replica, in use and idle.", []string{"server"}, nil)
	poolInUse = prometheus.NewDesc("readsplit_pool_in_use", "Connections to a replica that run something.", []string{"server"}, nil)
	poolWaits = prometheus.NewDesc("readsplit_pool_wait_total", "How often a read waited for a connection to a replica.", []string{"server"}, nil)
	reads     = prometheus.NewDesc("readsplit_reads_total", "Reads that a server has answered.", []string{"server"}, nil)
)

// PoolMetrics collects for Prometheus what gorm.io/plugin/prometheus cannot see:
// the pools of the replicas. Register it beside that plugin, whose numbers are the
// primary's; a scrape asks no server.
type PoolMetrics struct{ Plugin *readsplit.Plugin }

// Describe implements prometheus.Collector.
func (PoolMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{poolOpen, poolInUse, poolWaits, reads} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m PoolMetrics) Collect(to chan<- prometheus.Metric) {
	status := m.Plugin.Status()
	for _, r := range status.Replicas {
		to <- prometheus.MustNewConstMetric(poolOpen, prometheus.GaugeValue, float64(r.Pool.OpenConnections), r.Name)
		to <- prometheus.MustNewConstMetric(poolInUse, prometheus.GaugeValue, float64(r.Pool.InUse), r.Name)
		to <- prometheus.MustNewConstMetric(poolWaits, prometheus.CounterValue, float64(r.Pool.WaitCount), r.Name)
		to <- prometheus.MustNewConstMetric(reads, prometheus.CounterValue, float64(r.Reads), r.Name)
	}
	to <- prometheus.MustNewConstMetric(reads, prometheus.CounterValue, float64(status.PrimaryReads), status.Primary.Name)
}
