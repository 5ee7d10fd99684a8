// Command webshop is a tea shop with two application processes behind a proxy, over
// one PostgreSQL primary and two streaming replicas.
//
//	go run .                        # for a person: prints its address
//	go run . -behind 5s             # with replicas five seconds behind
//	go run . journeys               # 10,000 customers order, and look at their list
//	go run . journeys -short        # fewer, or journeys NUMBER
//	go run . -plugin dbresolver     # either of them with GORM's own plugin
//
// The shop (package shop) is code as any application with GORM has it, and so are its
// pages (package web). Replicas are known in one place, app/open.go, and sessions in
// one line of app/serve.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/readsplit/readsplit/examples/webshop/app"
	"github.com/readsplit/readsplit/examples/webshop/stage"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit status: 0 when all is as it has to be, 1 when something is
// not, 2 when the arguments are wrong.
func run(args []string, out, errOut io.Writer) int {
	if len(args) == 1 && args[0] == stage.Serve {
		return serve(out, errOut)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends at once
	o, err := parse(args, errOut)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // the flags have said why
	}
	if o.journeys {
		err = journeys(ctx, o, out, errOut)
	} else {
		err = open(ctx, o, out, errOut)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(errOut, err)
		return 1
	}
	return 0
}

// serve is one process of the application.
func serve(out, errOut io.Writer) int {
	signal.Ignore(os.Interrupt) // a terminal sends it to all processes; whoever started this one ends it
	cfg, err := app.FromEnvironment()
	if err == nil {
		err = app.Serve(stage.Life(os.Stdin), cfg, out)
	}
	if err != nil {
		fmt.Fprintln(errOut, err)
		return 1
	}
	return 0
}

// options are what a person may choose.
type options struct {
	journeys bool
	plugin   string
	sessions bool
	version  string
	listen   string
	behind   time.Duration
	total    int
	pairs    int
	rate     float64
	seed     uint64
	pace     float64
}

// parse reads the arguments. What is wrong with them is written to out.
func parse(args []string, out io.Writer) (options, error) {
	o := options{total: 10_000, pairs: 1000, pace: 1}
	if len(args) > 0 && args[0] == "journeys" {
		o.journeys, args = true, args[1:]
	}
	flags := flag.NewFlagSet("webshop", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.plugin, "plugin", "readsplit", "`name` of the plugin: readsplit, or dbresolver to see what it misses")
	flags.BoolVar(&o.sessions, "sessions", true, "let a user's last write follow them from one process to the other")
	flags.StringVar(&o.version, "pg", "", "major `version` of PostgreSQL (default $READSPLIT_PG, else the newest found)")
	flags.DurationVar(&o.behind, "behind", 0, "keep both replicas so far behind, instead of what else happens to them")
	short := false
	if o.journeys {
		flags.BoolVar(&short, "short", false, "700 journeys, and conditions that change faster")
		flags.Float64Var(&o.rate, "rate", 40, "`journeys` a second at most; 0: as fast as the clients can")
		flags.Uint64Var(&o.seed, "seed", 1, "who does what, and what happens to the replicas, follows from `number`")
	} else {
		flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` of the shop; port 0 is any free one")
	}
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if short {
		o.pairs, o.pace = 200, 0.3
		o.total = 700
	}
	problem := ""
	rest := flags.Args()
	if o.journeys && len(rest) > 0 {
		var err error
		if o.total, err = strconv.Atoi(rest[0]); err == nil {
			rest = rest[1:]
		}
	}
	switch {
	case len(rest) > 0:
		problem = fmt.Sprintf("webshop: %q is no argument: there are journeys and the number of them, and options that begin with - stand before it", rest[0])
	case o.plugin != "readsplit" && o.plugin != "dbresolver":
		problem = fmt.Sprintf("webshop: -plugin %q is no plugin: it is readsplit or dbresolver", o.plugin)
	case o.total < 1:
		problem = fmt.Sprintf("webshop: %d journeys are too few: it must be 1 or more", o.total)
	case o.behind < 0:
		problem = fmt.Sprintf("webshop: -behind %v is negative: use 0 for replicas that are as close as they can be", o.behind)
	case o.rate < 0:
		problem = fmt.Sprintf("webshop: -rate %g is negative: use 0 for as fast as the clients can", o.rate)
	}
	if problem != "" {
		fmt.Fprintln(out, problem)
		return options{}, errors.New(problem)
	}
	return o, nil
}
