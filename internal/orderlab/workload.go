package orderlab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Clients is how many serve orders at a time.
	Clients = 16
	// Others is how many customers read their lists after each order, besides its own.
	Others = 4
)

// workload is what the customers of the shop do: one places an order and looks at
// the list, and four others look at theirs.
type workload struct {
	trial  *Trial
	shop   Shop
	oracle *oracle
	cues   []Cue

	failedWrites atomic.Int64
}

// reading is one list that a customer read.
type reading struct {
	began, ended time.Time
	own          bool // right after an order of this customer
	servedBy     string
	replica      bool
	claim        claim
	missing      []receipt // orders that should have been in the list
	err          error
}

// server is the server that made the list, where every primary is one.
func (r *reading) server() string {
	if r.replica {
		return r.servedBy
	}
	return Primary
}

// called is how the plugin calls the server that made the list.
func (t *Trial) called(r *reading) string {
	if r.replica && t.OneName != "" {
		return t.OneName
	}
	return r.server()
}

// record is all that happened in a run of the workload.
type record struct {
	readings     []reading
	missed       int // orders that were missing in at least one list
	failedWrites int // attempts to place one that failed, and were made again
	lost         int // orders that did not survive, see Running.Keep
	took         time.Duration
}

// run carries the workload out with all clients at a time. The orders that
// customers place and who reads follow from the seed alone; how the clients
// interleave does not.
func (w *workload) run(ctx context.Context) (*record, error) {
	began := time.Now()
	done := w.trial.Done
	if done == nil {
		done = func(int) {}
	}
	line := newTickets(ctx, w.trial.Orders, w.trial.Pause, w.cues, done)
	perClient := make([][]reading, Clients)
	var running sync.WaitGroup
	for i := range Clients {
		c := &client{workload: w}
		running.Go(func() {
			for {
				order, ok := line.draw()
				if !ok {
					break
				}
				if err := c.serve(ctx, order); err != nil {
					line.fail(err)
				}
				line.served()
			}
			perClient[i] = c.readings
		})
	}
	running.Wait()
	if err := line.wait(); err != nil {
		return nil, err
	}
	r := &record{missed: w.oracle.missed(), failedWrites: int(w.failedWrites.Load()), lost: w.oracle.lost, took: time.Since(began)}
	for _, readings := range perClient {
		r.readings = append(r.readings, readings...)
	}
	return r, nil
}

// client serves requests, one after the other.
type client struct {
	*workload
	readings []reading
}

// serve is one order with the five lists that follow it. Its error is that of the
// write, which ends the run, but where the primary moves. A list that fails is
// counted.
func (c *client) serve(ctx context.Context, number int) error {
	rng := rand.New(rand.NewPCG(c.trial.Seed, uint64(number)))
	customer := 1 + rng.Int64N(int64(c.trial.Customers))
	order := Order{Customer: customer, Book: 1 + rng.Int64N(int64(c.trial.Books)), Quantity: 1 + rng.IntN(3)}
	id, err := c.place(c.trial.Strategy.Request(ctx, customer), number, order)
	if err != nil {
		return fmt.Errorf("orderlab: order %d with %s: %w", number, c.trial.Strategy.Name(), err)
	}
	c.oracle.acknowledge(customer, id, number)
	c.list(ctx, customer, true)
	for range Others {
		c.list(ctx, 1+rng.Int64N(int64(c.trial.Customers)), false)
	}
	return nil
}

// place stores the order. Where the primary moves, a customer who got an error places
// the order once more: one of the two may be there without anybody having been told so,
// which the oracle does not ask for.
func (c *client) place(ctx context.Context, number int, o Order) (id int64, err error) {
	id, err = c.shop.Place(ctx, number, o)
	if err == nil || c.trial.Fault == nil || !c.trial.Fault.Moves {
		return id, err
	}
	waited := Until(ctx, "an order is taken again", func() bool {
		c.failedWrites.Add(1)
		id, err = c.shop.Place(ctx, number, o)
		return err == nil
	})
	if waited != nil {
		return 0, fmt.Errorf("%w, the last with: %w", waited, err)
	}
	return id, nil
}

// list reads the customer's orders in a request of its own.
func (c *client) list(ctx context.Context, customer int64, own bool) {
	ctx, claim := withClaim(c.trial.Strategy.Request(ctx, customer))
	due := c.oracle.due(customer)
	began := time.Now()
	list, err := c.shop.List(ctx, customer)
	r := reading{began: began, ended: time.Now(), own: own, claim: *claim, err: err}
	if err == nil {
		r.missing = c.oracle.judge(customer, due, list)
		r.servedBy, r.replica = list.ServedBy, list.Replica
	}
	c.readings = append(c.readings, r)
}
