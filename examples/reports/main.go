// Command reports shows an application that keeps its heavy reads off the primary and off
// everybody else: who served each, and what happens when their replica is away.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/testenv"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "reports:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	cluster, err := testenv.New(ctx, testenv.Config{})
	if err != nil {
		return err
	}
	return errors.Join(show(ctx, cluster, out), cluster.Close(context.Background()))
}

func show(ctx context.Context, cluster *testenv.Cluster, out io.Writer, more ...func(c *readsplit.Config)) (err error) {
	o, err := open(servers{cluster.Primary().DSN(), cluster.Replica(0).DSN(), cluster.Replica(1).DSN()}, more...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	if err := o.db.AutoMigrate(&Order{}); err != nil {
		return err
	}
	if err := o.db.Exec("INSERT INTO orders (customer, cents, created_at) SELECT 'customer ' || i % 50, 100 + i, now() - i * interval '1 hour' FROM generate_series(1, 5000) i").Error; err != nil {
		return err
	}
	if err := cluster.WaitCaughtUp(ctx); err != nil {
		return err
	}
	if err := o.tour(ctx, out); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nthe replica for reports is taken out of service")
	if err := o.plugin.Drain(ctx, "reports"); err != nil {
		return err
	}
	return o.tour(ctx, out)
}

// tour runs each kind of read once.
func (o *office) tour(ctx context.Context, out io.Writer) error {
	ctx = readsplit.WithSession(ctx, readsplit.NewSession())
	for _, read := range []struct {
		name string
		run  func() (readsplit.Decision, error)
	}{
		{"sales", func() (by readsplit.Decision, err error) { _, by, err = o.Sales(ctx); return by, err }},
		{"dashboard", func() (by readsplit.Decision, err error) { _, by, err = o.Dashboard(ctx); return by, err }},
		{"statement", func() (by readsplit.Decision, err error) { _, by, err = o.Statement(ctx, "customer 7"); return by, err }},
		{"best of a week", func() (by readsplit.Decision, err error) { _, by, err = o.Best(ctx, 7, 200); return by, err }},
		{"best of ten years", func() (by readsplit.Decision, err error) { _, by, err = o.Best(ctx, 3650, 5_000_000); return by, err }},
	} {
		began := time.Now()
		switch by, err := read.run(); {
		case errors.Is(err, groups.ErrRefused):
			fmt.Fprintf(out, "%-18s refused, not sent to the primary\n", read.name)
		case err != nil:
			return fmt.Errorf("%s: %w", read.name, err)
		default:
			fmt.Fprintf(out, "%-18s %-8s (%s), %v\n", read.name, by.Server, by.Reason, time.Since(began).Round(time.Millisecond))
		}
	}
	return nil
}
