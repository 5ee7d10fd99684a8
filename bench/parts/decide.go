package parts

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/readsplit/readsplit/bench/side"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// Sizes are the numbers of replicas that decisions are measured with.
var Sizes = []int{3, 10, 100, 1000}

// At is what was measured with n replicas.
func (l Line) At(n int) side.Alone { return l.By[slices.Index(Sizes, n)] }

// Allocs is the most that one operation allocates, whatever the number of replicas.
func (l Line) Allocs() (most float64) {
	for _, a := range l.By {
		most = max(most, math.Floor(a.Allocs))
	}
	return most
}

// Measure says how one operation is measured.
type Measure func(op func(n int)) side.Alone

// Line is one thing that was measured, by the number of replicas.
type Line struct {
	Name string
	By   []side.Alone // as Sizes
}

// load is a process with some reads in flight, and servers of about the same speed.
type load []int64

func (l load) InFlight(i int) int64 { return l[i] }

func (load) Latency(i int, _ time.Time) time.Duration {
	return time.Millisecond + time.Duration(i%7)*time.Microsecond
}

var history = lsn.History{System: 1, Timeline: 1, Incarnation: 1}

const written, beyond = 900, 2000 // what all replicas have, and what nobody has

// fleet is n replicas that have all, and what a process knows of them.
func fleet(n int, now time.Time) (*policy.Snapshot, load) {
	s := &policy.Snapshot{Primary: policy.Primary{Name: "primary", Position: lsn.Position{History: history, LSN: 1000}, Sampled: now}}
	reads := make(load, n)
	for i := range n {
		reads[i] = int64(i % 7)
		s.Replicas = append(s.Replicas, policy.Replica{
			Name: fmt.Sprintf("r%d", i), Zone: fmt.Sprint("z", i%3), Role: policy.RoleStandby, Up: true,
			Sampled: now.Add(-100 * time.Millisecond), ReplayedAt: now.Add(-200 * time.Millisecond),
			Applied: lsn.Position{History: history, LSN: 1000}, CatchUp: time.Minute,
		})
	}
	return s, reads
}

var limits = policy.Limits{MaxLag: 2 * time.Second, MaxSampleAge: time.Second, MaxWait: 5 * time.Millisecond}

// balancers are all that there are; the first is the default.
var balancers = []policy.Balancer{
	policy.LeastInFlight(), policy.Random(), policy.RoundRobin(), policy.Latency(), policy.LeastBehind(10*time.Millisecond, nil),
	policy.ZoneFirst(nil), policy.ZoneFirst(policy.Latency()), policy.Affinity(nil),
}

func query() *policy.Query {
	return &policy.Query{Statement: policy.Read, Need: lsn.Position{History: history, LSN: written}, Zone: "z1", Affinity: 0x9e3779b97f4a7c15}
}

// lines measures what begin returns for each number of replicas.
func lines(m Measure, name string, begin func(s *policy.Snapshot, l load, now time.Time) func(q *policy.Query)) Line {
	line, now := Line{Name: name}, time.Now()
	for _, n := range Sizes {
		s, l := fleet(n, now)
		op, q := begin(s, l, now), query()
		line.By = append(line.By, m(func(n int) {
			for range n {
				q.Random += 0x9e3779b97f4a7c15
				q.Ticket++
				op(q)
			}
		}))
	}
	return line
}

// decision measures a whole decision; change, unless nil, makes the situation, need is
// what the session has to see.
func decision(m Measure, name string, b policy.Balancer, need lsn.LSN, change func(*policy.Snapshot), p ...policy.Policy) Line {
	return lines(m, name, func(s *policy.Snapshot, l load, now time.Time) func(*policy.Query) {
		d := policy.NewDecider(policy.Rules{Limits: limits, Balancer: b, Policies: p})
		if change != nil {
			change(s)
		}
		s.Prepare(now)
		var asked policy.Load = l
		return func(q *policy.Query) {
			q.Need.LSN = need
			d.Decide(q, s, asked, now)
		}
	})
}

// Decisions measures a decision with each balancer, where all replicas may serve.
func Decisions(m Measure) (all []Line) {
	for _, b := range balancers {
		all = append(all, decision(m, b.Name(), b, written, nil))
	}
	return all
}

// Situations measures a decision with the default balancer where not all may serve.
func Situations(m Measure) []Line {
	return []Line{
		decision(m, "nobody has the session's write", nil, beyond, nil),
		decision(m, "the same, one replica is out of the ordinary", nil, beyond, func(s *policy.Snapshot) {
			s.Replicas[len(s.Replicas)/2].Balanced = true
		}),
		decision(m, "all news too old", nil, written, func(s *policy.Snapshot) {
			for i := range s.Replicas {
				s.Replicas[i].Sampled = s.Replicas[i].Sampled.Add(-time.Minute)
			}
		}),
	}
}

// Policies measures a decision with each policy beside the rules of the core.
func Policies(m Measure) (all []Line) {
	for _, p := range []policy.Policy{
		policy.Sticky(time.Second), policy.RestOfRequest(), policy.OneServer(), policy.MaxLag(time.Second),
		policy.MaxBytes(1 << 30), policy.SampleAge(time.Second), policy.CaughtUp(),
		policy.Func("own", func(*policy.Query, *policy.Snapshot, *policy.Replica, time.Time) policy.Reason {
			return policy.ReasonNone
		}),
	} {
		all = append(all, decision(m, p.Name(), nil, written, nil, p))
	}
	return all
}

// Picks measures each balancer alone: so many candidates, one of them.
func Picks(m Measure) (all []Line) {
	for _, b := range balancers {
		all = append(all, lines(m, b.Name(), func(s *policy.Snapshot, l load, now time.Time) func(*policy.Query) {
			// A decider offers at most 64.
			offered := make([]policy.Candidate, 0, 64)
			for i := range min(len(s.Replicas), cap(offered)) {
				offered = append(offered, policy.Candidate{Index: i, Replica: &s.Replicas[i], InFlight: l[i], Latency: l.Latency(i, now)})
			}
			// A balancer may put what it is offered in another order.
			given := make([]policy.Candidate, len(offered))
			return func(q *policy.Query) {
				copy(given, offered)
				b.Pick(q, given)
			}
		}))
	}
	return all
}
