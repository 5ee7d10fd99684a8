package budget

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/bench/nullpg"
	"github.com/readsplit/readsplit/bench/side"
	"github.com/readsplit/readsplit/testenv"
)

// Options say how much is measured.
type Options struct {
	Statement time.Duration // the most for each kind of statement
	Servers   time.Duration // the most for each number of the real servers
	Slice     time.Duration // of the real servers
	Batch     time.Duration // of everything else
	Users     int           // that a process remembers
	Clients   int           // that are many
}

// Defaults are measured in less than three minutes.
func Defaults() Options {
	return Options{Statement: 10 * time.Second, Servers: 24 * time.Second, Slice: 150 * time.Millisecond, Batch: 10 * time.Millisecond, Users: 1_000_000, Clients: 64}
}

// Short divides times by n.
func (o Options) Short(n int) Options {
	o.Statement, o.Servers, o.Slice = o.Statement/time.Duration(n), o.Servers/time.Duration(n), max(o.Slice/time.Duration(n), 20*time.Millisecond)
	o.Users /= n
	return o
}

// Run measures all budgets over a primary with two replicas, and calls each for each.
func Run(ctx context.Context, c *testenv.Cluster, catalog nullpg.Catalog, o Options, each func(Line)) error {
	for _, part := range []func() ([]Line, error){
		func() ([]Line, error) { return Statements(catalog, o) },
		func() ([]Line, error) { return Known(catalog, o) },
		func() ([]Line, error) { return Parts(ctx, c.Primary().DSN(), o) },
		func() ([]Line, error) { return Goroutines(catalog, o) },
		func() ([]Line, error) { return Servers(ctx, c, o) },
	} {
		lines, err := part()
		if err != nil {
			return err
		}
		for _, l := range lines {
			each(l)
		}
	}
	return nil
}

// leastRounds are enough for an interval around a median.
const leastRounds = 16

// until measures rounds until it is known on which side of its limit a median is, or the
// time is over.
func until(most time.Duration, limit float64, round func() error, spread func() side.Spread) (side.Spread, error) {
	end, look := time.Now().Add(most), leastRounds
	for n := 1; ; n++ {
		if err := round(); err != nil {
			return side.Spread{}, err
		}
		if n < leastRounds {
			continue
		}
		over := time.Now().After(end)
		if n < look && !over {
			continue
		}
		if s := spread(); s.Decided(limit) || over {
			return s, nil
		}
		look *= 2 // every look is a chance to be wrong
	}
}
