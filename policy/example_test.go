package policy_test

import (
	"fmt"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

var (
	noon  = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	write = lsn.Position{History: lsn.History{System: 7, Timeline: 1, Incarnation: 1}, LSN: 0x3E8}
)

// twoReplicas: pg2 has replayed write, pg3 is 100 bytes short of it.
func twoReplicas() *policy.Snapshot {
	healthy := policy.Replica{
		Role: policy.RoleStandby, Up: true, CatchUp: time.Millisecond,
		Sampled: noon.Add(-100 * time.Millisecond), ReplayedAt: noon.Add(-200 * time.Millisecond),
	}
	pg2, pg3 := healthy, healthy
	pg2.Name, pg2.Zone, pg2.Applied = "pg2", "eu-1a", write
	pg3.Name, pg3.Zone, pg3.Applied = "pg3", "eu-1b", write
	pg3.Applied.LSN -= 100
	pg3.BehindBytes = 100
	return &policy.Snapshot{Primary: policy.Primary{Name: "pg1"}, Replicas: []policy.Replica{pg2, pg3}}
}

// show decides q over two replicas by the given policies and balancer.
func show(q policy.Query, b policy.Balancer, policies ...policy.Policy) {
	q.Statement = policy.Read
	d := policy.NewDecider(policy.Rules{
		Limits:   policy.Limits{MaxLag: 2 * time.Second, MaxSampleAge: time.Second, MaxWait: 5 * time.Millisecond},
		Policies: policies,
		Balancer: b,
	})
	s := twoReplicas()
	switch got := d.Decide(&q, s, nil, noon); got.Target {
	case policy.ToReplica:
		fmt.Println(s.Replicas[got.Replica].Name, got.Reason)
	default:
		fmt.Println(got.Target, got.Reason)
	}
}

func ExampleDecider_Decide() {
	d := policy.NewDecider(policy.Rules{
		Limits: policy.Limits{MaxLag: 2 * time.Second, MaxSampleAge: time.Second, MaxWait: 5 * time.Millisecond},
	})
	s := twoReplicas()
	q := policy.Query{Statement: policy.Read, Need: write}
	got := d.Decide(&q, s, nil, noon)
	fmt.Println(got.Target, s.Replicas[got.Replica].Name, got.Reason)

	q.Exclude = 1 << got.Replica // it failed: once more, elsewhere
	got = d.Decide(&q, s, nil, noon)
	fmt.Println(got.Target, got.Wait, got.Reason)

	q.Waited = got.Wait
	got = d.Decide(&q, s, nil, noon)
	fmt.Println(got.Target, got.Reason)
	// Output:
	// replica pg2 caught_up
	// wait 5ms behind_session
	// primary wait_expired
}

func ExampleDecider_Explain() {
	d := policy.NewDecider(policy.Rules{
		Limits: policy.Limits{MaxLag: 2 * time.Second, MaxSampleAge: time.Second, MaxWait: 5 * time.Millisecond},
	})
	fmt.Print(d.Explain(&policy.Query{Statement: policy.Read, Need: write}, twoReplicas(), nil, noon))
	// Output:
	// replica pg2: caught_up
	//   request  ok:  statement, context, traffic, session
	//   pg2      chosen, 0 in flight
	//            ok:  untried, group, drained, role (standby), up, news (100ms old, at most 1s), ejected, single, lag (200ms, at most 2s), position (at 0/3E8, needs 0/3E8), slow_start
	//   pg3      behind_session
	//            no:  position behind_session (at 0/384, needs 0/3E8, catches up in 1ms, 5ms left to wait)
	//            ok:  untried, group, drained, role (standby), up, news (100ms old, at most 1s), ejected, single, lag (200ms, at most 2s), slow_start
}

func ExampleSticky() {
	show(policy.Query{LastWrite: noon.Add(-4 * time.Second)}, nil, policy.Sticky(5*time.Second))
	show(policy.Query{LastWrite: noon.Add(-5 * time.Second)}, nil, policy.Sticky(5*time.Second))
	// Output:
	// primary sticky_window
	// pg2 within_lag
}

func ExampleRestOfRequest() {
	show(policy.Query{Wrote: true}, nil, policy.RestOfRequest())
	// Output: primary rest_of_request
}

func ExampleOneServer() {
	show(policy.Query{Held: 2}, nil, policy.OneServer())
	show(policy.Query{Held: -1}, nil, policy.OneServer())
	// Output:
	// pg3 within_lag
	// primary held_elsewhere
}

func ExampleAffinity() {
	// Whatever chance and turn say, a user's reads stay on one replica.
	for turn := range uint64(3) {
		show(policy.Query{Affinity: 1001, Ticket: turn, Random: turn << 62}, policy.Affinity(policy.RoundRobin()))
	}
	show(policy.Query{Affinity: 2002}, policy.Affinity(policy.RoundRobin()))
	// Output:
	// pg2 within_lag
	// pg2 within_lag
	// pg2 within_lag
	// pg3 within_lag
}

func ExampleMaxLag() {
	show(policy.Query{}, nil, policy.MaxLag(150*time.Millisecond))
	// Output: primary lagging
}

func ExampleMaxBytes() {
	show(policy.Query{Held: 2}, nil, policy.OneServer(), policy.MaxBytes(64))
	show(policy.Query{}, nil, policy.MaxBytes(64))
	// Output:
	// primary behind_bytes
	// pg2 within_lag
}

func ExampleSampleAge() {
	show(policy.Query{}, nil, policy.SampleAge(50*time.Millisecond))
	// Output: primary old_news
}

func ExampleCaughtUp() {
	// The core has this rule already; a policy of one's own may build on it.
	caughtUp := policy.CaughtUp()
	strict := policy.Func("caught_up_even_for_any_replica", func(q *policy.Query, s *policy.Snapshot, r *policy.Replica, now time.Time) policy.Reason {
		own := *q
		own.Mode = policy.Normal
		return caughtUp.Judge(&own, s, r, now)
	})
	show(policy.Query{Mode: policy.AnyReplica, Need: write}, nil, strict)
	// Output: pg2 any_replica
}

func ExampleFunc() {
	notAtNoon := policy.Func("not_at_noon", func(_ *policy.Query, _ *policy.Snapshot, r *policy.Replica, now time.Time) policy.Reason {
		if now.Hour() == 12 && r.Zone == "eu-1a" {
			return policy.ReasonObjected
		}
		return policy.ReasonNone
	})
	show(policy.Query{}, nil, notAtNoon)
	// Output: pg3 within_lag
}

func ExampleZoneFirst() {
	b := policy.ZoneFirst(policy.RoundRobin())
	show(policy.Query{Zone: "eu-1b"}, b)
	show(policy.Query{Zone: "eu-1b", Need: write}, b) // near, but behind
	// Output:
	// pg3 within_lag
	// pg2 caught_up
}

func ExampleRoundRobin() {
	for ticket := range uint64(3) {
		show(policy.Query{Ticket: ticket}, policy.RoundRobin())
	}
	// Output:
	// pg2 within_lag
	// pg3 within_lag
	// pg2 within_lag
}

func ExampleRandom() {
	show(policy.Query{Random: 1 << 62}, policy.Random())
	show(policy.Query{Random: 3 << 62}, policy.Random())
	// Output:
	// pg2 within_lag
	// pg3 within_lag
}

func ExampleLeastInFlight() {
	c := []policy.Candidate{
		{Index: 0, Replica: &policy.Replica{Name: "small"}, InFlight: 2},
		{Index: 1, Replica: &policy.Replica{Name: "large", Weight: 4}, InFlight: 5},
	}
	fmt.Println(c[policy.LeastInFlight().Pick(&policy.Query{}, c)].Replica.Name)
	// Output: large
}

func ExampleReasons() {
	for _, r := range policy.Reasons()[:3] {
		fmt.Println(r)
	}
	// Output:
	// caught_up
	// within_lag
	// waited
}

func ExampleZoneFirstUntil() {
	// Reads leave the zone when a replica there runs 16 of them, or is a second
	// farther behind than the best; of the others, the fastest is taken.
	b := policy.ZoneFirstUntil(policy.Spill{InFlight: 16, Lag: time.Second}, policy.Latency())
	fmt.Println(b.Name())
	show(policy.Query{Zone: "eu-1b"}, b)
	// Output:
	// zone_first(latency)
	// pg3 within_lag
}

func ExampleLeastBehind() {
	show(policy.Query{}, policy.LeastBehind(0, policy.Latency()))
	// Output:
	// pg2 within_lag
}
