package otel

import (
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// tally counts by key.
type tally[K comparable] struct{ *lookup[K, *count] }

type count struct {
	n       atomic.Int64
	seen    int64     // what the newest collection has reported; for observe alone
	changed time.Time // when a collection found it changed
	with    []metric.ObserveOption
}

// kept is for how long a series stands that is not current any more, after its newest
// change: so long that everybody who collects has seen that.
const kept = 10 * time.Minute

func newTally[K comparable](labels func(K) labels) tally[K] {
	return tally[K]{newLookup(func(k K) *count {
		return &count{with: []metric.ObserveOption{metric.WithAttributeSet(labels(k).set())}}
	})}
}

func (t tally[K]) add(k K) { t.get(k).n.Add(1) }

// observe reports all counts. It is called by one collection at a time. Those that
// are not current any more are dropped after a while: a replica that was removed would
// otherwise keep its series, and a process whose replicas come and go would collect
// them.
func (t tally[K]) observe(o metric.Observer, as metric.Int64Observable, now time.Time, current func(K) bool) {
	var gone []K
	for k, c := range t.all() {
		n := c.n.Load()
		if n != c.seen {
			c.seen, c.changed = n, now
		}
		if !current(k) && now.Sub(c.changed) > kept {
			gone = append(gone, k)
			continue
		}
		o.ObserveInt64(as, n, c.with...)
	}
	t.drop(gone)
}
