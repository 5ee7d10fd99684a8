package simulate

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// check runs a scenario, shortened to what the claim needs, under some of its
// balancers, by another seed than the page's: what is claimed there must not be luck.
func check(t *testing.T, sc Scenario, length time.Duration, claim func(got map[string]*Result), names ...string) {
	t.Helper()
	sc.Length = length
	got := map[string]*Result{}
	for _, c := range sc.Balancers {
		if slices.Contains(names, c.Name) {
			got[c.Name] = Run(sc, c.Balancer, Seed+100)
		}
	}
	require.Len(t, got, len(names))
	claim(got)
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// What docs/balancing.md claims, in its order.

func TestAmongEquals(t *testing.T) {
	t.Parallel()
	check(t, Equal(), 6*time.Second, func(got map[string]*Result) {
		assert.InDelta(t, 1, ratio(got["latency"].P99, got["least in flight"].P99), 0.06)
		for i := range 3 {
			assert.InDelta(t, 1.0/3, got["round robin"].Share[i], 0.001)
			assert.InDelta(t, 1.0/3, got["least in flight"].Share[i], 0.01)
			assert.InDelta(t, 1.0/3, got["latency"].Share[i], 0.03)
		}
	}, "round robin", "least in flight", "latency")
	check(t, Full(), 6*time.Second, func(got map[string]*Result) {
		assert.InDelta(t, 1, ratio(got["latency"].P99, got["least in flight"].P99), 0.08)
		assert.Greater(t, ratio(got["random"].P99, got["least in flight"].P99), 1.5)
	}, "random", "least in flight", "latency")
}

func TestUnequalSpeed(t *testing.T) {
	t.Parallel()
	check(t, Unequal(), 5*time.Second, func(got map[string]*Result) {
		assert.Greater(t, got["round robin"].P99, time.Second, "the slowest one gets more than it can")
		assert.Less(t, got["least in flight"].P99, 20*time.Millisecond)
		assert.Less(t, ratio(got["latency"].P99, got["least in flight"].P99), 0.85)
	}, "round robin", "least in flight", "latency")
	check(t, Weighted(), 5*time.Second, func(got map[string]*Result) {
		for i, want := range []float64{1.0 / 7, 2.0 / 7, 4.0 / 7} {
			assert.InDelta(t, want, got["round robin"].Share[i], 0.001)
			assert.InDelta(t, want, got["least in flight"].Share[i], 0.02)
		}
		assert.Less(t, got["latency"].Share[0], 0.07, "its weight and its speed count")
		assert.Less(t, ratio(got["latency"].P99, got["least in flight"].P99), 0.85)
	}, "round robin", "least in flight", "latency")
}

func TestOneSlowReplica(t *testing.T) {
	t.Parallel()
	from, to := SlowFrom+2*time.Second, 13*time.Second
	check(t, Slow(), 13*time.Second, func(got map[string]*Result) {
		assert.Greater(t, got["random"].P99Between(from, to), 10*time.Second, "and growing")
		assert.Less(t, ratio(got["latency"].P99Between(from, to), got["least in flight"].P99Between(from, to)), 0.4)
		assert.Less(t, got["latency"].P99Between(from, to), 40*time.Millisecond)
	}, "random", "least in flight", "latency")
	check(t, ManyProcesses(), 13*time.Second, func(got map[string]*Result) {
		assert.Greater(t, got["least in flight"].P99Between(from, to), 500*time.Millisecond)
		assert.Less(t, got["latency"].P99Between(from, to), 60*time.Millisecond)
	}, "least in flight", "latency")
}

func TestFailingFast(t *testing.T) {
	t.Parallel()
	check(t, Failing(), 12*time.Second, func(got map[string]*Result) {
		assert.Less(t, got["latency"].Retries, got["random"].Retries*2/3)
		assert.Less(t, got["latency"].Retries, got["least in flight"].Retries*2/3)
		assert.Less(t, got["latency"].P99, 30*time.Millisecond)
	}, "random", "least in flight", "latency")
	check(t, Flapping(), 13*time.Second, func(got map[string]*Result) {
		for name, r := range got {
			assert.Less(t, float64(r.Retries)/float64(r.Reads), 0.005, name)
			assert.Zero(t, r.Share[3], "%s: the primary", name)
		}
	}, "random", "least in flight", "latency")
}

func TestAllComeBackAtOnce(t *testing.T) {
	t.Parallel()
	check(t, LagSpike(), 16*time.Second, func(got map[string]*Result) {
		for name, r := range got {
			assert.Less(t, r.P99Between(14*time.Second, 16*time.Second), 25*time.Millisecond, name)
			assert.Zero(t, r.Share[5], "%s: the primary", name)
		}
	}, "least in flight", "latency", "least behind")
}

func TestAFullZone(t *testing.T) {
	t.Parallel()
	calm, settled, end := 8*time.Second, 10*time.Second, 15*time.Second
	check(t, Zones(), 15*time.Second, func(got map[string]*Result) {
		assert.Greater(t, got["zone first, no bound"].P99, time.Second)
		for _, name := range []string{"zone first", "zone first, latency"} {
			r := got[name]
			assert.Less(t, r.P99Between(warmUp, calm), 25*time.Millisecond, "%s: nobody leaves", name)
			assert.Less(t, r.P99Between(settled, end), 110*time.Millisecond, name)
			// It does not flap: no half second is much worse than the others, and both
			// replicas of the zone stay in use alike.
			for i := int(settled / Window); i < int(end/Window); i++ {
				assert.Less(t, ratio(r.P99In(i), r.P99Between(settled, end)), 2.0, "%s, window %d", name, i)
			}
			assert.InDelta(t, r.Share[0], r.Share[1], 0.02, name)
		}
		assert.Less(t, got["zone first"].Share[2]+got["zone first"].Share[3], 0.25)
		assert.Greater(t, got["least in flight"].P99Between(warmUp, calm), 27*time.Millisecond, "the way to the other zone")
	}, "least in flight", "zone first, no bound", "zone first", "zone first, latency")
}

func TestSessionsWithPositions(t *testing.T) {
	t.Parallel()
	check(t, OwnWrites(), 6*time.Second, func(got map[string]*Result) {
		for name, r := range got {
			assert.Less(t, r.Share[3], 0.01, "%s: the primary", name)
			assert.Greater(t, r.Share[0], 0.45, "%s: only it shows what was just written", name)
		}
		assert.Greater(t, ratio(got["random"].P99, got["least in flight"].P99), 2.0)
		assert.Less(t, got["least behind"].Share[2], 0.08)
	}, "random", "least in flight", "latency", "least behind")
}

func TestWorkOfTwoKinds(t *testing.T) {
	t.Parallel()
	check(t, Reports(), 9*time.Second, func(got map[string]*Result) {
		assert.Less(t, ratio(got["latency"].P99, got["least in flight"].P99), 1.15)
		assert.Greater(t, ratio(got["round robin"].P99, got["latency"].P99), 3.0)
	}, "round robin", "least in flight", "latency")
	check(t, Mixed(), 12*time.Second, func(got map[string]*Result) {
		assert.Less(t, ratio(got["latency"].P99, got["least in flight"].P99), 1.25)
		assert.Greater(t, ratio(got["random"].P99, got["latency"].P99), 1.8)
	}, "random", "least in flight", "latency")
}
