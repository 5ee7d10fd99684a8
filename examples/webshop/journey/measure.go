package journey

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/readsplit/readsplit/examples/webshop/stage"
)

// Cost is what the same requests took with the sessions around the handler, and without.
type Cost struct {
	What          string
	With, Without []time.Duration
}

// Measure sends the same requests in turn to a process that has the sessions around
// its handler and to one that has not. Nobody else is in the shop, so that the one has
// to wait for no more than the other: without sessions a process waits for everybody's
// writes.
func Measure(ctx context.Context, a, b *stage.Process, weather *stage.Weather, pairs int) ([]Cost, error) {
	with, without := NewShop(a.URL, weather), NewShop(b.URL, weather)
	defer with.Close()
	defer without.Close()
	var costs []Cost
	for _, m := range []struct {
		what     string
		signedIn bool
		request  func(ctx context.Context, v *visitor) (page, error)
		status   int
	}{
		{"style sheet, which asks no database", false, func(ctx context.Context, v *visitor) (page, error) { return v.get(ctx, "", "/style.css") }, http.StatusOK},
		{"catalogue, a visitor without cookies", false, func(ctx context.Context, v *visitor) (page, error) { return v.get(ctx, "", "/") }, http.StatusOK},
		{"my orders, of one who wrote earlier", true, func(ctx context.Context, v *visitor) (page, error) { return v.get(ctx, "", "/orders") }, http.StatusOK},
		{"into the cart, which is a write", true, func(ctx context.Context, v *visitor) (page, error) {
			return v.post(ctx, "", "/cart", form{"product": "1"})
		}, http.StatusSeeOther},
	} {
		a := &customer{visitor: with.newVisitor(), name: "Measured with sessions"}
		b := &customer{visitor: without.newVisitor(), name: "Measured without sessions"}
		if m.signedIn {
			if err := a.signIn(ctx); err != nil {
				return nil, err
			}
			if err := b.signIn(ctx); err != nil {
				return nil, err
			}
		}
		cost, warmUp := Cost{What: m.what}, min(pairs, mostWarmUp)
		one := func(v *visitor, took *[]time.Duration) error {
			began := time.Now()
			answer, err := m.request(ctx, v)
			*took = append(*took, time.Since(began))
			if err == nil {
				err = answer.want(m.status)
			}
			if err != nil {
				return fmt.Errorf("measure: %s: %w", m.what, err)
			}
			return nil
		}
		for n := range pairs + warmUp {
			if n == warmUp {
				cost.With, cost.Without = nil, nil
			}
			// In turn also who is first.
			first, second := func() error { return one(a.visitor, &cost.With) }, func() error { return one(b.visitor, &cost.Without) }
			if n%2 == 1 {
				first, second = second, first
			}
			if err := first(); err != nil {
				return nil, err
			}
			if err := second(); err != nil {
				return nil, err
			}
		}
		costs = append(costs, cost)
	}
	return costs, nil
}

// mostWarmUp is how many pairs are not counted.
const mostWarmUp = 20
