package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of the schema's connection

	"github.com/readsplit/readsplit/examples/bookstore/shop"
	"github.com/readsplit/readsplit/internal/orderlab"
	"github.com/readsplit/readsplit/testenv"
)

// options are what a person may choose.
type options struct {
	orders      int           // of the healthy phase
	faultOrders int           // of the others
	stock       int           // orders that the shop has before
	pause       time.Duration // between two orders of the healthy phase
	seed        uint64
	version     string // major version of PostgreSQL; "" for any
	only        string // this phase alone; "" for all
	verbose     bool
}

// errNotAsPromised is the end of a run whose outcomes are not what they have to be.
var errNotAsPromised = errors.New("bookstore: not all is as it has to be, see above")

// lab runs the phases and prints what they show.
type lab struct {
	options
	out      io.Writer
	progress *orderlab.Progress

	cluster  *testenv.Cluster
	counter  *counter
	outcomes []*orderlab.Outcome
	guard    *guarded
	problems []string
}

// phases are run in this order.
func (l *lab) phases() []struct {
	name string
	run  func(ctx context.Context) error
} {
	return []struct {
		name string
		run  func(ctx context.Context) error
	}{
		{"healthy", l.healthy},
		{"rush", l.rush},
		{"replay_paused", l.replayPaused},
		{"one_replica_paused", l.oneReplicaPaused},
		{"replica_killed", l.replicaKilled},
		{"read_only_guard", l.readOnlyGuard},
	}
}

// run starts the servers, runs the phases, and ends everything.
func (l *lab) run(ctx context.Context) (err error) {
	began := time.Now()
	l.progress.Begin("starting a primary and two replicas", 0)
	l.cluster, err = testenv.New(ctx, testenv.Config{
		Version:  l.version,
		Settings: map[string]string{"shared_preload_libraries": extension},
	})
	if err != nil {
		return fmt.Errorf("bookstore: start the servers with %s, which comes with PostgreSQL's contrib modules: %w", extension, err)
	}
	defer func() {
		l.progress.Clear()
		err = errors.Join(err, l.cluster.Close(context.WithoutCancel(ctx)))
	}()
	if err := l.prepare(ctx); err != nil {
		return err
	}
	l.print("PostgreSQL %s, one primary and %d replicas; %d customers, %d orders; %d clients; seed %d",
		l.cluster.Version(), len(l.cluster.Replicas()), customers, l.stock, orderlab.Clients, l.seed)
	if l.pause > 0 {
		l.print("An order and five lists each %v in the phases healthy and one_replica_paused, as fast as the clients can in the others.", l.pause)
	}
	l.print("Reads are counted by the servers: each list names the one that made it (cluster_name), checked against %s.\n", extension)
	for _, p := range l.phases() {
		if l.only != "" && l.only != p.name {
			continue
		}
		if err := p.run(ctx); err != nil {
			return fmt.Errorf("bookstore: phase %s: %w", p.name, err)
		}
	}
	for _, o := range l.outcomes {
		l.problems = append(l.problems, problems(o)...)
	}
	l.print("\n%s", table(l.outcomes, l.guard))
	if len(l.problems) > 0 {
		l.print("NOT as it has to be (%v):", time.Since(began).Round(time.Second))
		for _, p := range l.problems {
			l.print("  %s", p)
		}
		return errNotAsPromised
	}
	l.print("All as it has to be: %d trials in %v.", len(l.outcomes), time.Since(began).Round(time.Second))
	return nil
}

// prepare makes the shop on every server.
func (l *lab) prepare(ctx context.Context) error {
	l.progress.Begin(fmt.Sprintf("filling the shop with %d orders", l.stock), 0)
	if err := l.cluster.CreateDatabase(ctx, database); err != nil {
		return err
	}
	db, err := sql.Open("pgx", l.cluster.Primary().DSNFor(database))
	if err != nil {
		return err
	}
	stock := shop.Stock{Customers: customers, Books: books, Orders: l.stock}
	if err := errors.Join(shop.Create(ctx, db, stock), db.Close()); err != nil {
		return err
	}
	l.counter, err = newCounter(ctx, l.cluster)
	return err
}

