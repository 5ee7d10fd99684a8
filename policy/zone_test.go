package policy_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/policy"
)

const ms = time.Millisecond

func TestZoneFirst(t *testing.T) {
	servers := []server{{zone: "a"}, {zone: "b"}, {zone: "a"}, {zone: "b", weight: 2}, {zone: "b", inFlight: 1}}
	z := policy.ZoneFirst(policy.RoundRobin())
	assert.Equal(t, []int{0, 100, 0, 200, 100}, shares(z, 400, "b", servers...))
	assert.Equal(t, []int{200, 0, 200, 0, 0}, shares(z, 400, "a", servers...))
	assert.Equal(t, []int{100, 100, 100, 200, 100}, shares(z, 600, "", servers...), "no zone")
	assert.Equal(t, []int{100, 100, 100, 200, 100}, shares(z, 600, "c", servers...), "nobody in the zone")
	assert.InDeltaSlice(t, []int{0, 133, 0, 267, 0}, shares(policy.ZoneFirst(nil), 400, "b", servers...), 1)

	outside := policy.ZoneFirst(meddler{func([]policy.Candidate) int { return 4 }})
	assert.Equal(t, []int{0, 400, 0, 0, 0}, shares(outside, 400, "b", servers...), "a wrong answer stays in the zone")
	assert.Equal(t, "zone_first(round_robin)", z.Name())
}

// At a bound every read stays, at twice the bound every read leaves, and in between the
// share that leaves grows evenly: nothing jumps, so that nothing flaps.
func TestSpillGrowsEvenly(t *testing.T) {
	far := server{zone: "far"}
	for name, c := range map[string]struct {
		spill policy.Spill
		near  func(load float64) server // 1 is at the bound
		far   server
	}{
		"reads in flight":            {policy.Spill{InFlight: 100}, func(x float64) server { return server{inFlight: int64(100 * x)} }, far},
		"32 of them by default":      {policy.Spill{}, func(x float64) server { return server{inFlight: int64(32 * x)} }, far},
		"for their weight":           {policy.Spill{InFlight: 100}, func(x float64) server { return server{inFlight: int64(150 * x), weight: 3} }, far},
		"latency":                    {policy.Spill{Latency: 20 * ms}, func(x float64) server { return server{latency: time.Duration(20 * x * float64(ms))} }, server{zone: "far", latency: ms}},
		"10 ms of it by default":     {policy.Spill{}, func(x float64) server { return server{latency: time.Duration(10 * x * float64(ms))} }, server{zone: "far", latency: ms}},
		"latency over the others'":   {policy.Spill{}, func(x float64) server { return server{latency: time.Duration(50 * x * float64(ms))} }, server{zone: "far", latency: 50 * ms}},
		"to where nobody knows":      {policy.Spill{}, func(x float64) server { return server{latency: time.Duration(10 * x * float64(ms))} }, far},
		"lag":                        {policy.Spill{Lag: time.Second}, func(x float64) server { return server{behind: time.Duration(x * float64(time.Second))} }, far},
		"whichever says it the most": {policy.Spill{Lag: time.Hour, InFlight: 100}, func(x float64) server { return server{behind: time.Minute, inFlight: int64(100 * x)} }, far},
	} {
		z := policy.ZoneFirstUntil(c.spill, policy.RoundRobin())
		for load, leaves := range map[float64]float64{0: 0, 0.5: 0, 1: 0, 1.25: 0.25, 1.5: 0.5, 1.75: 0.75, 2: 1, 10: 1} {
			near := c.near(load)
			near.zone = "near"
			got := shares(z, 4000, "near", near, c.far)
			assert.InDelta(t, leaves, float64(got[1])/4000, 0.03, "%s, %v of the bound", name, load)
		}
	}
}

func TestSpillHasLimits(t *testing.T) {
	pick := func(s policy.Spill, servers ...server) []int {
		return shares(policy.ZoneFirstUntil(s, policy.RoundRobin()), 600, "near", servers...)
	}
	full := server{zone: "near", inFlight: 1000, latency: time.Second, behind: time.Hour}
	idle := server{zone: "far", latency: ms}
	assert.Equal(t, []int{600, 0}, pick(policy.Spill{InFlight: -1, Latency: -1}, full, idle), "no bound")
	assert.Equal(t, []int{0, 600, 0}, pick(policy.Spill{}, full, server{zone: "near"}, idle), "another one of the zone is well")
	assert.Equal(t, []int{0, 0, 600}, pick(policy.Spill{}, full, server{zone: "far", inFlight: 1000}, idle), "only to who is well")
	busy := server{zone: "far", inFlight: 1000, latency: time.Second}
	assert.Equal(t, []int{300, 300}, pick(policy.Spill{}, full, busy), "nobody is well")
	assert.Equal(t, []int{600, 0}, pick(policy.Spill{}, server{zone: "near", latency: time.Second}, server{zone: "far", inFlight: 1}), "another read finds out how long it takes there")
	assert.Equal(t, []int{600}, pick(policy.Spill{}, full), "there is no other zone")
	assert.Equal(t, []int{0, 300, 300}, pick(policy.Spill{Latency: 10 * ms}, full, server{zone: "far", latency: ms}, server{zone: "far", latency: time.Second}), "who leaves compares the others with nobody")
}

