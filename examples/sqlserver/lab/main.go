// Command lab counts, on SQL Server, who misses an order that they have just placed: the
// experiment of examples/bookstore, with what can happen to an availability group.
//
//	go run .                  # on a double that stands for SQL Server, about two minutes
//	go run . -short           # fewer orders and a shorter window, the same rules
//	go run . -primary DSN -replica sql2=DSN -replica sql3=DSN   # on real servers, what can be done to them
//
// The shop (package shop) is the same under all strategies, which differ in how its
// gorm.DB is opened: strategy.go, strategy_naive.go and strategy_routed.go. The experiment
// is package internal/orderlab, and what happens to the servers is in fault.go.
//
// It prints one line of key=value pairs for each trial, and a table at the end. It exits
// with 1 when anything is not as it has to be (verdict.go): also when those that must
// miss orders do not, because then the lab proves nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/readsplit/readsplit/examples/sqlserver/database"
	"github.com/readsplit/readsplit/internal/orderlab"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	opts, err := parse(args, os.Stderr)
	return orderlab.Command(err, func(ctx context.Context) error {
		l := lab{options: opts, out: os.Stdout, progress: orderlab.NewProgress(), getenv: os.Getenv}
		if err := l.run(ctx); err != nil {
			return fmt.Errorf("lab: %w", err)
		}
		return nil
	})
}

// options are what a person may choose.
type options struct {
	servers   database.Servers
	orders    int           // of the healthy phase
	faulty    int           // of each of the others
	customers int           // who order, and have one order already
	pause     time.Duration // between two orders of the healthy phase
	window    time.Duration // Config.StickyWindow; 0: its default
	atOnce    int           // trials on doubles that run at once
	seed      uint64
	only      string // this phase alone; "" for all
	verbose   bool
}

// parse reads the arguments. What is wrong with them is written to out.
func parse(args []string, out io.Writer) (options, error) {
	o := options{orders: 1000, faulty: 300, customers: 400, atOnce: 1}
	flags := flag.NewFlagSet("lab", flag.ContinueOnError)
	flags.SetOutput(out)
	o.servers.Flags(flags)
	short := flags.Bool("short", false, "fewer orders and customers, a StickyWindow of 1 s, three trials at once, the same rules")
	flags.Uint64Var(&o.seed, "seed", 1, "who orders what and who reads follows from `number`")
	flags.StringVar(&o.only, "only", "", "run this `phase` alone")
	rate := flags.Float64("rate", 200, "`orders` a second, with five lists each, in the phase healthy; 0: as fast as the clients can")
	flags.BoolVar(&o.verbose, "v", false, "print how often the router gave which reason")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if *rate > 0 {
		o.pause = time.Duration(float64(time.Second) / *rate)
	}
	if *short {
		o.orders, o.faulty, o.customers, o.window, o.atOnce = 100, 80, 100, time.Second, 3
	}
	problem := ""
	switch {
	case flags.NArg() > 0:
		problem = fmt.Sprintf("lab takes no arguments, and got %q: options begin with -", flags.Arg(0))
	case o.only != "" && words.Phases[o.only] == "":
		problem = fmt.Sprintf("-only %q is no phase: the lines of a run without it name them", o.only)
	case *rate < 0:
		problem = fmt.Sprintf("-rate %g is negative: use 0 for as fast as the clients can", *rate)
	}
	if problem != "" {
		fmt.Fprintln(out, problem)
		return options{}, errors.New(problem)
	}
	return o, nil
}