// healthy: nothing is broken and nothing is short of processors.
func (l *lab) healthy(ctx context.Context) error {
	try := func(s strategy) (*orderlab.Outcome, error) {
		return l.try(ctx, s, orderlab.Trial{Phase: "healthy", Orders: l.orders, Pause: l.pause})
	}
	for _, s := range []strategy{new(resolved), newSticky(customers)} {
		if _, err := try(s); err != nil {
			return err
		}
	}
	for attempt := 1; ; attempt++ {
		o, err := try(newRouted(customers))
		if err != nil {
			return err
		}
		if o.Share() >= leastShare {
			break
		}
		if attempt == attempts {
			l.print("  (%.1f%% on replicas: %s; this machine is too busy to show %.0f%%)", 100*o.Share(), o.WhyPrimary(), 100*leastShare)
			break
		}
		// What else runs on this machine can keep a replica from its work for
		// longer than a read waits. Everything but the share counts all the same.
		l.print("  (%.1f%% on replicas: %s; once more, in case the machine was busy)", 100*o.Share(), o.WhyPrimary())
		l.retract(o)
	}
	_, err := try(newRoutedWithoutSessions())
	return err
}

// attempts is how often the share of the replicas is measured before it counts.
const attempts = 3

// rush: 16 clients without a pause, which is more than two processors can do.
// Nobody's order may be missing then either; the share is what it is.
func (l *lab) rush(ctx context.Context) error {
	for _, s := range []strategy{new(resolved), newRouted(customers)} {
		if _, err := l.try(ctx, s, orderlab.Trial{Phase: "rush", Orders: l.orders}); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) replayPaused(ctx context.Context) error {
	for _, s := range []strategy{new(resolved), newSticky(customers), newRouted(customers)} {
		t := orderlab.Trial{Phase: "replay_paused", Orders: l.faultOrders, Fault: pauseReplay(l.cluster.Replicas())}
		if _, err := l.try(ctx, s, t); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) oneReplicaPaused(ctx context.Context) error {
	for _, s := range []strategy{new(resolved), newRouted(customers)} {
		t := orderlab.Trial{Phase: "one_replica_paused", Orders: l.faultOrders, Pause: l.pause, Fault: pauseOne(l.cluster.Replica(0))}
		if _, err := l.try(ctx, s, t); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) replicaKilled(ctx context.Context) error {
	_, err := l.try(ctx, newRouted(customers), orderlab.Trial{
		Phase: "replica_killed", Orders: l.faultOrders, Fault: killOne(l.cluster.Replica(0)),
	})
	return err
}

func (l *lab) readOnlyGuard(ctx context.Context) (err error) {
	l.progress.Begin("phase=read_only_guard", 0)
	if l.guard, err = tryGuard(ctx, l.cluster, l.counter); err != nil {
		return err
	}
	l.problems = append(l.problems, l.guard.problems()...)
	l.print("%s", l.guard.line())
	return nil
}

// try runs one trial and prints its line.
func (l *lab) try(ctx context.Context, s strategy, t orderlab.Trial) (*orderlab.Outcome, error) {
	l.progress.Begin(fmt.Sprintf("phase=%s strategy=%s", t.Phase, s.Name()), t.Orders)
	o, err := l.trial(s, t).Run(ctx, l.counter)
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", s.Name(), err)
	}
	l.outcomes = append(l.outcomes, o)
	l.print("%s", o.Line())
	if l.verbose {
		fmt.Fprint(l.out, o.Explain())
	}
	return o, nil
}

// retract takes the newest outcome out of the table; what was wrong with it besides
// the share stays.
func (l *lab) retract(o *orderlab.Outcome) {
	l.outcomes = l.outcomes[:len(l.outcomes)-1]
	l.problems = append(l.problems, faults(o)...)
}

func (l *lab) print(format string, args ...any) {
	l.progress.Clear()
	fmt.Fprintf(l.out, format+"\n", args...)
}
