package policy

import "math"

type affinity struct{ inner Balancer }

// Affinity keeps the reads of one q.Affinity on one replica while that may serve
// them: the caches there stay warm for whoever asks, and what the reads show goes
// back less often. Replicas get their users in proportion to their weights. When one
// is away, its own users alone move, spread over all others, and they return with it;
// every process that knows the replicas by the same names chooses alike. A nil inner
// is [LeastInFlight]; inner picks for reads without an Affinity.
//
// It is a preference, by the rank of a hash (rendezvous hashing): a replica that is
// behind its user's own write does not serve them.
func Affinity(inner Balancer) Balancer {
	if inner == nil {
		inner = LeastInFlight()
	}
	return affinity{inner}
}

func (a affinity) Name() string { return "affinity(" + a.inner.Name() + ")" }

func (a affinity) Pick(q *Query, c []Candidate) int {
	if q.Affinity == 0 {
		return a.inner.Pick(q, c)
	}
	best, least := 0, math.Inf(1)
	for i := range c {
		// The least of exponentially distributed numbers falls to each in proportion
		// to its weight, whoever else takes part.
		if at := -math.Log(rank(q.Affinity, c[i].Replica.Name)) / float64(c[i].Weight()); at < least {
			best, least = i, at
		}
	}
	return best
}

// rank is a number in (0, 1) that follows from a hash and a name.
func rank(hash uint64, name string) float64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return float64(mix(hash^mix(h))>>12|1) / (1 << 52)
}

// mix makes every bit of x count for every bit of the result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
