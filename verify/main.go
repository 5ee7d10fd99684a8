// Command verify runs a workload through readsplit on real servers, breaks the
// servers by a seeded schedule, and judges the recorded history: did everybody see
// what they were promised?
//
//	verify                              # a minute and a half, on the newest PostgreSQL found
//	verify -duration 30m -seed 7        # longer, another schedule
//	verify -faults pause,kill -v        # these faults alone, and the schedule
//	verify -follow                      # failovers of clients that know every server, alone
//	verify -only lagging -mass 3000000  # these episodes alone, larger
//	verify -plugin dbresolver           # the same for dbresolver
//	verify -keep DIR                    # keep the histories as JSON lines
//	verify judge FILE                   # judge a kept history again
//	verify mutants                      # break readsplit in known ways: each must be convicted
//
// It exits with 1 when a promise was broken, and with 2 when the run proved nothing:
// no fault was injected, or no read that had to see a write of its own session was
// served by a replica.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/readsplit/readsplit/verify/nemesis"
	"github.com/readsplit/readsplit/verify/workload"
)

func main() { os.Exit(command(os.Args[1:])) }

func command(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends at once
	var err error
	switch {
	case len(args) > 0 && args[0] == "worker":
		signal.Ignore(os.Interrupt) // whoever started it ends it
		err = workload.Serve(os.Stdin, os.Stdout)
	case len(args) > 0 && args[0] == "judge":
		return rejudge(args[1:], os.Stdout)
	case len(args) > 0 && args[0] == "mutants":
		return convict(ctx, args[1:], os.Stdout)
	default:
		var o options
		if o, err = parse(args, os.Stderr); err == nil {
			return newRun(o, os.Stdout).run(ctx)
		}
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return 0
}

// options are what a person may choose.
type options struct {
	duration  time.Duration
	episode   time.Duration
	seed      uint64
	pg        string
	plugin    string
	only      string
	faults    []string
	ways      []string
	keep      string
	page      string
	clients   int
	processes int
	pause     time.Duration
	rows      int64
	mass      int64
	follow    bool
	verbose   bool
}

// parse reads the arguments. What is wrong with them is written to out.
func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("verify", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.DurationVar(&o.duration, "duration", 90*time.Second, "how long the clients work, over all episodes")
	flags.DurationVar(&o.episode, "episode", 15*time.Second, "how long one episode is at most")
	flags.Uint64Var(&o.seed, "seed", 1, "what happens, when and to whom follows from `number`")
	flags.StringVar(&o.pg, "pg", "", "major `version` of PostgreSQL (default $READSPLIT_PG, else the newest found)")
	flags.StringVar(&o.plugin, "plugin", "readsplit", "what is judged: readsplit or dbresolver")
	flags.StringVar(&o.only, "only", "", "run episodes of these `names` alone, with commas: "+strings.Join(kindNames(), ", "))
	faults := flags.String("faults", "", "the `names` of the faults to inject, with commas (default all): "+strings.Join(nemesis.Names(), ", "))
	ways := flags.String("ways", "", "the `names` of the ways to write and to read, with commas (default all)")
	flags.StringVar(&o.keep, "keep", "", "keep the histories in folder `dir`")
	flags.StringVar(&o.page, "page", "verify-violations.html", "write the timelines of violations to `file`")
	flags.IntVar(&o.clients, "clients", 8, "clients in each process")
	flags.IntVar(&o.processes, "processes", 2, "processes")
	flags.DurationVar(&o.pause, "pause", 4*time.Millisecond, "how long a client thinks at most between two operations")
	flags.Int64Var(&o.rows, "rows", 20_000, "rows of a bulk delete")
	flags.Int64Var(&o.mass, "mass", -1, "rows that one transaction deletes in episode mass; 0: no such episode (default 2000000 from 10m on)")
	flags.BoolVar(&o.follow, "follow", false, "run those failovers alone whose clients know every server and follow the primary by themselves")
	flags.BoolVar(&o.verbose, "v", false, "print the schedules, and what was skipped of them")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.faults, o.ways = split(*faults), split(*ways)
	if o.mass < 0 {
		o.mass = 0
		if o.duration >= 10*time.Minute {
			o.mass = 2_000_000
		}
	}
	problem := ""
	for _, name := range split(o.only) {
		if !slices.Contains(kindNames(), name) {
			problem = fmt.Sprintf("-only %s: there is no such episode, see -help", name)
		}
	}
	for _, name := range o.faults {
		if _, ok := nemesis.Lookup(name); !ok {
			problem = fmt.Sprintf("-faults %s: there is no such fault, see -help", name)
		}
	}
	switch {
	case flags.NArg() > 0:
		problem = fmt.Sprintf("verify got %q: options begin with -, commands are judge and mutants", flags.Arg(0))
	case o.plugin != "readsplit" && o.plugin != "dbresolver":
		problem = fmt.Sprintf("-plugin %q: use readsplit or dbresolver", o.plugin)
	case o.follow && o.plugin != "readsplit":
		problem = "-follow: " + o.plugin + " follows nobody"
	case o.duration < 2*time.Second || o.episode < 2*time.Second:
		problem = fmt.Sprintf("-duration %v and -episode %v: less than 2s shows nothing", o.duration, o.episode)
	case o.clients < 1 || o.clients > 16 || o.processes < 1 || o.processes > 4:
		problem = fmt.Sprintf("-clients %d and -processes %d: use 1 to 16 and 1 to 4: the servers take 100 connections", o.clients, o.processes)
	}
	if problem != "" {
		return o, errors.New("verify: " + problem)
	}
	return o, nil
}

func split(names string) []string {
	if names == "" {
		return nil
	}
	return strings.Split(names, ",")
}

// again is the command that runs the same schedule.
func (o options) again() string {
	args := []string{"verify", "-seed", fmt.Sprint(o.seed), "-duration", o.duration.String(), "-episode", o.episode.String()}
	add := func(name, value, otherwise string) {
		if value != otherwise {
			args = append(args, "-"+name, value)
		}
	}
	if o.follow {
		args = append(args, "-follow")
	}
	add("pg", o.pg, "")
	add("plugin", o.plugin, "readsplit")
	add("only", o.only, "")
	add("faults", strings.Join(o.faults, ","), "")
	add("ways", strings.Join(o.ways, ","), "")
	add("clients", fmt.Sprint(o.clients), "8")
	add("processes", fmt.Sprint(o.processes), "2")
	add("pause", o.pause.String(), "4ms")
	add("rows", fmt.Sprint(o.rows), "20000")
	add("mass", fmt.Sprint(o.mass), "")
	return strings.Join(args, " ")
}
