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
	return &affinity{inner}
}

func (a *affinity) Name() string { return "affinity(" + a.inner.Name() + ")" }

func (a *affinity) Pick(q *Query, c []Candidate) int {
	if q.Affinity == 0 {
		return a.inner.Pick(q, c)
	}
	if i, ok := highest(q.Affinity, c); ok {
		return i
	}
	best, least := 0, math.Inf(1)
	for i := range c {
		// The least of exponentially distributed numbers falls to each in proportion
		// to its weight, whoever else takes part.
		rank := float64(rank(q.Affinity, &c[i])) / (1 << 52)
		if at := -math.Log(rank) / float64(c[i].Weight()); at < least {
			best, least = i, at
		}
	}
	return best
}

// highest is the candidate of the highest rank. Where all weights are the same it is the
// one that Pick finds by logarithms, which take most of the time of a decision; ok is false
// where they are not.
func highest(hash uint64, c []Candidate) (best int, ok bool) {
	first, most := c[0].Weight(), uint64(0)
	for i := range c {
		if c[i].Weight() != first {
			return 0, false
		}
		if at := rank(hash, &c[i]); at > most {
			best, most = i, at
		}
	}
	return best, true
}

// rank is a number from 1 to 2^52-1 that follows from a hash and the candidate's name.
func rank(hash uint64, c *Candidate) uint64 {
	name := c.hash
	if name == 0 {
		name = hashed(c.Replica.Name)
	}
	return mix(hash^name)>>12 | 1
}

// hashed is the hash of a name.
func hashed(name string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return mix(h)
}

// mix makes every bit of x count for every bit of the result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
