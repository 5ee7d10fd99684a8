package policy

import "time"

// asker is a balancer that says of how many candidates at most it looks at the latency of
// each: of so many it is filled in beforehand, of more they are asked one by one. To know
// one takes about as long as to decide, and a balancer may look at few of 64. -1: at none.
// One that does not say so, which is not from here, finds all filled in.
type asker interface{ asks() int }

func (random) asks() int         { return -1 }
func (roundRobin) asks() int     { return -1 }
func (leastInFlight) asks() int  { return -1 }
func (byLatency) asks() int      { return choices }
func (b *leastBehind) asks() int { return asks(b.inner) }
func (a *affinity) asks() int    { return asksSome(a.inner) }
func (z *zoneFirst) asks() int {
	if z.spill.Latency > 0 {
		return max(asksSome(z.inner), 0)
	}
	return asksSome(z.inner)
}

func asks(b Balancer) int {
	if a, ok := b.(asker); ok {
		return a.asks()
	}
	return MaxCandidates
}

// asksSome is for balancers that may pick without inner, or from few of the candidates.
func asksSome(inner Balancer) int {
	if n := asks(inner); n < 0 || n == MaxCandidates {
		return n
	}
	return 0
}

// latencies is whom a candidate asks, and for when.
type latencies struct {
	load LatencyLoad
	now  time.Time
}

// latency is c.Latency, also where nobody has asked for it yet.
func (c *Candidate) latency() time.Duration {
	if c.unasked != nil {
		c.Latency, c.unasked = c.unasked.load.Latency(c.Index, c.unasked.now), nil
	}
	return c.Latency
}
