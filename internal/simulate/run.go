package simulate

import (
	"math/rand/v2"
	"time"

	"github.com/readsplit/readsplit/policy"
)

// run is one scenario under one balancer.
type run struct {
	Scenario
	events    events
	now       time.Duration
	chance    *rand.Rand
	decider   *policy.Decider
	fleet     Fleet
	primary   *server
	all       []*server // the replicas and the primary
	processes []*process
	snapshot  policy.Snapshot
	result    Result
}

// Limits of the plugin, at their defaults.
const (
	maxLag       = 2 * time.Second
	maxSampleAge = time.Second
	maxWait      = 5 * time.Millisecond
	mostAttempts = 3
	retryAfter   = 5 * time.Millisecond
	warmUp       = 2 * time.Second // reads before that do not count
)

// Run simulates a scenario under one of its balancers.
func Run(sc Scenario, b policy.Balancer, seed uint64) *Result {
	r := &run{
		Scenario: sc, chance: rand.New(rand.NewPCG(seed, 1)),
		decider: policy.NewDecider(policy.Rules{
			Limits:   policy.Limits{MaxLag: maxLag, MaxSampleAge: maxSampleAge, MaxWait: maxWait, SlowStart: sc.SlowStart},
			Balancer: b,
		}),
		fleet: Fleet{Load: 1},
	}
	r.primary = &server{Server: Server{Name: "primary", Workers: 16, Mean: 4 * time.Millisecond}, run: r, slow: 1}
	for _, s := range sc.Servers {
		at := &server{Server: s, run: r, slow: 1, replay: s.Replay}
		replica := policy.Replica{Name: s.Name, Zone: s.Zone, Weight: s.Weight, Role: policy.RoleStandby, Up: true, CatchUp: time.Millisecond}
		if s.Primary {
			replica.Role, replica.AllowPrimary = policy.RolePrimary, true
		}
		r.fleet.servers = append(r.fleet.servers, at)
		r.snapshot.Replicas = append(r.snapshot.Replicas, replica)
	}
	r.all = append(r.all, r.fleet.servers...)
	r.all = append(r.all, r.primary)
	if r.Processes == 0 {
		r.Processes = 4
	}
	for i := range r.Processes {
		r.processes = append(r.processes, newProcess(r, i))
	}
	r.result = Result{servers: len(sc.Servers), windows: make([][]time.Duration, int(sc.Length/Window)+1)}
	for _, c := range sc.Changes {
		r.events.plan(c.At, func() { c.Do(&r.fleet) })
	}
	r.arrive()
	for e, ok := r.events.next(); ok; e, ok = r.events.next() {
		r.now = e.at
		e.do()
	}
	r.result.finish(r.all)
	return &r.result
}

func (r *run) after(d time.Duration, do func()) { r.events.plan(r.now+d, do) }

// arrive plans the next read; arrivals know nothing of each other.
func (r *run) arrive() {
	gap := r.chance.ExpFloat64() / (r.Rate * r.fleet.Load)
	r.after(time.Duration(gap*float64(time.Second)), func() {
		if r.now >= r.Length {
			return
		}
		rd := &read{run: r, process: r.processes[r.chance.IntN(len(r.processes))], arrived: r.now, size: r.chance.ExpFloat64()}
		if r.chance.Float64() < r.Reports {
			rd.size *= r.ReportTimes
			rd.report = true
		}
		rd.query = policy.Query{Statement: policy.Read, Zone: r.Zone}
		if r.chance.Float64() < r.OwnWrites {
			rd.query.Need = written(r.now - r.ThinkTime)
		}
		rd.decide()
		r.arrive()
	})
}
