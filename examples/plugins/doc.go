// Package plugins shows readsplit together with other GORM plugins, as
// docs/plugins.md tells it: what an application adds so that the replicas' pools are
// among the metrics ([PoolMetrics]), and so that a cache cannot hide a session's own
// write ([SessionCacher]). Its tests run each plugin alone and with readsplit, installed
// in either order, on a real primary with two replicas, and compare.
package plugins
