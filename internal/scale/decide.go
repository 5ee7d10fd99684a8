package main

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/readsplit/readsplit/internal/chart"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

var sizes = []int{1, 3, 10, 100, 1000}

// situation is what a decision finds.
type situation struct {
	name     string
	balancer policy.Balancer
	need     lsn.LSN
	change   func(s *policy.Snapshot, q *policy.Query)
	judged   bool // by all rules: the snapshot is not prepared
}

var situations = []situation{
	{"all may serve, LeastInFlight", policy.LeastInFlight(), 900, nil, false},
	{"all may serve, Latency", policy.Latency(), 900, nil, false},
	{"three zones, ZoneFirst(Latency)", policy.ZoneFirst(policy.Latency()), 900, func(_ *policy.Snapshot, q *policy.Query) { q.Zone = "z1" }, false},
	{"nobody has the session's write", nil, 2000, nil, false},
	{"the same, one is out of the ordinary", nil, 2000, func(s *policy.Snapshot, _ *policy.Query) { s.Replicas[len(s.Replicas)/2].Balanced = true }, false},
	{"all news too old", nil, 900, func(s *policy.Snapshot, _ *policy.Query) {
		for i := range s.Replicas {
			s.Replicas[i].Sampled = s.Replicas[i].Sampled.Add(-time.Minute)
		}
	}, false},
	{"nobody has it, without Prepare", nil, 2000, nil, true},
}

type flat []int64

func (f flat) InFlight(i int) int64 { return f[i] }

func (f flat) Latency(i int, _ time.Time) time.Duration {
	return time.Millisecond + time.Duration(i%7)*time.Microsecond
}

func fleet(n int, now time.Time) *policy.Snapshot {
	h := lsn.History{System: 1, Timeline: 1, Incarnation: 1}
	s := &policy.Snapshot{Primary: policy.Primary{Name: "primary", Position: lsn.Position{History: h, LSN: 1000}, Sampled: now}}
	for i := range n {
		s.Replicas = append(s.Replicas, policy.Replica{
			Name: fmt.Sprintf("r%d", i), Zone: fmt.Sprint("z", i%3), Role: policy.RoleStandby, Up: true,
			Sampled: now.Add(-100 * time.Millisecond), ReplayedAt: now.Add(-200 * time.Millisecond),
			Applied: lsn.Position{History: h, LSN: 1000}, CatchUp: time.Minute,
		})
	}
	return s
}

// decide measures one decision, and checks that it allocates nothing.
func decide(options) (string, *chart.Chart, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now := time.Now()
	limits := policy.Limits{MaxLag: 2 * time.Second, MaxSampleAge: time.Second, MaxWait: 5 * time.Millisecond}
	c := &chart.Chart{Title: "processor time of one decision", XName: "replicas", YName: "ns", Bound: 5000, Says: "5 us"}
	head := []string{"ns for each decision; replicas:"}
	for _, n := range sizes {
		head, c.X = append(head, fmt.Sprint(n)), append(c.X, float64(n))
	}
	var lines [][]string
	for _, x := range situations {
		line, drawn := []string{x.name}, chart.Line{Name: x.name}
		for _, n := range sizes {
			s, load := fleet(n, now), make(flat, n)
			for i := range load {
				load[i] = int64(i % 7)
			}
			q := &policy.Query{Statement: policy.Read}
			q.Need = lsn.Position{History: s.Primary.Position.History, LSN: x.need}
			if x.change != nil {
				x.change(s, q)
			}
			if !x.judged {
				s.Prepare(now)
			}
			ns := once(policy.NewDecider(policy.Rules{Limits: limits, Balancer: x.balancer}), q, s, load, now)
			line, drawn.Y = append(line, fmt.Sprintf("%.0f", ns)), append(drawn.Y, ns)
		}
		lines, c.Lines = append(lines, line), append(c.Lines, drawn)
	}
	return rows(head, lines), c, nil
}

// once is the least of several measurements: others can only make one longer.
func once(d *policy.Decider, q *policy.Query, s *policy.Snapshot, load policy.Load, now time.Time) float64 {
	best := math.Inf(1)
	turns := 4_000_000 / (len(s.Replicas) + 20)
	for range 7 {
		began := processor()
		for range turns {
			q.Random += 0x9e3779b97f4a7c15
			q.Ticket++
			d.Decide(q, s, load, now)
		}
		best = min(best, float64(processor()-began)/float64(turns))
	}
	return best
}
