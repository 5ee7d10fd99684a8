// Package overhead measures what stands between an application and its driver: plain
// GORM, dbresolver and readsplit over a driver that answers at once.
package overhead
