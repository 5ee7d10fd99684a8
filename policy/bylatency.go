package policy

type byLatency struct{}

// Latency draws two candidates by their weights and picks the one where a read is
// expected to be over first: its latency times one plus its reads in flight for its
// weight. The first of the two is kept unless the other is better by a quarter, so
// that weights hold among equals, and small differences do not move reads to and fro.
//
// Of two candidates, the better one is found as surely as among all where it matters,
// and reads that decide at the same moment do not all find the same one: one replica
// of n gets at most 2/n of them, whatever they know. Where it loses: it needs reads
// to measure, so that a process with one read in a while does as well with any other
// balancer; and one kind of read that is slow everywhere tells it nothing.
//
// Where no latency is known it compares reads in flight. A replica that has not been
// measured yet gets one read at a time until it is.
func Latency() Balancer { return byLatency{} }

func (byLatency) Name() string { return "latency" }

func (byLatency) Pick(q *Query, c []Candidate) int {
	if len(c) == 1 {
		return 0
	}
	i, j := two(q, c)
	if sooner(&c[j], &c[i]) {
		return j
	}
	return i
}

// two draws two different candidates, each in proportion to its weight among those
// that are left.
func two(q *Query, c []Candidate) (first, second int) {
	sum := total(c)
	first = owner(c, scale(q.Random, sum))
	x := scale(mix(^q.Random), sum-c[first].Weight())
	for i := range c {
		if i == first {
			continue
		}
		second = i
		w := c[i].Weight()
		if x < w {
			break
		}
		x -= w
	}
	return first, second
}

// margin is how much less the other of two must cost to be preferred.
const margin = 0.75

// sooner reports whether a read is over markedly sooner on a than on b.
func sooner(a, b *Candidate) bool {
	switch {
	case a.Latency <= 0 && b.Latency <= 0:
		return lighter(a, b) < 0
	case a.Latency <= 0:
		return inFlight(a) == 0
	case b.Latency <= 0:
		return inFlight(b) > 0
	}
	return cost(a) < margin*cost(b)
}

func cost(c *Candidate) float64 {
	return float64(c.Latency) * (1 + float64(inFlight(c))/float64(c.Weight()))
}
