package main

import (
	"context"
	"errors"
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// healthyPause is the time between two orders, each with five lists, that leaves
// two processors idle more than half of the time.
const healthyPause = 5 * time.Millisecond

// trial is one strategy under one fault.
type trial struct {
	phase    string
	strategy strategy
	orders   int
	pause    time.Duration // between the beginnings of two orders
	fault    *fault        // nil: everything is healthy
}

// run carries the trial out on a cluster whose replicas have caught up, and
// leaves it as healthy as it was.
func (t *trial) run(ctx context.Context, c *testenv.Cluster, k *counter, seed uint64, done func(int)) (o *outcome, err error) {
	if err := c.WaitCaughtUp(ctx); err != nil {
		return nil, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, t.strategy.close(closing))
	}()
	db, err := t.strategy.open(c)
	if err != nil {
		return nil, err
	}
	if err := warm(ctx, t.strategy, db); err != nil {
		return nil, err
	}
	if t.fault != nil {
		defer func() { err = errors.Join(err, t.fault.end()) }()
		if t.fault.begin != nil {
			if err := t.fault.begin(ctx); err != nil {
				return nil, err
			}
		}
	}
	if err := k.reset(ctx); err != nil {
		return nil, err
	}
	before, _ := t.strategy.status()

	work := workload{seed: seed, orders: t.orders, pause: t.pause, done: done}
	var watching *watch
	if t.fault != nil {
		watching = startWatch(ctx, t.fault.inForce)
		if t.fault.cues != nil {
			work.cues = t.fault.cues(t.orders, watching, t.strategy)
		}
	}
	r, err := work.run(ctx, t.strategy, db)
	var inForce []span
	if watching != nil {
		inForce = watching.stop(ctx)
	}
	if err != nil {
		return nil, err
	}

	executed, err := k.lists(ctx)
	if err != nil {
		return nil, err
	}
	o = t.measure(r, inForce)
	after, talks := t.strategy.status()
	if talks {
		o.compareStatus(before, after)
	}
	o.compareServers(executed, retried(before, after), t.fault)
	return o, nil
}

// retried is how many runs of reads came to nothing between two statuses, so that
// a server may have counted a read that another one answered.
func retried(before, after readsplit.Status) int {
	n := after.Voided - before.Voided
	for cause, count := range after.Retries {
		n += count - before.Retries[cause]
	}
	return int(n)
}
