package simulate

import (
	"time"

	"github.com/readsplit/readsplit/policy"
)

// Scenarios are those of docs/balancing.md. Unless they say otherwise, three replicas
// run four reads at once that take 4 ms, and are asked for 70 % of what they can.
func Scenarios() []Scenario {
	return []Scenario{
		Equal(), Full(), Unequal(), Weighted(), Slow(), ManyProcesses(), Flapping(), Failing(), LagSpike(), Zones(), OwnWrites(), Reports(), Mixed(),
	}
}

const (
	workers = 4
	mean    = 4 * time.Millisecond
	most    = workers * float64(time.Second) / float64(mean) // reads per second of one server
)

func replicas(n int) []Server {
	s := make([]Server, n)
	for i := range s {
		s[i] = Server{Name: "r" + string(rune('1'+i)), Weight: 1, Workers: workers, Mean: mean, RTT: 200 * time.Microsecond, Replay: 2 * time.Millisecond}
	}
	return s
}

// Common are the balancers that need no configuration.
func Common() []Choice {
	return []Choice{
		{"random", policy.Random()},
		{"round robin", policy.RoundRobin()},
		{"least in flight", policy.LeastInFlight()},
		{"latency", policy.Latency()},
	}
}

// byLag are those that look at the lag too.
func byLag() []Choice {
	return append(Common(), Choice{"least behind", policy.LeastBehind(0, nil)})
}

// Equal is three equal replicas.
func Equal() Scenario {
	return Scenario{
		Name: "equal", Says: "Three equal replicas.",
		Servers: replicas(3), Rate: 0.7 * 3 * most, Length: 20 * time.Second, Balancers: Common(),
	}
}

// Unequal is replicas of different speed whose weights do not say so.
func Unequal() Scenario {
	s := replicas(3)
	s[1].Mean, s[2].Mean = mean/2, mean/4
	return Scenario{
		Name: "unequal", Says: "Replicas that are 1, 2 and 4 times as fast, with equal weights.",
		Servers: s, Rate: 0.6 * 7 * most, Length: 12 * time.Second, Balancers: Common(),
	}
}

// Weighted is Unequal with weights that say so.
func Weighted() Scenario {
	sc := Unequal()
	sc.Name, sc.Says = "weighted", "The same with weights 1, 2 and 4."
	sc.Servers[1].Weight, sc.Servers[2].Weight = 2, 4
	return sc
}

// SlowFrom is when a replica becomes slow, or fails.
const SlowFrom = 8 * time.Second

// Slow is one replica that becomes slow.
func Slow() Scenario {
	return Scenario{
		Name: "slow", Says: "From 8 s on one of three replicas is 10 times as slow. The others are able to take all reads.",
		Servers: replicas(3), Rate: 0.55 * 3 * most, Length: 24 * time.Second, Balancers: Common(),
		Changes: []Change{{SlowFrom, func(f *Fleet) { f.Slow(0, 10) }}},
	}
}

// ManyProcesses is Slow with so many processes that each knows little.
func ManyProcesses() Scenario {
	sc := Slow()
	sc.Name, sc.Says = "processes", "The same with 100 processes, of which each sends 16 reads in a second."
	sc.Processes = 100
	return sc
}

// Flapping is a replica on which reads fail, every other second.
func Flapping() Scenario {
	sc := Scenario{
		Name: "flapping", Says: "From 8 s on reads fail at once on one of three replicas, every other second, while its probes succeed.",
		Servers: replicas(3), Rate: 0.55 * 3 * most, Length: 24 * time.Second, Balancers: Common(), SlowStart: 10 * time.Second,
	}
	for at := SlowFrom; at < sc.Length; at += 2 * time.Second {
		sc.Changes = append(sc.Changes,
			Change{at, func(f *Fleet) { f.Fail(0, 1) }}, Change{at + time.Second, func(f *Fleet) { f.Fail(0, 0) }})
	}
	return sc
}

