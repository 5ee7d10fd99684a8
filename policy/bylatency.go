package policy

import (
	"math"
	"math/bits"
	"time"
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

// Pick has no branch on a draw, which a processor would predict wrong every other time:
// costs are compared by their bits, whose order is that of numbers that are not negative.
func (byLatency) Pick(q *Query, c []Candidate) int {
	// The first ones are exchanged with those that are drawn, on paper: a Candidate is many
	// words to move. from says with which places.
	var from [choices]int
	sum, random := total(c), q.Random
	even := sum == uint64(len(c)) // all weights are 1
	best, than := 0, uint64(0)
	for i := range min(choices, len(c)) {
		// What the product leaves is as random as what went in.
		x, rest := bits.Mul64(random, sum)
		random = rest
		if from[i] = i + int(x); !even {
			from[i] = ownerFrom(c, &from, i, x)
		}
		drawn := stands(&from, i, from[i])
		if c[drawn].unasked != nil {
			c[drawn].latency()
		}
		weight := c[drawn].Weight()
		sum -= weight
		of := cost(c[drawn].Latency, inFlight(&c[drawn]), weight)
		if i == 0 {
			best, than = drawn, math.Float64bits(of*margin)
			continue
		}
		takes := math.Float64bits(of)
		if takes == than && quieter(c, drawn, best) { // nothing is known of either
			best = drawn
		}
		if takes < than {
			best = drawn
		}
		than = min(than, takes)
	}
	return best
}

// ownerFrom returns the place, from i on, of the candidate that unit x of the weights of
// those that stand there belongs to.
func ownerFrom(c []Candidate, from *[choices]int, i int, x uint64) int {
	for place := i; place < len(c)-1; place++ {
		w := c[stands(from, i, place)].Weight()
		if x < w {
			return place
		}
		x -= w
	}
	return len(c) - 1
}

// stands returns who stands at a place, which is none of the first i, once these have been
// exchanged with those at from.
func stands(from *[choices]int, i, place int) int {
	for k := i - 1; k >= 0; k-- {
		moved := 0 // a number, so that there is no branch
		if from[k] == place {
			moved = 1
		}
		place -= (place - k) * moved
	}
	return place
}

// margin is how much less another one must cost than the first.
const margin = 0.75

// cost is nothing where an idle candidate has still to be measured, and infinite where
// another read finds that out already.
func cost(latency time.Duration, reads int64, weight uint64) float64 {
	if latency > 0 {
		each := float64(reads)
		if weight > 1 {
			each /= float64(weight)
		}
		return float64(latency) * (1 + each)
	}
	if reads > 0 {
		return math.Inf(1)
	}
	return 0
}

// quieter reports whether candidate i has less to do for its weight than candidate j.
func quieter(c []Candidate, i, j int) bool {
	return lighter(inFlight(&c[i]), c[i].Weight(), inFlight(&c[j]), c[j].Weight()) < 0
}