// Who is behind is compared with the others, and a primary is not behind.
func TestSpillByLagCompares(t *testing.T) {
	z := policy.ZoneFirstUntil(policy.Spill{Lag: time.Second}, policy.RoundRobin())
	both := []server{{zone: "near", behind: time.Hour}, {zone: "far", behind: time.Hour}}
	assert.Equal(t, []int{100, 0}, shares(z, 100, "near", both...), "all are behind")
	c := offered(both...)
	c[1].Replica.Role, c[1].Replica.AllowPrimary = policy.RolePrimary, true
	c[1].Replica.ReplayedAt = replayed.Add(time.Hour)
	assert.Equal(t, 0, c[z.Pick(&policy.Query{Zone: "near"}, c)].Index, "the primary says nothing of replicas")
}

func TestSpillValidates(t *testing.T) {
	require.NoError(t, policy.Spill{}.Validate())
	require.NoError(t, policy.Spill{InFlight: -1, Latency: -1}.Validate())
	require.NoError(t, policy.Spill{InFlight: math.MaxInt, Latency: math.MaxInt64, Lag: math.MaxInt64}.Validate())
	for want, s := range map[string]policy.Spill{
		"readsplit: Spill.InFlight is -2: it must be a number of reads (0 means 32, -1 no bound)": {InFlight: -2},
		"readsplit: Spill.Latency is -1s: it must be positive (0 means 10ms, -1 no bound)":        {Latency: -time.Second},
		"readsplit: Spill.Lag is -1ns: it must be positive (0 means no bound)":                    {Lag: -1},
	} {
		require.EqualError(t, s.Validate(), want)
	}
}

func TestLeastBehind(t *testing.T) {
	servers := []server{{behind: 100 * ms}, {behind: 700 * ms}, {}, {behind: 500 * ms}}
	assert.Equal(t, []int{100, 0, 100, 100}, shares(policy.LeastBehind(0, policy.RoundRobin()), 300, "", servers...))
	assert.Equal(t, []int{150, 0, 150, 0}, shares(policy.LeastBehind(100*ms, policy.RoundRobin()), 300, "", servers...))
	assert.Equal(t, []int{0, 0, 300, 0}, shares(policy.LeastBehind(1, nil), 300, "", servers...))
	assert.Equal(t, "least_behind(least_in_flight)", policy.LeastBehind(0, nil).Name())

	c := offered(server{}, server{}, server{behind: time.Hour})
	c[1].Replica.ReplayedAt = time.Time{}
	c[2].Replica.Role, c[2].Replica.AllowPrimary = policy.RolePrimary, true
	got := map[int]int{}
	for ticket := range uint64(10) {
		got[c[policy.LeastBehind(0, policy.RoundRobin()).Pick(&policy.Query{Ticket: ticket}, c)].Index]++
	}
	assert.Equal(t, map[int]int{0: 5, 2: 5}, got, "nothing is proven of the second, and the primary is never behind")
	unknown := offered(server{}, server{})
	unknown[0].Replica.ReplayedAt, unknown[1].Replica.ReplayedAt = time.Time{}, time.Time{}
	assert.Equal(t, 1, policy.LeastBehind(0, policy.RoundRobin()).Pick(&policy.Query{Ticket: 1}, unknown), "nothing is proven of anybody")
}

// What a prepared snapshot says of lags is what the replicas say.
func TestLeastBehindOfPrepared(t *testing.T) {
	now := time.Now()
	decided := func(change func(r []policy.Replica)) map[int]int {
		s := fleet(4, now)
		for i := range s.Replicas {
			s.Replicas[i].ReplayedAt = now.Add(-ms - time.Duration(i)*100*ms)
		}
		change(s.Replicas)
		s.Prepare(now)
		d := policy.NewDecider(policy.Rules{Limits: limits, Balancer: policy.LeastBehind(150*ms, policy.RoundRobin())})
		got := map[int]int{}
		for ticket := range uint64(24) {
			got[d.Decide(&policy.Query{Statement: policy.Read, Ticket: ticket}, s, nil, now.Add(ms)).Replica]++
		}
		return got
	}
	assert.Equal(t, map[int]int{0: 12, 1: 12}, decided(func([]policy.Replica) {}))
	assert.Equal(t, map[int]int{1: 12, 2: 12}, decided(func(r []policy.Replica) { r[0].Up = false }))
	assert.Equal(t, map[int]int{0: 8, 1: 8, 2: 8}, decided(func(r []policy.Replica) { r[2].ReplayedAt = now.Add(-50 * ms) }))
	assert.Equal(t, map[int]int{0: 6, 1: 6, 2: 6, 3: 6}, decided(func(r []policy.Replica) {
		for i := range r {
			r[i].ReplayedAt = now.Add(-ms)
		}
	}))
	assert.Equal(t, map[int]int{0: 8, 1: 8, 2: 8}, decided(func(r []policy.Replica) {
		r[0].Role, r[0].AllowPrimary = policy.RolePrimary, true
	}), "a primary is not behind, and does not make the others so")
}