// Failing is a replica on which some reads fail, never enough in a row to eject it.
func Failing() Scenario {
	return Scenario{
		Name: "failing", Says: "From 8 s on four reads of ten fail at once on one of three replicas.",
		Servers: replicas(3), Rate: 0.55 * 3 * most, Length: 24 * time.Second, Balancers: Common(), SlowStart: 10 * time.Second,
		Changes: []Change{{SlowFrom, func(f *Fleet) { f.Fail(0, 0.4) }}},
	}
}

// LagSpike is replicas that fall behind and all come back at once.
func LagSpike() Scenario {
	set := func(d time.Duration) func(f *Fleet) {
		return func(f *Fleet) {
			for i := range 3 {
				f.Lag(i, d)
			}
		}
	}
	return Scenario{
		Name: "spike", Says: "From 8 s to 14 s three of five replicas are over MaxLag, and come back at the same moment.",
		Servers: replicas(5), Rate: 0.33 * 5 * most, Length: 22 * time.Second, Balancers: byLag(), SlowStart: 10 * time.Second,
		Changes: []Change{{8 * time.Second, set(3 * time.Second)}, {14 * time.Second, set(2 * time.Millisecond)}},
	}
}

// Zones is a zone that gets more reads than it can take, for a while.
func Zones() Scenario {
	s := replicas(4)
	s[0].Zone, s[1].Zone, s[2].Zone, s[3].Zone = "near", "near", "far", "far"
	s[2].RTT, s[3].RTT = 20*time.Millisecond, 20*time.Millisecond
	return Scenario{
		Name: "zones", Says: "Two replicas in the zone, two 20 ms away. From 8 s to 16 s the zone gets 1.4 times what its replicas can take.",
		Servers: s, Zone: "near", Rate: 0.6 * 2 * most, Length: 24 * time.Second,
		Changes: []Change{{8 * time.Second, func(f *Fleet) { f.Load = 1.4 / 0.6 }}, {16 * time.Second, func(f *Fleet) { f.Load = 1 }}},
		Balancers: []Choice{
			{"least in flight", policy.LeastInFlight()},
			{"latency", policy.Latency()},
			{"zone first, no bound", policy.ZoneFirstUntil(policy.Spill{InFlight: -1, Latency: -1}, nil)},
			{"zone first", policy.ZoneFirst(nil)},
			{"zone first, in flight only", policy.ZoneFirstUntil(policy.Spill{Latency: -1}, nil)},
			{"zone first, latency", policy.ZoneFirst(policy.Latency())},
		},
	}
}

// OwnWrites is sessions that read what they have written on replicas with different
// lags.
func OwnWrites() Scenario {
	s := replicas(3)
	s[0].Replay, s[1].Replay, s[2].Replay = time.Millisecond, 30*time.Millisecond, 600*time.Millisecond
	return Scenario{
		Name: "sessions", Says: "Replicas that are 1 ms, 30 ms and 600 ms behind; half of the reads follow a write of their session by 20 ms.",
		Servers: s, Rate: 0.5 * 3 * most, Length: 20 * time.Second, OwnWrites: 0.5, ThinkTime: 20 * time.Millisecond, Balancers: byLag(),
	}
}

// Reports is lookups beside reports.
func Reports() Scenario {
	return Scenario{
		Name: "reports", Says: "One read of 500 is a report that takes 200 times as long; the times are those of the others.",
		Servers: replicas(3), Rate: 0.5 * 3 * most, Length: 24 * time.Second, Reports: 1.0 / 500, ReportTimes: 200, Balancers: Common(),
	}
}

// Mixed is work of two kinds.
func Mixed() Scenario {
	return Scenario{
		Name: "mixed", Says: "One read of ten takes 20 times as long; the times are those of the others.",
		Servers: replicas(3), Rate: 0.6 / 2.9 * 3 * most, Length: 40 * time.Second, Reports: 0.1, ReportTimes: 20, Balancers: Common(),
	}
}

// Full is as many reads as the replicas can hardly take.
func Full() Scenario {
	sc := Equal()
	sc.Name, sc.Says, sc.Rate = "full", "Three equal replicas, asked for 92 % of what they can.", 0.92*3*most
	return sc
}
