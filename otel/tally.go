package otel

import (
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"
)

// tally counts by key.
type tally[K comparable] struct{ *lookup[K, *count] }

type count struct {
	n    atomic.Int64
	seen int64 // what the newest collection has reported; for observe alone
	with []metric.ObserveOption
}

func newTally[K comparable](labels func(K) labels) tally[K] {
	return tally[K]{newLookup(func(k K) *count {
		return &count{with: []metric.ObserveOption{metric.WithAttributeSet(labels(k).set())}}
	})}
}

func (t tally[K]) add(k K) { t.get(k).n.Add(1) }

// observe reports all counts. It is called by one collection at a time. Those that
// are not current any more are dropped once they have been reported as they are: a
// replica that was removed would otherwise keep its series, and a process whose
// replicas come and go would collect them.
func (t tally[K]) observe(o metric.Observer, as metric.Int64Observable, current func(K) bool) {
	var gone []K
	for k, c := range t.all() {
		n := c.n.Load()
		if n == c.seen && !current(k) {
			gone = append(gone, k)
			continue
		}
		c.seen = n
		o.ObserveInt64(as, n, c.with...)
	}
	t.drop(gone)
}
