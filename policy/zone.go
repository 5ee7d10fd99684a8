package policy

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Spill says when reads leave the zone where they were made: when its replicas have
// more to do, take longer, or are farther behind than is worth the way to another
// zone. The zero Spill is ready to use.
//
// A bound is not a switch, which would move all reads at once, relieve the zone, and
// move them all back. At the bound every read stays, at twice the bound every read
// leaves, and the share grows evenly in between: there is a load at which what stays
// and what leaves hold each other up.
type Spill struct {
	// InFlight is the number of reads in flight, from this process, on a replica of
	// average weight. -1 is no bound. Defaults to 32, half of the connections of a
	// default pool: at twice that, reads queue for a connection.
	InFlight int
	// Latency is how long a read is expected to take, in the zone and longer than on
	// the fastest replica of the other zones, the way there included. It holds however
	// many processes share the servers. To know what to compare with, reads that are
	// over it are sent to the others now and then. Without a [LatencyLoad] it says
	// nothing. -1 is no bound. Defaults to 10 ms: what is faster is not worth the way.
	Latency time.Duration
	// Lag is how much farther a replica is behind than the one that is least behind.
	// Replicas over MaxLag are never offered, whatever this says. Defaults to no
	// bound.
	Lag time.Duration
}

const (
	defaultSpillInFlight = 32
	defaultSpillLatency  = 10 * time.Millisecond
)

// Validate returns an error that names every field whose value has no meaning, or nil.
func (s Spill) Validate() error {
	var errs []error
	if s.InFlight < -1 {
		errs = append(errs, fmt.Errorf("readsplit: Spill.InFlight is %d: it must be a number of reads (0 means %d, -1 no bound)", s.InFlight, defaultSpillInFlight))
	}
	if s.Latency < -1 {
		errs = append(errs, fmt.Errorf("readsplit: Spill.Latency is %v: it must be positive (0 means %v, -1 no bound)", s.Latency, defaultSpillLatency))
	}
	if s.Lag < 0 {
		errs = append(errs, fmt.Errorf("readsplit: Spill.Lag is %v: it must be positive (0 means no bound)", s.Lag))
	}
	return errors.Join(errs...)
}

type zoneFirst struct {
	inner Balancer
	spill Spill
}

// ZoneFirst is [ZoneFirstUntil] with the zero [Spill].
func ZoneFirst(inner Balancer) Balancer { return ZoneFirstUntil(Spill{}, inner) }

// ZoneFirstUntil lets inner pick among the candidates of the query's own zone that
// are within the bounds of spill. Where there are none it picks among those of other
// zones that are, and where nobody is, or the query has no zone, among all. It is a
// preference: when the replicas of a zone are gone, its reads take longer and are not
// lost. A nil inner is [LeastInFlight]. A negative bound is none.
func ZoneFirstUntil(spill Spill, inner Balancer) Balancer {
	if inner == nil {
		inner = LeastInFlight()
	}
	if spill.InFlight == 0 {
		spill.InFlight = defaultSpillInFlight
	}
	if spill.Latency == 0 {
		spill.Latency = defaultSpillLatency
	}
	return &zoneFirst{inner, spill}
}

func (z *zoneFirst) Name() string { return "zone_first(" + z.inner.Name() + ")" }

func (z *zoneFirst) Pick(q *Query, c []Candidate) int {
	from, to := 0, len(c)
	if q.Zone != "" {
		from, to = z.narrow(q, c)
	}
	if to-from == 1 {
		return from
	}
	// A wrong answer of inner must not leave the zone either.
	if i := z.inner.Pick(q, c[from:to:to]); i >= 0 && i < to-from {
		return from + i
	}
	return from
}

// narrow brings the candidates that q prefers together and returns where they are.
func (z *zoneFirst) narrow(q *Query, c []Candidate) (from, to int) {
	m := measure{q: q, all: c}
	near, own := m.near()
	if z.spill.Lag > 0 {
		m.lags = lagsOf(c)
	}
	within := func(c *Candidate) bool {
		over := z.over(c, &m)
		return over <= 0 || chance(q.Random, c.Index+spillDraw) >= over
	}
	if near == 1 && within(&c[own]) {
		return own, own + 1 // as it mostly is; nobody had to be moved
	}
	gather(c, func(c *Candidate) bool { return isZone(c.Replica.Zone, q.Zone) })
	if n := gather(c[:near], within); n > 0 {
		return 0, n
	}
	m.elsewhere = math.Inf(1)
	if n := gather(c[near:], within); n > 0 {
		return near, near + n
	}
	return 0, len(c)
}

// gather moves the candidates that ok takes to the front of c and returns how many
// they are. It loses none: a balancer may reorder what it is offered, and nothing
// else.
func gather(c []Candidate, ok func(*Candidate) bool) (n int) {
	for i := range c {
		if ok(&c[i]) {
			if n != i {
				c[n], c[i] = c[i], c[n]
			}
			n++
		}
	}
	return n
}

// spillDraw makes the chance of leaving a zone another one than that of a slow start.
const spillDraw = 1 << 20

// measure is what a candidate is compared with.
type measure struct {
	q         *Query
	all       []Candidate
	lags      lags
	fair      float64 // the average weight
	elsewhere float64 // see fastest; 0: not known yet
}

// near returns how many candidates are of the query's own zone, and the last of them.
func (m *measure) near() (near, own int) {
	sum := uint64(0)
	for i := range m.all {
		sum += m.all[i].Weight()
		if isZone(m.all[i].Replica.Zone, m.q.Zone) {
			near, own = near+1, i
		}
	}
	if m.fair = 1; sum != uint64(len(m.all)) {
		m.fair = float64(sum) / float64(len(m.all))
	}
	return near, own
}

// isZone reports whether two names of zones are the same. Most of those that are not
// differ in their last letter, which spares a call.
func isZone(a, b string) bool {
	n := len(a)
	return n == len(b) && (n == 0 || a[n-1] == b[n-1]) && a == b
}

// fastest is the least latency in other zones, in ns. Where it is unknown one read finds
// out, and the others do not wait for that.
func (m *measure) fastest() float64 {
	if m.elsewhere > 0 {
		return m.elsewhere
	}
	m.elsewhere = math.Inf(1)
	for i := range m.all {
		c := &m.all[i]
		if isZone(c.Replica.Zone, m.q.Zone) {
			continue
		}
		if at := c.latency(); at > 0 || inFlight(c) == 0 {
			m.elsewhere = min(m.elsewhere, float64(max(at, 1)))
		}
	}
	return m.elsewhere
}

// over is the share of reads that should leave c: none within the bounds, all at
// twice one of them.
func (z *zoneFirst) over(c *Candidate, m *measure) (share float64) {
	if z.spill.InFlight > 0 {
		share = beyond(float64(inFlight(c))*m.fair, float64(z.spill.InFlight)*float64(c.Weight()))
	}
	if z.spill.Latency > 0 && c.latency() > z.spill.Latency {
		share = max(share, beyond(float64(c.Latency), max(float64(z.spill.Latency), m.fastest())))
	}
	if z.spill.Lag > 0 {
		share = max(share, beyond(float64(m.lags.behind(c)), float64(z.spill.Lag)))
	}
	return share
}

// beyond is by which part of bound v is over it. What is not, which most are, is not
// worth a division.
func beyond(v, bound float64) float64 {
	if v <= bound {
		return 0
	}
	return v/bound - 1
}
