// Package nemesis breaks the servers of a run, and what lies between them and their
// clients, by a schedule that follows from a seed: the same seed gives the same
// schedule. What a fault does to the clients besides depends on the moment, and so
// may differ.
package nemesis

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Lane is where a fault strikes. Faults of one lane come one after the other, those
// of several lanes at the same time.
type Lane string

// Lanes.
const (
	Replica Lane = "replica" // one lane for each replica
	Primary Lane = "primary"
	Data    Lane = "data"   // what somebody does on the primary that hurts the replicas
	Tokens  Lane = "tokens" // on their way between processes
	// Operators change the plugins while they are in use.
	Operators Lane = "operators"
	// All are all replicas at once, Moving what their names lead to. Neither goes with
	// faults of single replicas.
	All    Lane = "all"
	Moving Lane = "moving"
	// Mass is the deletion of millions of rows.
	Mass Lane = "mass"
)

// Step is one fault of a schedule.
type Step struct {
	At    time.Duration // since the start
	For   time.Duration // until it is undone
	Fault string
	On    string // the server, or the lane where it is not one
	Size  int64  // what it means depends on the fault
}

// String is the step for a person.
func (s Step) String() string {
	return fmt.Sprintf("%6.1fs  %-14s %-9s for %v", s.At.Seconds(), s.Fault, s.On, s.For.Round(time.Millisecond))
}

// Plan returns the schedule of a run: the faults with the given names, as long as it
// lasts. The last second is left alone, so that all is well at its end.
func Plan(seed uint64, total time.Duration, names []string, replicas []string) []Step {
	var steps []Step
	lane := func(lane Lane, on string) {
		var choice []*Fault
		for i := range faults {
			if f := &faults[i]; f.Lane == lane && slices.Contains(names, f.Name) {
				choice = append(choice, f)
			}
		}
		if len(choice) == 0 {
			return
		}
		// A lane's schedule does not depend on the others, so that leaving out a fault
		// of one lane changes nothing in another.
		rng := rand.New(rand.NewPCG(seed, hash(on)))
		for at := between(rng, 500*time.Millisecond, 2*time.Second); ; at += between(rng, 300*time.Millisecond, 2500*time.Millisecond) {
			f := choice[rng.IntN(len(choice))]
			s := Step{At: at, For: between(rng, f.Least, f.Most), Fault: f.Name, On: on, Size: rng.Int64N(1000)}
			if at += s.For; at > total-time.Second {
				return
			}
			steps = append(steps, s)
		}
	}
	for _, r := range replicas {
		lane(Replica, r)
	}
	lane(Primary, string(Primary))
	lane(Data, string(Data))
	lane(Tokens, string(Tokens))
	lane(Operators, string(Operators))
	lane(All, string(All))
	lane(Moving, string(Moving))
	lane(Mass, string(Mass))
	slices.SortStableFunc(steps, func(a, b Step) int {
		if a.At != b.At {
			return int(a.At - b.At)
		}
		return strings.Compare(a.On, b.On)
	})
	return steps
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(rng.Int64N(int64(most-least)))
}

// Names returns the names of all faults of the given lanes, of all lanes without
// any.
func Names(lanes ...Lane) (names []string) {
	for _, f := range faults {
		if len(lanes) == 0 || slices.Contains(lanes, f.Lane) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Lookup returns a fault by its name.
func Lookup(name string) (*Fault, bool) {
	for i := range faults {
		if faults[i].Name == name {
			return &faults[i], true
		}
	}
	return nil, false
}
