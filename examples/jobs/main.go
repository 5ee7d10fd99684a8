// Command jobs shows a shop and a worker, each a process of its own: a job finds its order
// whatever the replicas do, through a queue and through an outbox.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session/jobs"
	"github.com/readsplit/readsplit/testenv"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "jobs:", err)
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
	shop, worker, err := openBoth(cluster, more...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.close(), worker.close()) }()
	q := &Queue{}
	for _, paused := range []bool{false, true} {
		fmt.Fprintln(out, map[bool]string{false: "replicas that are well", true: "replay is paused on all replicas"}[paused])
		if paused {
			if err := pauseAll(ctx, cluster); err != nil {
				return err
			}
		}
		for _, p := range []struct {
			name   string
			policy jobs.Policy
		}{{"sticky", jobs.Sticky()}, {"delayed", jobs.Delayed(100 * time.Millisecond)}, {"always", jobs.Always()}} {
			user := readsplit.WithSession(ctx, readsplit.NewSession())
			if err := shop.Place(user, q, &Order{Customer: "ada", Cents: 100}); err != nil {
				return err
			}
			for m, ok := q.Take(); ok; m, ok = q.Take() {
				r, err := worker.Work(ctx, q, m, p.policy)
				switch {
				case err != nil:
					return err
				case r.Back:
					fmt.Fprintf(out, "  %-8s attempt %d: no replica has it, put back\n", p.name, m.Attempt)
					q.Due()
				default:
					fmt.Fprintf(out, "  %-8s attempt %d: found its order on %s (%s)\n", p.name, m.Attempt, r.By.Server, r.By.Reason)
				}
			}
		}
	}
	return nil
}

// openBoth opens two processes over the same servers, and makes the tables.
func openBoth(cluster *testenv.Cluster, more ...func(c *readsplit.Config)) (shop, worker *process, err error) {
	var replicas []readsplit.Replica
	for _, r := range cluster.Replicas() {
		replicas = append(replicas, readsplit.Replica{Name: r.Name(), Dialector: postgres.Open(r.DSN())})
	}
	if shop, err = open(cluster.Primary().DSN(), replicas, more...); err != nil {
		return nil, nil, err
	}
	if err = shop.db.AutoMigrate(&Order{}, &Outbox{}, &Confirmation{}); err != nil {
		return nil, nil, err
	}
	worker, err = open(cluster.Primary().DSN(), replicas, more...)
	return shop, worker, err
}

func pauseAll(ctx context.Context, cluster *testenv.Cluster) error {
	if err := cluster.WaitCaughtUp(ctx); err != nil {
		return err
	}
	for _, r := range cluster.Replicas() {
		if _, err := r.PauseReplay(ctx); err != nil {
			return err
		}
	}
	return nil
}
