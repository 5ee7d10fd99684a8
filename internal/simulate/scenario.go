package simulate

import (
	"time"

	"github.com/readsplit/readsplit/policy"
)

// Scenario is a fleet, its load, and what happens to it.
type Scenario struct {
	Name string // of the table and the plot, also as a file name
	Says string // what happens, as a sentence

	Servers []Server
	// Rate is how many reads arrive in a second, of all processes together. They
	// arrive one by one, whether or not earlier ones have ended.
	Rate float64
	// Processes is how many application processes share the servers; each knows of its
	// own reads only. 0 is 4.
	Processes int
	Zone      string // of the processes
	Length    time.Duration
	Changes   []Change
	// Reports is the share of reads that take ReportTimes as long.
	Reports     float64
	ReportTimes float64
	// OwnWrites is the share of reads that must see what their session has written
	// ThinkTime ago.
	OwnWrites float64
	ThinkTime time.Duration
	SlowStart time.Duration

	Balancers []Choice
}

// Choice is a balancer under a name for tables and plots.
type Choice struct {
	Name     string
	Balancer policy.Balancer
}

// Server is a replica.
type Server struct {
	Name, Zone string
	Weight     int
	Workers    int           // how many reads it runs at once; others queue
	Mean       time.Duration // how long one takes; exponentially distributed
	RTT        time.Duration // the way there and back
	Replay     time.Duration // how far behind the primary what it shows is
	Primary    bool          // it is the primary, standing in for a replica
}

// Change is something that happens.
type Change struct {
	At time.Duration
	Do func(*Fleet)
}

// Fleet is what a Change changes.
type Fleet struct {
	servers []*server
	// Load multiplies the rate of the scenario.
	Load float64
}

// Slow makes reads on server i take times as long as usual from now on.
func (f *Fleet) Slow(i int, times float64) { f.servers[i].slow = times }

// Fail makes a share of the reads on server i fail at once. Its monitor notices
// nothing of it: its disk is broken, or its pool is full, and its probes succeed.
func (f *Fleet) Fail(i int, share float64) { f.servers[i].failing = share }

// Lag sets how far behind server i is.
func (f *Fleet) Lag(i int, behind time.Duration) { f.servers[i].replay = behind }
