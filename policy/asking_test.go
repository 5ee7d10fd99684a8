package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/policy"
)

// measured is a load that notes whose latency it was asked for.
type measured struct {
	slow  int // the one where a read takes long
	asked []int
}

func (*measured) InFlight(int) int64 { return 1 }

func (m *measured) Latency(i int, _ time.Time) time.Duration {
	m.asked = append(m.asked, i)
	if i == m.slow {
		return 100 * ms
	}
	return ms
}

// nested is a balancer of the application's own that leaves the choice to another.
type nested struct{ policy.Balancer }

// looking is one that looks at every latency.
type looking struct{ sum *time.Duration }

func (looking) Name() string { return "looking" }

func (l looking) Pick(_ *policy.Query, c []policy.Candidate) int {
	for i := range c {
		*l.sum += c[i].Latency
	}
	return 0
}

// To work out a latency takes longer than the rest of a decision: nobody is asked for one
// that the balancer does not look at, and no balancer finds one missing.
func TestLatenciesAreAskedForByWhoLooks(t *testing.T) {
	var seen time.Duration
	near := []int{1}
	all := []int{0, 1, 2}
	now := time.Now()
	for _, c := range []struct {
		name     string
		balancer policy.Balancer
		slow     int
		want     []int
	}{
		{"least in flight", policy.LeastInFlight(), -1, nil},
		{"of others on reads in flight", policy.LeastBehind(0, policy.Affinity(policy.Random())), -1, nil},
		{"all of those that are drawn", policy.Latency(), -1, all},
		{"under another", policy.LeastBehind(0, policy.Latency()), -1, all},
		{"whoever has an affinity picks without", policy.Affinity(policy.Latency()), -1, nil},
		{"of the own zone", policy.ZoneFirst(nil), -1, near},
		{"of the own zone, and once", policy.ZoneFirst(policy.Latency()), -1, near},
		{"a slow zone, to know how fast the others are", policy.ZoneFirst(nil), 1, all},
		{"no bound on latency", policy.ZoneFirstUntil(policy.Spill{Latency: -1}, nil), -1, nil},
		{"one of the application's own", looking{&seen}, -1, all},
		{"such a one under another", policy.ZoneFirst(looking{&seen}), -1, all},
		{"one under such a one", nested{policy.Latency()}, -1, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, prepared := range []bool{false, true} {
				s := fleet(3, now)
				if prepared {
					s.Prepare(now)
				}
				m := &measured{slow: c.slow}
				d := policy.NewDecider(policy.Rules{Limits: limits, Balancer: c.balancer})
				d.Decide(&policy.Query{Statement: policy.Read, Zone: "z1", Affinity: 7}, s, m, now)
				assert.ElementsMatch(t, c.want, m.asked)
			}
		})
	}
	assert.Equal(t, 6*ms, seen, "two decisions on all three; alone in its zone nobody is asked to pick")

	m := &measured{slow: -1}
	d := policy.NewDecider(policy.Rules{Limits: limits, Balancer: policy.Latency()})
	got := d.Decide(&policy.Query{Statement: policy.Read, Random: 1 << 63}, fleet(64, now), m, now)
	assert.Len(t, m.asked, 3, "of 64 those that are drawn")
	assert.Contains(t, m.asked, got.Replica)
}
