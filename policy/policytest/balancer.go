package policytest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/readsplit/readsplit/policy"
)

// Option changes what [Balancer] asks for.
type Option func(*options)

type options struct {
	unfair bool
	herd   float64 // 0: not asked for
}

// WithoutFairness leaves out the shares: for a balancer that prefers some
// replicas on purpose.
func WithoutFairness() Option { return func(o *options) { o.unfair = true } }

// HerdsAtMost asks for a bound on how many reads that decide at the same moment, before
// any of them counts as being in flight, find the same one of eight candidates: a share
// from 1/8, for a balancer that knows nothing, to 1, for one that always finds the best.
func HerdsAtMost(share float64) Option { return func(o *options) { o.herd = share } }

// Balancer tests that b keeps the contract of [policy.Balancer]: it answers
// every list of 1 to [policy.MaxCandidates] candidates with an index into it and
// without a panic; the same list, also a copy of it, gets the same answer;
// candidates are at most reordered; concurrent calls agree with sequential ones;
// a pick allocates nothing; and with b in a [policy.Decider] no read goes to a replica
// that the core excludes, nor past one that may serve it.
//
// It also tests shares: of 20,000 reads over candidates that are idle, in one
// zone and at hand all the time, with q.Random random and q.Ticket growing by
// one, each gets its share by weight within a tenth of that share.
func Balancer(t testing.TB, b policy.Balancer, opts ...Option) {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	for _, problem := range checkBalancer(b, o) {
		t.Errorf("balancer %s: %s", b.Name(), problem)
	}
}

type offer struct {
	query policy.Query
	list  []policy.Candidate
}

func checkBalancer(b policy.Balancer, o options) []string {
	var f findings
	f.checkName(b.Name)
	r := rand.New(rand.NewPCG(4, 5))
	offers := make([]offer, rounds)
	picked := make([]int, rounds)
	for i := range offers {
		if f.full() {
			break
		}
		offers[i] = randomOffer(r)
		picked[i] = f.checkPick(b, offers[i])
	}
	for _, c := range append(extremes(), inputs(rounds, 6)...) {
		if f.full() || len(f.list) > 0 {
			return f.list
		}
		got := f.checkDecision(policy.NewDecider(policy.Rules{Limits: c.Limits, Balancer: b}), c)
		f.checkTotal(got, c)
	}
	const shared = 500
	together(shared, func(i int) {
		if again, _ := pick(b, offers[i]); again != picked[i] {
			f.add("concurrent calls pick %d where a single one picked %d", again, picked[i])
		}
	})
	f.checkAllocations(b)
	if !o.unfair {
		f.checkShares(b)
	}
	if o.herd > 0 {
		f.checkHerd(b, o.herd)
	}
	return f.list
}

func randomOffer(r *rand.Rand) offer {
	g := generator{r}
	o := offer{query: g.query(&Case{Limits: policy.Limits{MaxLag: 1}})}
	replicas := make([]policy.Replica, 1+r.IntN(policy.MaxCandidates))
	if g.one(2) {
		replicas = replicas[:1+r.IntN(min(len(replicas), 3))]
	}
	for i := range replicas {
		replicas[i] = g.replica(&Case{}, i)
		c := policy.Candidate{Index: 3 * i, Replica: &replicas[i], InFlight: r.Int64N(4), Latency: g.latency()}
		if g.one(40) {
			c.InFlight = 1<<63 - 1
		}
		o.list = append(o.list, c)
	}
	return o
}

// pick offers b a copy of the list, because it may reorder it, and returns the
// index of the picked candidate in the snapshot, -1 if it is none.
func pick(b policy.Balancer, o offer) (index int, after []policy.Candidate) {
	list := slices.Clone(o.list)
	if i := b.Pick(&o.query, list); i >= 0 && i < len(list) {
		return list[i].Index, list
	}
	return -1, list
}

// checkPick returns the index of the picked candidate in the snapshot.
func (f *findings) checkPick(b policy.Balancer, o offer) (picked int) {
	var after []policy.Candidate
	before := o.query
	if reason := caught(func() { picked, after = pick(b, o) }); reason != nil {
		f.add("panics with %v on %d candidates", reason, len(o.list))
		return -1
	}
	if picked < 0 {
		f.add("answers with an index outside the %d candidates", len(o.list))
	}
	slices.SortFunc(after, func(x, y policy.Candidate) int { return cmp.Compare(x.Index, y.Index) })
	if o.query != before || !slices.Equal(o.list, after) {
		f.add("changed its arguments")
	}
	if again, _ := pick(b, o); again != picked {
		f.add("picks %d, then %d from the same candidates", picked, again)
	}
	return picked
}

// The bounds of a share, and the number of reads that they are stated for.
const (
	reads     = 20_000
	tolerance = 0.1
)

func (f *findings) checkShares(b policy.Balancer) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, weights := range [][]int{{1, 1}, {0, 0, 0}, {1, 1, 1, 1, 1, 1, 1}, {3, 3}, {1, 2}, {5, 1, 2}, {10, 1, 1}} {
		sum := 0
		o := offer{query: policy.Query{Zone: "east"}}
		for i, w := range weights {
			o.list = append(o.list, policy.Candidate{Index: i, Replica: &policy.Replica{Zone: "east", Weight: w}})
			sum += max(w, 1)
		}
		got := make([]int, len(weights))
		list := make([]policy.Candidate, len(weights))
		for ticket := range uint64(reads) {
			o.query.Random, o.query.Ticket = r.Uint64(), ticket
			copy(list, o.list)
			if i := b.Pick(&o.query, list); i >= 0 && i < len(list) {
				got[list[i].Index]++
			}
		}
		for i, w := range weights {
			want := float64(reads*max(w, 1)) / float64(sum)
			if n := float64(got[i]); n < want*(1-tolerance) || n > want*(1+tolerance) {
				f.add("with weights %v gives candidate %d %d of %d reads: want %.0f within a tenth", weights, i, got[i], reads, want)
			}
		}
	}
}
