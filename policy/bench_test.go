package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

type flat []int64

func (f flat) InFlight(i int) int64 { return f[i] }

func fleet(n int, now time.Time) *policy.Snapshot {
	h := lsn.History{System: 1, Timeline: 1, Incarnation: 1}
	s := &policy.Snapshot{Primary: policy.Primary{Name: "primary", Position: lsn.Position{History: h, LSN: 1000}, Sampled: now}}
	for i := range n {
		s.Replicas = append(s.Replicas, policy.Replica{
			Name: fmt.Sprintf("r%d", i), Zone: fmt.Sprint("z", i%3), Groups: []string{"all", "reporting"}, Role: policy.RoleStandby, Up: true,
			Sampled: now.Add(-100 * time.Millisecond), ReplayedAt: now.Add(-200 * time.Millisecond),
			Applied: lsn.Position{History: h, LSN: 1000}, CatchUp: time.Millisecond,
		})
	}
	return s
}

// BenchmarkDecide: at most 100 ns for three replicas and 5 us for a thousand, without
// an allocation (docs/scale.md). behind is a read after a write that no replica has;
// mixed is the same while one replica comes back from an ejection, so that all have to
// be looked at; lost has nobody within its bounds, and looks twice; rules is what all
// of this costs where nobody has called Prepare.
func BenchmarkDecide(b *testing.B) {
	now := time.Now()
	for _, n := range []int{1, 3, 10, 100, 1000} {
		s := fleet(n, now)
		s.Prepare(now)
		counts := make(flat, n)
		for i := range counts {
			counts[i] = int64(i % 7)
		}
		var load policy.Load = counts
		run := func(name string, balancer policy.Balancer, need lsn.LSN, want policy.Target) {
			b.Run(fmt.Sprintf("replicas=%d/%s", n, name), func(b *testing.B) {
				d := policy.NewDecider(policy.Rules{Limits: limits, Balancer: balancer})
				q := &policy.Query{Statement: policy.Read, Need: at(need), Zone: "z1"}
				b.ReportAllocs()
				for b.Loop() {
					q.Random += 0x9e3779b97f4a7c15
					q.Ticket++
					if got := d.Decide(q, s, load, now).Target; got != want {
						b.Fatal(got)
					}
				}
			})
		}
		for _, balancer := range []policy.Balancer{policy.Random(), policy.RoundRobin(), policy.LeastInFlight(), policy.Latency(), policy.ZoneFirst(policy.LeastInFlight())} {
			run(balancer.Name(), balancer, 900, policy.ToReplica)
		}
		run("behind", nil, 2000, policy.Wait)
		s = fleet(n, now)
		s.Replicas[n/2].EjectedUntil, s.Replicas[n/2].Balanced = now.Add(time.Second), true
		s.Prepare(now)
		if n > 1 {
			run("mixed", nil, 2000, policy.Wait)
		}
		s = fleet(n, now)
		s.Primary.Lost = true
		for i := range s.Replicas {
			s.Replicas[i].Sampled = now.Add(-time.Minute)
		}
		s.Prepare(now)
		run("lost", nil, 900, policy.ToPrimary)
		s = fleet(n, now)
		run("rules", nil, 2000, policy.Wait)
	}
}
