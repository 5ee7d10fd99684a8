package policy

import (
	"math"
	"time"
)

type leastBehind struct {
	within time.Duration
	inner  Balancer
}

// LeastBehind lets inner pick among the candidates that are least behind the primary:
// those that are at most within farther behind than the best of them. A nil inner is
// [LeastInFlight].
//
// What is known of a replica moves in steps of a sample, and not at the same moment
// for all. With a within shorter than two samples the replica that was sampled last
// gets every read until the next is, and the others none: 0 means 500 ms, for the
// default Config.SampleEvery of 200 ms. A primary that stands in for a replica is not
// behind, and does not make the others so.
func LeastBehind(within time.Duration, inner Balancer) Balancer {
	if inner == nil {
		inner = LeastInFlight()
	}
	if within <= 0 {
		within = defaultWithin
	}
	return &leastBehind{within, inner}
}

const defaultWithin = 500 * time.Millisecond

func (b *leastBehind) Name() string { return "least_behind(" + b.inner.Name() + ")" }

func (b *leastBehind) Pick(q *Query, c []Candidate) int {
	if l := lagsOf(c); !l.known || time.Duration(l.newest-l.oldest) > b.within {
		if n := gather(c, func(c *Candidate) bool { return l.behind(c) <= b.within }); n > 0 {
			c = c[:n]
		}
	}
	if i := b.inner.Pick(q, c); i >= 0 && i < len(c) {
		return i
	}
	return 0
}

// lags is what candidates are compared with to see how far behind they are.
type lags struct {
	known          bool      // traits.shown is, of all of them
	newest, oldest int64     // of these
	at             time.Time // where it is not: see newestReplayed
}

func lagsOf(c []Candidate) lags {
	l := lags{known: true, newest: math.MinInt64, oldest: math.MaxInt64}
	for i := range c {
		at := c[i].shown
		if at == 0 {
			return lags{at: newestReplayed(c)}
		}
		l.newest, l.oldest = max(l.newest, at), min(l.oldest, at)
	}
	return l
}

// newestReplayed is the newest state of the primary that any of c, all of which are
// replicas, is proven to show; zero: none is.
func newestReplayed(c []Candidate) (newest time.Time) {
	for i := range c {
		if r := c[i].Replica; !r.standsIn() && r.ReplayedAt.After(newest) {
			newest = r.ReplayedAt
		}
	}
	return newest
}

// behind is how much farther behind c is than whoever shows the newest state.
func (l *lags) behind(c *Candidate) time.Duration {
	switch r := c.Replica; {
	case l.known:
		return time.Duration(l.newest - c.shown)
	case r.standsIn():
		return 0
	case r.ReplayedAt.IsZero() && !l.at.IsZero():
		return math.MaxInt64 // nothing is proven
	default:
		return l.at.Sub(r.ReplayedAt)
	}
}
