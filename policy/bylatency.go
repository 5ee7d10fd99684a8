package policy

import (
	"math"
	"math/bits"
)

type byLatency struct{}

// Latency draws three candidates by their weights and picks the one where a read is
// expected to be over first: its latency times one plus its reads in flight for its
// weight. The one that was drawn first is kept unless another is better by a quarter,
// so that weights hold among equals, and noise moves no reads. Latencies come from a
// [LatencyLoad]; where none is known, reads in flight are compared.
//
// It notices a server that has become slow long before one process has enough reads
// there to tell by their number, which matters the more the more processes share the
// servers. A draw keeps reads that decide at the same moment from all finding the
// same server: one of n gets at most 3/n of them. A replica that has not been measured
// gets one read at a time until it is.
//
// Where it loses: an idle system reads from its fastest replicas and leaves the others
// cold; a process with few reads measures little; among equal servers with equal reads
// [LeastInFlight] is as good and simpler.
func Latency() Balancer { return byLatency{} }

const choices = 3

func (byLatency) Name() string { return "latency" }

func (byLatency) Pick(q *Query, c []Candidate) int {
	c = c[:min(len(c), MaxCandidates)]
	var drawn order
	n := draw(q, c, &drawn)
	best := &c[drawn[0]]
	takes, than, first := cost(best), margin, drawn[0]
	for _, i := range drawn[1:n] {
		if of := cost(&c[i]); sooner(of, takes*than, &c[i], best) {
			best, takes, than, first = &c[i], of, 1, i
		}
	}
	return int(first)
}

// order is an order of candidates: their places in what was offered. Candidates
// themselves are not moved about, since each is several words that were just written.
type order [MaxCandidates]uint8

// draw brings as many different candidates as there are choices to the front of drawn,
// each drawn in proportion to its weight among those that are left, and returns how many
// they are.
func draw(q *Query, c []Candidate, drawn *order) (n int) {
	for i := range c {
		drawn[i] = uint8(i)
	}
	n = min(choices, len(c))
	sum, random := total(c), q.Random
	even := sum == uint64(len(c))     // all weights are 1
	for i := range min(n, len(c)-1) { // the last one that is left is drawn by itself
		// What the product leaves is as random as what went in.
		x, rest := bits.Mul64(random, sum)
		random = rest
		j := i + int(x)
		if !even {
			for j = i; j < len(c)-1; j++ {
				w := c[drawn[j]].Weight()
				if x < w {
					break
				}
				x -= w
			}
		}
		drawn[i], drawn[j] = drawn[j], drawn[i]
		sum -= c[drawn[i]].Weight()
	}
	return n
}

// margin is how much less another one must cost than the first.
const margin = 0.75

// sooner reports whether a read is over sooner on a, of that cost, than b allows.
func sooner(of, than float64, a, b *Candidate) bool {
	if of == than || math.IsInf(of, 1) && math.IsInf(than, 1) {
		return lighter(inFlight(a), a.Weight(), inFlight(b), b.Weight()) < 0 // nothing is known of either
	}
	return of < than
}

// cost is nothing where an idle candidate has still to be measured, and infinite where
// another read finds that out already.
func cost(c *Candidate) float64 {
	if c.Latency > 0 {
		each := float64(inFlight(c))
		if w := c.Weight(); w > 1 {
			each /= float64(w)
		}
		return float64(c.Latency) * (1 + each)
	}
	if inFlight(c) > 0 {
		return math.Inf(1)
	}
	return 0
}
