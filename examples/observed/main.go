// Command observed is a tea shop that is observed: its metrics are asked for by a real
// Prometheus with the rules of docs/alerts.yml, its page is at /readsplit/, and changes
// of the servers' state are in its log. Servers can be broken by typing.
//
//	go run .            # one primary, two replicas, the shop, people in it, Prometheus
//	go run . -hurry     # a minute of the rules is a second
//
// It is a reading of a quarter of an hour, in this order: app.go puts everything
// together, which is all that an application has to do; shop.go is what is observed, and
// knows nothing of it; docs/alerts.yml and docs/dashboard.json are what is made of the
// numbers. The rest is the stage: prometheus.go, load.go, faults.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/testenv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil && !errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run puts everything up for a person, until ctx ends.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) (err error) {
	flags := flag.NewFlagSet("observed", flag.ContinueOnError)
	flags.SetOutput(errOut)
	version := flags.String("pg", "", "major `version` of PostgreSQL (default $READSPLIT_PG, else the newest found)")
	docs := flags.String("docs", "docs", "`folder` of alerts.yml")
	hurry := flags.Bool("hurry", false, "a minute of the rules is a second")
	if err := flags.Parse(args); err != nil {
		return err
	}
	rules, err := os.ReadFile(filepath.Join(*docs, "alerts.yml"))
	if err != nil {
		return fmt.Errorf("observed: -docs names the folder of alerts.yml: %w", err)
	}
	if *hurry {
		rules = hurried(rules, time.Second, time.Second)
	}

	cluster, err := testenv.New(ctx, testenv.Config{Version: *version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close(context.WithoutCancel(ctx))) }()
	shop, err := start(stage(cluster, slog.New(slog.NewTextHandler(errOut, nil))))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.close(context.WithoutCancel(ctx))) }()

	dir, err := os.MkdirTemp("", "observed-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	prometheus, err := prometheusServer(ctx, dir, shop.url, rules)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, prometheus.close()) }()
	people := welcome(shop.url, customers)
	defer people.home()

	fmt.Fprintf(out, `
The page         %[1]s/readsplit/
The metrics      %[1]s/metrics
Prometheus       %[2]s/alerts
Grafana          is not a part of this: in one of yours add a Prometheus data source with
                 %[2]s, and import %[3]s
                 (Dashboards, New, Import)

Break something, and see what becomes visible of it:
%[4]s
Ctrl-C ends.
`, shop.url, prometheus.url, filepath.Join(*docs, "dashboard.json"), usage)
	(&desk{cluster: cluster, plugin: shop.plugin, out: out}).listen(ctx, in)
	return nil
}

// customers are enough to see something, and leave the machine to others.
const customers = 4

// stage is the shop on a cluster. The budget is so small that two reports at the same
// time are too many for the primary, and the second manager gets an error.
func stage(c *testenv.Cluster, log *slog.Logger) settings {
	s := settings{primary: c.Primary().DSN(), log: log, config: readsplit.Config{
		FollowPrimary: true, // when a replica is promoted, it is the primary
		PrimaryBudget: overload.Budget{Reads: 1, Beyond: overload.Wait, MaxWait: 20 * time.Millisecond},
		Pool:          readsplit.Pool{MaxOpen: connections},
	}}
	for _, r := range c.Replicas() {
		s.config.Replicas = append(s.config.Replicas, readsplit.Replica{Name: r.Name(), Dialector: postgres.Open(r.DSN())})
	}
	return s
}
