package journey

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

const (
	clients   = 32  // journeys at the same time
	customers = 300 // who make them, again and again
)

// Plan is how many journeys there are.
type Plan struct {
	Total int
	Seed  uint64
	Rate  float64 // journeys a second at most; 0: as many as the clients can
	Done  func(n int)
}

// Outcome is what the customers have seen.
type Outcome struct {
	Total   int
	Missing int // journeys whose customer missed something of their own
	missed  missed
	byWay   [ways]struct{ total, missing int }
	Failed  []error // answers that the shop should not have given
	Took    time.Duration
}

// Run makes the journeys.
func (p Plan) Run(ctx context.Context, s *Shop) (*Outcome, error) {
	began := time.Now()
	products, err := s.products(ctx)
	if err != nil {
		return nil, err
	}
	people := make([]*customer, customers)
	for i := range people {
		people[i] = &customer{visitor: s.newVisitor(), name: fmt.Sprintf("Customer %d", i+1)}
	}
	o := new(Outcome)
	var mu sync.Mutex
	var running sync.WaitGroup
	numbers := p.numbers(ctx)
	for range clients {
		running.Go(func() {
			for n := range numbers {
				rng := rand.New(rand.NewPCG(p.Seed, uint64(n)))
				j := &journey{
					shop: s, products: products, rng: rng, key: fmt.Sprintf("%d-%d", p.Seed, n),
					customer: people[rng.IntN(customers)], other: people[rng.IntN(customers)],
					way: choice[rng.IntN(len(choice))], thinks: rng.IntN(2) == 0,
				}
				m, err := j.run(ctx)
				mu.Lock()
				o.add(j.way, m, err)
				if p.Done != nil {
					p.Done(o.Total)
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	o.Took = time.Since(began)
	return o, ctx.Err()
}

func (o *Outcome) add(w way, m missed, err error) {
	o.Total++
	o.byWay[w].total++
	o.missed.add(m)
	if m.any() {
		o.Missing++
		o.byWay[w].missing++
	}
	if err != nil {
		o.Failed = append(o.Failed, err)
	}
}

// numbers hands out the journeys, no faster than the rate. Its goroutine ends with the
// last of them, or with ctx.
func (p Plan) numbers(ctx context.Context) <-chan int {
	out := make(chan int)
	go func() {
		defer close(out)
		var tick <-chan time.Time
		if p.Rate > 0 {
			ticker := time.NewTicker(time.Duration(float64(time.Second) / p.Rate))
			defer ticker.Stop()
			tick = ticker.C
		}
		for n := range p.Total {
			if tick != nil {
				select {
				case <-tick:
				case <-ctx.Done():
					return
				}
			}
			select {
			case out <- n:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// products are the numbers of all teas.
func (s *Shop) products(ctx context.Context) ([]int64, error) {
	p, err := (&visitor{shop: s}).get(ctx, "GET /", "/")
	if err == nil {
		err = p.want(http.StatusOK)
	}
	if err != nil {
		return nil, err
	}
	return numbers(p.body, productLink), nil
}
