package policy

import "time"

// asker is a balancer that says of how many candidates at most it looks at every latency:
// of so many all are filled in beforehand, of more each is asked for when it is looked at.
// A latency takes longer to work out than the rest of a decision, and few of 64 may be
// looked at, or none: -1. Of a balancer that does not say so all are filled in, since
// Candidate.Latency is all that it has.
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

// asksSome is asks for a balancer that may pick without inner, or leave few to it.
func asksSome(inner Balancer) int {
	if n := asks(inner); n < 0 || n == MaxCandidates {
		return n
	}
	return 0
}

// latencies is whom candidates ask, and for when.
type latencies struct {
	load LatencyLoad
	now  time.Time
}

// latency is c.Latency, which is asked for where that was left to whoever looks at it.
func (c *Candidate) latency() time.Duration {
	if c.unasked != nil {
		c.Latency, c.unasked = c.unasked.load.Latency(c.Index, c.unasked.now), nil
	}
	return c.Latency
}
