package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/sqlserver/database"
	"github.com/readsplit/readsplit/examples/sqlserver/shop"
	"github.com/readsplit/readsplit/internal/orderlab"
)

// errNotAsPromised is the end of a run whose outcomes are not what they have to be.
var errNotAsPromised = errors.New("not all is as it has to be, see above")

// lab runs the phases and prints what they show.
type lab struct {
	options
	out      io.Writer
	progress *orderlab.Progress
	getenv   func(string) string

	outcomes []*orderlab.Outcome
}

// phase is what happens to the servers, and under which strategies.
type phase struct {
	name       string
	strategies []strategy
	// fault is what happens; nil: nothing.
	fault func(g *group) *orderlab.Fault
	// before is what the group is like; nil: as it is.
	before func(ctx context.Context, g *group) error
	orders int
	pause  time.Duration
	// anywhere: real servers can be in it, too.
	anywhere bool
	// oneName is how readsplit calls all replicas.
	oneName string
}

// phases are run in this order.
func (l *lab) phases() []phase {
	routed := func(label string, change func(*readsplit.Config, *database.Servers)) strategy {
		return l.routed(label, change)
	}
	return []phase{
		{
			name: "healthy", orders: l.orders, pause: l.pause, anywhere: true,
			strategies: []strategy{new(plain), newResolved(), trustLagSeconds(), trustHardened(), trustCommitted(), routed("routed", nil), l.withoutSessions()},
		},
		{name: "one_redo_paused", fault: l.oneRedoPaused, strategies: []strategy{newResolved(), routed("routed", nil)}},
		{
			name: "redo_paused", fault: l.redoPaused,
			strategies: []strategy{new(plain), newResolved(), trustLagSeconds(), trustHardened(), trustCommitted(), routed("routed", nil), l.withoutSessions()},
		},
		{name: "commits_hidden", fault: commitsHidden, strategies: []strategy{trustCommitted()}},
		{
			name: "suspended", fault: l.suspended, anywhere: true,
			strategies: []strategy{newResolved(), trustLagSeconds(), trustHardened(), routed("routed", nil)},
		},
		{name: "failover", fault: l.failover, strategies: []strategy{new(plain), newResolved(), routed("routed", nil)}},
		{name: "forced_failover", fault: l.forcedFailover, strategies: []strategy{new(plain), newResolved(), routed("routed", nil)}},
		{name: "listener", fault: l.calm, oneName: "secondaries", strategies: []strategy{routed("routed_stated", listened)}},
		{name: "no_permission", fault: l.calm, before: denied, strategies: []strategy{routed("routed", nil), routed("routed_stated", stated)}},
		{name: "marker", fault: l.calm, before: denied, anywhere: true, strategies: []strategy{routed("routed", marked)}},
		{name: "marker_redo_paused", fault: l.redoPaused, before: denied, strategies: []strategy{routed("routed", marked)}},
	}
}

// denied takes the permission on the views from the login, where that can be done.
func denied(ctx context.Context, g *group) error {
	if g.Double == nil {
		return nil
	}
	for _, s := range g.Double.Servers() {
		if _, err := s.DenyView(ctx); err != nil {
			return err
		}
	}
	return nil
}

