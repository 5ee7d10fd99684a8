package policy

import "time"

// asking is how a balancer learns how long reads take. To work that out takes longer than
// the rest of a decision, and a balancer may want to know it of few of its candidates.
type asking uint8

const (
	asksAll  asking = iota // by Candidate.Latency, which has to be there: it is not from here
	asksSome               // by Candidate.latency
	asksNone
)

// asker is a balancer that says how it asks. One that does not say so asks all.
type asker interface{ asks() asking }

func (random) asks() asking        { return asksNone }
func (roundRobin) asks() asking    { return asksNone }
func (leastInFlight) asks() asking { return asksNone }
func (byLatency) asks() asking     { return asksSome }
func (a affinity) asks() asking    { return asksOf(a.inner) }
func (b leastBehind) asks() asking { return asksOf(b.inner) }
func (z zoneFirst) asks() asking {
	if z.spill.Latency > 0 {
		return min(asksSome, asksOf(z.inner))
	}
	return asksOf(z.inner)
}

func asksOf(b Balancer) asking {
	if a, ok := b.(asker); ok {
		return a.asks()
	}
	return asksAll
}

// latencies is whom a candidate asks, and for when.
type latencies struct {
	load LatencyLoad
	now  time.Time
}

// latency is c.Latency, also where nobody has asked for it yet.
func (c *Candidate) latency() time.Duration {
	if c.unasked != nil {
		c.ask()
	}
	return c.Latency
}

func (c *Candidate) ask() {
	c.Latency, c.unasked = c.unasked.load.Latency(c.Index, c.unasked.now), nil
}
