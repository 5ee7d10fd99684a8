package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/bookstore/shop"
)

const (
	clients   = 16
	customers = 400
	books     = 1000
	others    = 4 // customers who read their lists after each order, besides its own
)

// workload is what the customers of the shop do: one places an order and looks at
// the list, and four others look at theirs.
type workload struct {
	seed   uint64
	orders int
	pause  time.Duration // between the beginnings of two orders; 0: as fast as 16 clients can
	cues   []cue
	done   func(order int)
}

// reading is one list that a customer read.
type reading struct {
	began, ended time.Time
	own          bool // right after an order of this customer
	servedBy     string
	claim        claim
	missing      []receipt // orders that should have been in the list
	err          error
}

// record is all that happened in a run of the workload.
type record struct {
	readings []reading
	missed   int // orders that were missing in at least one list
	took     time.Duration
}

// run carries the workload out with 16 clients at a time. The orders that
// customers place and who reads follow from the seed alone; how the clients
// interleave does not.
func (w *workload) run(ctx context.Context, s strategy, db *gorm.DB) (*record, error) {
	began := time.Now()
	oracle := newOracle(customers)
	line := newTickets(ctx, w.orders, w.pause, w.cues, w.done)
	perClient := make([][]reading, clients)
	var running sync.WaitGroup
	for i := range clients {
		c := &client{strategy: s, repository: shop.New(db), oracle: oracle}
		running.Go(func() {
			for {
				order, ok := line.draw()
				if !ok {
					break
				}
				if err := c.serve(ctx, w.seed, order); err != nil {
					line.fail(err)
				}
			}
			perClient[i] = c.readings
		})
	}
	running.Wait()
	if err := line.wait(); err != nil {
		return nil, err
	}
	r := &record{missed: oracle.missed(), took: time.Since(began)}
	for _, readings := range perClient {
		r.readings = append(r.readings, readings...)
	}
	return r, nil
}

// warm fills the pools of a strategy: what a connection costs is not the subject.
func warm(ctx context.Context, s strategy, db *gorm.DB) error {
	repository := shop.New(db)
	errs := make(chan error, clients)
	for i := range clients {
		go func() {
			var err error
			for n := range 25 {
				customer := int64(1 + (i*25+n)%customers)
				if _, e := repository.Orders(s.request(ctx, customer), customer); e != nil {
					err = fmt.Errorf("bookstore: warm up %s: %w", s.name(), e)
				}
			}
			errs <- err
		}()
	}
	var failed error
	for range clients {
		if err := <-errs; err != nil {
			failed = err
		}
	}
	return failed
}

// client serves requests, one after the other.
type client struct {
	strategy   strategy
	repository *shop.Repository
	oracle     *oracle
	readings   []reading
}

// serve is one order with the five lists that follow it. Its error is that of the
// write, which ends the run: the primary is never broken. A list that fails is
// counted.
func (c *client) serve(ctx context.Context, seed uint64, number int) error {
	rng := rand.New(rand.NewPCG(seed, uint64(number)))
	customer := 1 + rng.Int64N(customers)
	order := &shop.Order{CustomerID: customer, BookID: 1 + rng.Int64N(books), Quantity: 1 + rng.IntN(3)}
	if err := c.place(c.strategy.request(ctx, customer), number, order); err != nil {
		return fmt.Errorf("bookstore: order %d with %s: %w", number, c.strategy.name(), err)
	}
	c.oracle.acknowledge(customer, order.ID, number)
	c.list(ctx, customer, true)
	for range others {
		c.list(ctx, 1+rng.Int64N(customers), false)
	}
	return nil
}

// ways are those in which applications write; the orders take turns.
var ways = [...]struct {
	name string
	run  func(r *shop.Repository, ctx context.Context, o *shop.Order) error
}{
	{"Create", (*shop.Repository).Place},
	{"an explicit transaction", (*shop.Repository).PlaceAndCount},
	{"RETURNING through Raw", (*shop.Repository).PlaceBySQL},
	{"SkipDefaultTransaction", (*shop.Repository).PlaceQuickly},
}

func (c *client) place(ctx context.Context, number int, o *shop.Order) error {
	return ways[number%len(ways)].run(c.repository, ctx, o)
}

// list reads the customer's orders in a request of its own.
func (c *client) list(ctx context.Context, customer int64, own bool) {
	ctx, claim := withClaim(c.strategy.request(ctx, customer))
	due := c.oracle.due(customer)
	began := time.Now()
	lines, err := c.repository.Orders(ctx, customer)
	r := reading{began: began, ended: time.Now(), own: own, claim: *claim, err: err}
	if err == nil {
		r.missing = c.oracle.judge(customer, due, lines)
		if len(lines) > 0 {
			r.servedBy = lines[0].ServedBy
		}
	}
	c.readings = append(c.readings, r)
}
