package orderlab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/readsplit/readsplit"
)

// Trial is one strategy under one fault.
type Trial struct {
	Phase    string
	Strategy Strategy
	// Open opens the shop as the strategy does. It is called once, and the strategy is
	// closed whatever it returns.
	Open func(ctx context.Context) (Shop, error)
	// Ways names the ways in which the shop stores orders, for a person: the first is
	// that of order 0. At least one.
	Ways []string
	// Customers and Books is how many the shop has, Orders how many are placed.
	Customers, Books, Orders int
	// Pause is the time between the beginnings of two orders; 0: as fast as the clients can.
	Pause time.Duration
	// OneName is how the plugin calls the replicas where it knows them by one name for
	// all; "" where each has the name that it gives itself.
	OneName string
	// Seed says who orders what and who reads.
	Seed uint64
	// Fault is what happens meanwhile; nil: everything is healthy.
	Fault *Fault
	// Done is told of each order that begins; nil: nobody.
	Done func(order int)
}

// closeTimeout bounds how long a strategy may take to end.
const closeTimeout = 10 * time.Second

// Run carries the trial out on servers whose replicas catch up, and leaves them as
// healthy as they were.
func (t *Trial) Run(ctx context.Context, servers Servers) (o *Outcome, err error) {
	if err := servers.CaughtUp(ctx); err != nil {
		return nil, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, t.Strategy.Close(closing))
	}()
	shop, err := t.Open(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.warm(ctx, shop); err != nil {
		return nil, err
	}
	if t.Fault != nil {
		if t.Fault.End != nil {
			defer func() { err = errors.Join(err, t.Fault.End()) }()
		}
		if t.Fault.Begin != nil {
			if err := t.Fault.Begin(ctx); err != nil {
				return nil, err
			}
		}
	}
	if err := servers.Reset(ctx); err != nil {
		return nil, err
	}
	before, _ := t.Strategy.Status()

	work := workload{trial: t, shop: shop, oracle: newOracle(t.Customers)}
	var watching *Watch
	if t.Fault != nil {
		watching = startWatch(ctx, t.Fault.InForce)
		if t.Fault.Cues != nil {
			work.cues = t.Fault.Cues(t.Orders, &Running{Watch: watching, Strategy: t.Strategy, oracle: work.oracle})
		}
	}
	r, err := work.run(ctx)
	var inForce []Span
	if watching != nil {
		inForce = watching.stop(ctx)
	}
	if err != nil {
		return nil, err
	}

	executed, err := servers.Lists(ctx)
	if err != nil {
		return nil, err
	}
	o = t.measure(r, inForce)
	after, talks := t.Strategy.Status()
	if talks {
		o.compareStatus(before, after)
	}
	o.compareServers(executed, retried(before, after), t.Fault)
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

// warm fills the pools of a strategy: what a connection costs is not the subject.
func (t *Trial) warm(ctx context.Context, shop Shop) error {
	errs := make(chan error, Clients)
	for i := range Clients {
		go func() {
			var err error
			for n := range 25 {
				customer := int64(1 + (i*25+n)%t.Customers)
				if _, e := shop.List(t.Strategy.Request(ctx, customer), customer); e != nil {
					err = fmt.Errorf("orderlab: warm up %s: %w", t.Strategy.Name(), e)
				}
			}
			errs <- err
		}()
	}
	var failed error
	for range Clients {
		if err := <-errs; err != nil {
			failed = err
		}
	}
	return failed
}
