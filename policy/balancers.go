package policy

import "math/bits"

type random struct{}

// Random picks at random, in proportion to the weights. Chance is q.Random.
func Random() Balancer { return random{} }

func (random) Name() string { return "random" }

func (random) Pick(q *Query, c []Candidate) int {
	sum := total(c)
	x := scale(q.Random, sum)
	if sum == uint64(len(c)) {
		return int(x)
	}
	return owner(c, x)
}

type roundRobin struct{}

// RoundRobin gives each candidate its turn, in proportion to the weights: among
// the same candidates, a run of as many tickets as their weights add up to gives
// each exactly its share, and the turns of a heavy one are spread over the run.
// The turn is q.Ticket.
func RoundRobin() Balancer { return roundRobin{} }

func (roundRobin) Name() string { return "round_robin" }

func (roundRobin) Pick(q *Query, c []Candidate) int {
	sum := total(c)
	turn := q.Ticket % sum
	if sum == uint64(len(c)) {
		return int(turn)
	}
	hi, lo := bits.Mul64(turn, stride(sum))
	return owner(c, bits.Rem64(hi, lo, sum))
}

// stride returns a step near the golden section of n that has no factor in
// common with n: steps of it visit every number below n once, in an order that
// is not a hundred reads in a row for a weight of a hundred.
func stride(n uint64) uint64 {
	for step := n - n*382/1000; step > 1; step-- {
		if gcd(step, n) == 1 {
			return step
		}
	}
	return 1
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

type leastInFlight struct{}

// LeastInFlight picks the candidate with the fewest reads in flight for its
// weight. Equals are picked at random in proportion to their weights, so that
// weights hold on an idle system too. Chance is q.Random.
func LeastInFlight() Balancer { return leastInFlight{} }

func (leastInFlight) Name() string { return "least_in_flight" }

func (leastInFlight) Pick(q *Query, c []Candidate) int {
	best, reads, weight := 0, inFlight(&c[0]), c[0].Weight()
	tied := weight
	for i := 1; i < len(c); i++ {
		r, w := inFlight(&c[i]), c[i].Weight()
		switch order := lighter(r, w, reads, weight); {
		case order < 0:
			best, reads, weight, tied = i, r, w, w
		case order == 0:
			tied += w
		}
	}
	if tied == weight {
		return best
	}
	x := scale(q.Random, tied)
	for i := best; i < len(c); i++ {
		w := c[i].Weight()
		if lighter(inFlight(&c[i]), w, reads, weight) != 0 {
			continue
		}
		if x < w {
			return i
		}
		x -= w
	}
	return best
}

// lighter compares reads in flight for their weights without a division; negative: a has
// less to do than b. inFlight bounds the counts so that the products fit.
func lighter(a int64, aWeight uint64, b int64, bWeight uint64) int64 {
	return a*int64(bWeight) - b*int64(aWeight)
}

func inFlight(c *Candidate) int64 { return min(max(c.InFlight, 0), 1<<40) }

func total(c []Candidate) uint64 {
	var sum uint64
	for i := range c {
		sum += c[i].Weight()
	}
	return sum
}

// scale maps a random number evenly to 0..n-1.
func scale(random, n uint64) uint64 {
	hi, _ := bits.Mul64(random, n)
	return hi
}

// owner returns the index of the candidate that unit x of the weights belongs
// to.
func owner(c []Candidate, x uint64) int {
	for i := range c {
		w := c[i].Weight()
		if x < w {
			return i
		}
		x -= w
	}
	return len(c) - 1
}
