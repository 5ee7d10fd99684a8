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
	var drawn [choices]int
	n := draw(q, c, &drawn)
	best := drawn[0]
	takes, than := cost(&c[best]), margin
	for _, i := range drawn[1:n] {
		if of := cost(&c[i]); sooner(of, takes*than, &c[i], &c[best]) {
			best, takes, than = i, of, 1
		}
	}
	return best
}

// draw puts as many different candidates into drawn as there are choices, each drawn in
// proportion to its weight among those that are left, and returns how many they are. It is
// a shuffle that moves no candidate: from says which places were exchanged with the first.
func draw(q *Query, c []Candidate, drawn *[choices]int) (n int) {
	var from [choices]int
	n = min(choices, len(c))
	sum, random := total(c), q.Random
	even := sum == uint64(len(c)) // all weights are 1
	for i := range n {
		// What the product leaves is as random as what went in.
		x, rest := bits.Mul64(random, sum)
		random = rest
		j := i + int(x)
		if !even {
			j = i
			for ; j < len(c)-1; j++ {
				w := c[stands(&from, i, j)].Weight()
				if x < w {
					break
				}
				x -= w
			}
		}
		from[i], drawn[i] = j, stands(&from, i, j)
		sum -= c[drawn[i]].Weight()
	}
	return n
}

// stands returns who stands at a place once the first i have been exchanged with those
// that stood at from.
func stands(from *[choices]int, i, place int) int {
	for k := i - 1; k >= 0; k-- {
		if from[k] == place {
			place = k
		}
	}
	return place
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
