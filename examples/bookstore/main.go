// Command bookstore is a bookstore over one PostgreSQL primary and two streaming
// replicas, and a lab that counts who misses an order that they have just placed.
//
//	go run .                  # the whole run, under a minute
//	go run . -short           # fewer orders, the same rules
//	go run . -only healthy -v # one phase, with the reasons of the decisions
//
// The shop (package shop) is code as any application has it. The strategies differ
// in how its gorm.DB is opened and in nothing else: strategy_dbresolver.go,
// strategy_sticky.go and strategy_routed.go. Under each of them 16 clients place
// orders, and after each order its customer and four others read their lists: that is
// package internal/orderlab. What happens to the servers meanwhile is in fault.go, and
// who made a list is told by the servers, count.go.
//
// It prints one line of key=value pairs for each trial, and a table at the end. It
// exits with 1 when anything is not as it has to be (verdict.go): also when the
// baseline does not show its faults, because then the lab proves nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/readsplit/readsplit/internal/orderlab"
)

// healthyPause is the time between two orders, each with five lists, that leaves
// two processors idle more than half of the time.
const healthyPause = 5 * time.Millisecond

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	opts, err := parse(args, os.Stderr)
	return orderlab.Command(err, func(ctx context.Context) error {
		l := lab{options: opts, out: os.Stdout, progress: orderlab.NewProgress()}
		return l.run(ctx)
	})
}

// parse reads the arguments. What is wrong with them is written to out.
func parse(args []string, out io.Writer) (options, error) {
	o := options{orders: 1000, faultOrders: 300, stock: 200_000}
	flags := flag.NewFlagSet("bookstore", flag.ContinueOnError)
	flags.SetOutput(out)
	short := flags.Bool("short", false, "fewer orders, the same rules")
	flags.Uint64Var(&o.seed, "seed", 1, "who orders what and who reads follows from `number`")
	flags.StringVar(&o.version, "pg", "", "major `version` of PostgreSQL (default $READSPLIT_PG, else the newest found)")
	flags.StringVar(&o.only, "only", "", "run this `phase` alone: healthy, rush, replay_paused, one_replica_paused, replica_killed or read_only_guard")
	rate := flags.Float64("rate", float64(time.Second/healthyPause), "`orders` a second, with five lists each, in the phases that are judged by the replicas' share; 0: as fast as the clients can")
	flags.BoolVar(&o.verbose, "v", false, "print how often the router gave which reason")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if *rate > 0 {
		o.pause = time.Duration(float64(time.Second) / *rate)
	}
	if *short {
		o.orders, o.faultOrders, o.stock = 300, 240, 40_000
	}
	problem := ""
	if flags.NArg() > 0 {
		problem = fmt.Sprintf("bookstore takes no arguments, and got %q: options begin with -", flags.Arg(0))
	}
	if o.only != "" && words.Phases[o.only] == "" && o.only != "read_only_guard" {
		problem = fmt.Sprintf("-only %q is no phase: see -help", o.only)
	}
	if *rate < 0 {
		problem = fmt.Sprintf("-rate %g is negative: use 0 for as fast as the clients can", *rate)
	}
	if problem != "" {
		fmt.Fprintln(out, problem)
		return options{}, errors.New(problem)
	}
	return o, nil
}
