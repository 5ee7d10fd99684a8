// Package load measures throughput and latencies of clients over a real primary and two
// replicas, with plain GORM on the primary, with dbresolver, and with readsplit. Slices of
// all of them take turns, so that what else the machine does hits all alike.
package load
