package journey

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/readsplit/readsplit/examples/webshop/stage"
	"github.com/readsplit/readsplit/examples/webshop/trace"
)

// fresh is the reason of what the checkout reads, which must be current.
const fresh = "fresh"

// listEndpoint is where journeys end.
const listEndpoint = "GET /orders"

// primary is how the plugins call it.
const primary = "primary"

// Tally counts requests and who answered their reads.
type Tally struct {
	mu        sync.Mutex
	endpoints map[string]*endpoint
	reasons   map[reason]int
}

// reason is why a read went where it went.
type reason struct {
	replica bool
	why     string
}

// endpoint is what was counted of one.
type endpoint struct {
	requests int
	during   map[stage.Condition]*count
	took     []time.Duration
}

// count is how many requests and reads there were, how many of the reads replicas
// answered, and how many had to be current, so that no replica could.
type count struct{ requests, reads, replica, fresh int }

func (c *count) add(other *count) {
	c.requests += other.requests
	c.reads += other.reads
	c.replica += other.replica
	c.fresh += other.fresh
}

// share is the part of the replicas; ok is false when nothing was read.
func (c count) share() (share float64, ok bool) {
	return float64(c.replica) / float64(max(c.reads, 1)), c.reads > 0
}

// free is c without the reads that no replica could answer.
func (c count) free() count { return count{reads: c.reads - c.fresh, replica: c.replica} }

// NewTally returns one that has counted nothing.
func NewTally() *Tally {
	return &Tally{endpoints: make(map[string]*endpoint), reasons: make(map[reason]int)}
}

// add counts a request. Reads inside of a transaction are part of a write: there is
// nothing to choose, and they are not counted.
func (t *Tally) add(name string, during stage.Condition, took time.Duration, reads []trace.Read) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.endpoints[name]
	if e == nil {
		e = &endpoint{during: make(map[stage.Condition]*count)}
		t.endpoints[name] = e
	}
	e.requests++
	e.took = append(e.took, took)
	c := e.during[during]
	if c == nil {
		c = new(count)
		e.during[during] = c
	}
	c.requests++
	for _, read := range reads {
		if read.Reason == trace.InTransaction {
			continue
		}
		c.reads++
		if read.Server != primary {
			c.replica++
		}
		if read.Reason == fresh {
			c.fresh++
		}
		t.reasons[reason{read.Server != primary, read.Reason}]++
	}
}

// names are the endpoints, as they are sorted in the table.
func (t *Tally) names() []string { return slices.Sorted(maps.Keys(t.endpoints)) }

// sum adds up the reads of the endpoints, all or one, during conditions, all or some.
func (t *Tally) sum(name string, during ...stage.Condition) (total count) {
	for n, e := range t.endpoints {
		if name != "" && n != name {
			continue
		}
		for c, counted := range e.during {
			if len(during) == 0 || slices.Contains(during, c) {
				total.add(counted)
			}
		}
	}
	return total
}

// percentile returns the smallest of the durations that is not exceeded by the part p
// of them (0 < p <= 1); 0 where there are none. It sorts d.
func percentile(d []time.Duration, p float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	n := int(p * float64(len(d)))
	if float64(n) < p*float64(len(d)) {
		n++ // the next whole number: the rank counts from 1
	}
	return d[min(max(n, 1), len(d))-1]
}
