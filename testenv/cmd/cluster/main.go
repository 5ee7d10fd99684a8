// Command cluster starts a PostgreSQL primary with streaming replicas, prints how to reach each
// server, and runs until it is interrupted. Nothing of it stays on the machine.
//
//	go run ./testenv/cmd/cluster -replicas 2 -pg 18
//
// Lines on standard input break servers and undo it: "pause replica1", "cut replica2", "undo",
// "status"; "help" lists all of them.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/readsplit/readsplit/testenv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) error {
	var cfg testenv.Config
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.SetOutput(errOut)
	replicas := flags.Int("replicas", 2, "number of streaming `replicas`; 0 starts a primary alone")
	flags.StringVar(&cfg.Version, "pg", "", "major `version` of PostgreSQL (default $READSPLIT_PG, else the newest found)")
	flags.StringVar(&cfg.BinDir, "bin", "", "`folder` of initdb and postgres (default: searched)")
	flags.StringVar(&cfg.Dir, "dir", "", "`folder` for the cluster's own folder (default: the system's temporary one)")
	find := flags.Bool("find", false, "print version and folder of the binaries, and start nothing")
	verbose := flags.Bool("v", false, "print the servers' logs")
	flags.Func("set", "`name=value` for postgresql.conf of all servers; may be repeated", func(pair string) error {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return errors.New("it must be name=value")
		}
		if cfg.Settings == nil {
			cfg.Settings = map[string]string{}
		}
		cfg.Settings[name] = value
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("readsplit: cluster takes no arguments, and got %q: options begin with -", flags.Arg(0))
	}
	testenv.Replicas(*replicas)(&cfg)
	if *find {
		dir, version, err := testenv.FindBinaries(ctx, cfg)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, version, dir)
		return nil
	}
	if *verbose {
		cfg.LogWriter = errOut
	}
	c, err := testenv.New(ctx, cfg)
	if err != nil {
		return err
	}
	introduce(out, c)
	listen(ctx, c, in, out)
	fmt.Fprintln(out, "closing")
	closing, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return c.Close(closing)
}

func introduce(out io.Writer, c *testenv.Cluster) {
	fmt.Fprintf(out, "PostgreSQL %s, one primary and %d replicas\n\n", c.Version(), len(c.Replicas()))
	for _, s := range c.Servers() {
		fmt.Fprintf(out, "%-9s dsn   %s\n          psql  psql '%s'\n          log   %s\n\n", s.Name(), s.DSN(), s.URL(), s.LogFile())
	}
	fmt.Fprintln(out, "Type help for what can be done to them; Ctrl-C ends.")
}

// listen obeys lines until ctx ends or one says quit. The end of the input is no reason to stop:
// a program that runs in the background has none. The goroutine that reads ends with its input or
// with the program: a read of a terminal cannot be broken off.
func listen(ctx context.Context, c *testenv.Cluster, in io.Reader, out io.Writer) {
	lines := make(chan string)
	go func() {
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	desk := desk{cluster: c, out: out}
	for {
		select {
		case <-ctx.Done():
			return
		case line := <-lines:
			if desk.obey(ctx, line) {
				return
			}
		}
	}
}
