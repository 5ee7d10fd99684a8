// Command bench measures readsplit beside plain GORM and dbresolver, side by side.
//
//	bench overhead   # over a driver that answers at once: what stands above a driver
//	bench load       # over a real primary and two replicas: throughput and latencies
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/readsplit/readsplit/bench/load"
	"github.com/readsplit/readsplit/bench/nullpg"
	"github.com/readsplit/readsplit/bench/overhead"
	"github.com/readsplit/readsplit/testenv"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("bench: say what to measure: overhead or load")
	}
	flags := flag.NewFlagSet("bench "+args[0], flag.ExitOnError)
	version := flags.String("pg", "", "major `version` of PostgreSQL")
	rounds := flags.Int("rounds", 20, "how many `rounds` of everything")
	slice := flags.Duration("slice", 0, "how long one round of one form takes (default 20ms for overhead, 500ms for load)")
	raw := flags.String("benchstat", "", "a `file` for lines that benchstat reads, of overhead")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("bench: %q is too much", flags.Arg(0))
	}
	switch args[0] {
	case "overhead":
		return measureOverhead(ctx, *version, *rounds, or(*slice, 20*time.Millisecond), *raw)
	case "load":
		return measureLoad(ctx, *version, *rounds, or(*slice, 500*time.Millisecond))
	}
	return fmt.Errorf("bench: there is no %q: it is overhead or load", args[0])
}

func or(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// withCluster runs f over servers that end with it.
func withCluster(ctx context.Context, version string, replicas int, f func(*testenv.Cluster) error) (err error) {
	cluster, err := testenv.New(ctx, testenv.Config{
		Version: version, Replicas: replicas, Settings: map[string]string{"max_connections": "400"},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close(ctx)) }()
	return f(cluster)
}

func measureOverhead(ctx context.Context, version string, rounds int, batch time.Duration, raw string) error {
	return withCluster(ctx, version, -1, func(c *testenv.Cluster) (err error) {
		real, err := sql.Open("pgx", c.Primary().DSN())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, real.Close()) }()
		o := overhead.Options{Rounds: rounds, Batch: batch}
		if raw != "" {
			file, err := os.Create(raw)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, file.Close()) }()
			o.Raw = file
		}
		return overhead.Run(os.Stdout, nullpg.Recorded(real), o)
	})
}

func measureLoad(ctx context.Context, version string, rounds int, slice time.Duration) error {
	fmt.Print(load.TableHead)
	return withCluster(ctx, version, 2, func(c *testenv.Cluster) error {
		o := load.Options{Rounds: rounds, Slice: slice, Clients: []int{1, 8, 64}, Mixes: load.Mixes}
		return load.Run(ctx, c, o, func(rows []load.Row) error { return load.Table(os.Stdout, rows) })
	})
}