// run runs the phases and judges them.
func (l *lab) run(ctx context.Context) error {
	began := time.Now()
	defer l.progress.Clear()
	first, err := startGroup(ctx, l.servers, l.customers, l.getenv)
	if err != nil {
		return err
	}
	double := first.Double != nil
	l.print("%s", first.Banner())
	if len(first.Replicas) == 0 {
		return errors.Join(errors.New("the lab needs secondaries, and none was named: see -help"), first.close(ctx))
	}
	l.print("One primary and %d secondaries; %d customers with an order each; %d clients; seed %d.", len(first.Replicas), l.customers, orderlab.Clients, l.seed)
	if err := first.close(ctx); err != nil {
		return err
	}
	l.print("Each order is followed by its customer's list and four others; %d orders, one each %v, in the phase healthy, %d as fast as the clients can in the others.\n", l.orders, l.pause, l.faulty)
	var problemsFound []string
	if err := l.all(ctx, l.phases(), double); err != nil {
		return err
	}
	for _, o := range l.outcomes {
		problemsFound = append(problemsFound, problems(o)...)
	}
	l.print("\n%s", words.Table(l.outcomes))
	if len(problemsFound) > 0 {
		l.print("NOT as it has to be (%v):", time.Since(began).Round(time.Second))
		for _, p := range problemsFound {
			l.print("  %s", p)
		}
		return errNotAsPromised
	}
	l.print("All as it has to be: %d trials in %v. %s", len(l.outcomes), time.Since(began).Round(time.Second), l.banner(double))
	return nil
}

func (l *lab) banner(double bool) string {
	if double {
		return database.OnDouble
	}
	return database.OnServer
}

// result is what a trial came to; it comes when the trial is over.
type result struct {
	outcome *orderlab.Outcome
	err     error
}

// all runs the trials, and prints their lines in their order. Trials on doubles have
// servers of their own, and some may run at once.
func (l *lab) all(ctx context.Context, phases []phase, double bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	atOnce := make(chan struct{}, 1)
	if double && l.atOnce > 1 {
		atOnce = make(chan struct{}, l.atOnce)
	}
	var running sync.WaitGroup
	defer running.Wait()
	var results []chan result
	for _, p := range phases {
		if l.only != "" && l.only != p.name {
			continue
		}
		if !double && !p.anywhere {
			l.print("phase=%s: on the double alone", p.name)
			continue
		}
		for _, s := range p.strategies {
			over := make(chan result, 1)
			results = append(results, over)
			running.Go(func() {
				select {
				case atOnce <- struct{}{}:
					defer func() { <-atOnce }()
				case <-ctx.Done():
					over <- result{err: context.Cause(ctx)}
					return
				}
				o, err := l.try(ctx, &p, s)
				if err != nil {
					err = fmt.Errorf("phase %s, strategy %s: %w", p.name, s.Name(), err)
				}
				over <- result{o, err}
			})
		}
	}
	for _, over := range results {
		r := <-over
		if r.err != nil {
			cancel()
			running.Wait()
			return r.err
		}
		l.outcomes = append(l.outcomes, r.outcome)
		l.print("%s", r.outcome.Line())
		if l.verbose {
			l.print("%s", r.outcome.Explain())
		}
	}
	return nil
}

// try runs one trial.
func (l *lab) try(ctx context.Context, p *phase, s strategy) (o *orderlab.Outcome, err error) {
	g, err := startGroup(ctx, l.servers, l.customers, l.getenv)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close(context.WithoutCancel(ctx))) }()
	t := orderlab.Trial{
		Phase: p.name, Strategy: s, Customers: l.customers, Books: books, Orders: p.orders, Pause: p.pause, OneName: p.oneName, Seed: l.seed, Done: l.progress.At,
		Open: func(ctx context.Context) (orderlab.Shop, error) {
			db, err := s.open(ctx, g.Servers)
			if err != nil {
				return nil, err
			}
			return orders{shop.New(db)}, nil
		},
	}
	for _, w := range ways {
		t.Ways = append(t.Ways, w.name)
	}
	if t.Orders == 0 {
		t.Orders = l.faulty
	}
	if p.before != nil {
		if err := p.before(ctx, g); err != nil {
			return nil, err
		}
	}
	if p.fault != nil {
		t.Fault = p.fault(g)
	}
	l.progress.Begin(fmt.Sprintf("phase=%s strategy=%s", p.name, s.Name()), t.Orders)
	return t.Run(ctx, g)
}

func (l *lab) print(format string, args ...any) {
	l.progress.Clear()
	fmt.Fprintf(l.out, format+"\n", args...)
}
