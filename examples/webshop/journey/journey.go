package journey

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// way is how an order comes about.
type way int

const (
	cart    way = iota // into the cart, look at it, order
	one                // one packet, without the cart
	twoTabs            // two orders at once, and a third tab that reads
	retried            // the answer is lost, and the same form is sent again
	ways
)

func (w way) String() string {
	return [...]string{"cart", "buy now", "two tabs", "sent twice"}[w]
}

// journey is an order, and the list after it. All of it follows from its seed and its
// number, but for what the servers make of it.
type journey struct {
	shop     *Shop
	customer *customer
	other    *customer // who looks at a list of orders without having ordered
	products []int64
	rng      *rand.Rand
	key      string // names its forms
	way      way
	thinks   bool // between the requests
}

// ways are taken as often as they stand here.
var choice = []way{cart, cart, cart, cart, one, one, twoTabs, twoTabs, retried, retried}

// run returns what the customer missed. An error is an answer that the shop should not
// have given.
func (j *journey) run(ctx context.Context) (m missed, err error) {
	j.customer.turn.Lock()
	defer j.customer.turn.Unlock()
	if err := j.customer.signIn(ctx); err != nil {
		return m, err
	}
	steps := []func(context.Context) (missed, error){j.browse, j.place, j.look, j.others}
	for _, step := range steps {
		seen, err := step(ctx)
		m.add(seen)
		if err != nil {
			return m, fmt.Errorf("%s: %w", j.way, err)
		}
	}
	return m, nil
}

// browse: half of the customers look around first.
func (j *journey) browse(ctx context.Context) (missed, error) {
	if j.rng.IntN(2) == 0 {
		return missed{}, nil
	}
	return missed{}, j.browseAs(ctx, j.customer.visitor)
}

func (j *journey) browseAs(ctx context.Context, v *visitor) error {
	p, err := v.get(ctx, "GET /", "/")
	if err == nil {
		err = p.want(http.StatusOK)
	}
	if err != nil {
		return err
	}
	if n := len(numbers(p.body, productLink)); n != len(j.products) {
		return fmt.Errorf("the catalogue has %d products and not %d", n, len(j.products))
	}
	p, err = v.get(ctx, "GET /products/{id}", fmt.Sprintf("/products/%d", j.product()))
	if err == nil {
		err = p.want(http.StatusOK)
	}
	return err
}

func (j *journey) product() int64 { return j.products[j.rng.IntN(len(j.products))] }

// place orders, and looks at the list to which the shop leads.
func (j *journey) place(ctx context.Context) (m missed, err error) {
	j.think(ctx)
	first := ofOne(j.product(), j.key)
	if j.way != one {
		if m, err = j.customer.put(ctx, j.product()); err != nil {
			return m, err
		}
		j.think(ctx)
		first = ofCart(j.key)
	}
	switch j.way {
	case twoTabs:
		seen, err := j.atOnce(ctx, first, ofOne(j.product(), j.key+"-second"))
		m.add(seen)
		return m, err
	case retried:
		j.lose(ctx, first)
	}
	seen, err := j.orderAndList(ctx, first)
	m.add(seen)
	return m, err
}

func (j *journey) orderAndList(ctx context.Context, p purchase) (missed, error) {
	next, m, err := j.customer.order(ctx, p)
	if err != nil || next == "" {
		return m, err
	}
	return j.customer.list(ctx, next)
}

// lose sends a form whose answer does not arrive: the customer hangs up, and whatever
// the shop would have had them keep is lost.
func (j *journey) lose(ctx context.Context, p purchase) {
	patience := time.Duration(1+j.rng.IntN(15)) * time.Millisecond
	if j.rng.IntN(2) == 0 {
		patience = time.Minute // the answer is lost on its way, and the order was placed
	}
	ctx, hangUp := context.WithTimeout(ctx, patience)
	defer hangUp()
	forgetful := &visitor{shop: j.shop, again: j.customer.jar}
	_, _ = forgetful.post(ctx, p.endpoint, p.path, p.form) // that is what is lost
}

// atOnce sends both forms at the same time, each from a tab of its own, while a third
// tab reads.
func (j *journey) atOnce(ctx context.Context, a, b purchase) (m missed, err error) {
	reader := j.rng.IntN(2) == 0
	var mu sync.Mutex
	var tabs sync.WaitGroup
	tab := func(f func() (missed, error)) {
		tabs.Go(func() {
			seen, failed := f()
			mu.Lock()
			defer mu.Unlock()
			m.add(seen)
			err = errors.Join(err, failed)
		})
	}
	tab(func() (missed, error) { return j.orderAndList(ctx, a) })
	tab(func() (missed, error) { return j.orderAndList(ctx, b) })
	if reader {
		tab(func() (missed, error) { return j.customer.list(ctx, "/orders") })
	}
	tabs.Wait()
	return m, err
}

// look: the customer comes back to the list, half of them after a while.
func (j *journey) look(ctx context.Context) (missed, error) {
	j.think(ctx)
	return j.customer.list(ctx, "/orders")
}

// others are in the shop too: somebody who only looks around, a customer who has
// ordered earlier, and now and then the owner.
func (j *journey) others(ctx context.Context) (m missed, err error) {
	if err := j.browseAs(ctx, &visitor{shop: j.shop}); err != nil {
		return m, err
	}
	if j.other != j.customer && j.other.turn.TryLock() {
		defer j.other.turn.Unlock()
		if err := j.other.signIn(ctx); err != nil {
			return m, err
		}
		if m, err = j.other.list(ctx, "/orders"); err != nil {
			return m, err
		}
	}
	if j.rng.IntN(20) == 0 {
		p, err := (&visitor{shop: j.shop}).get(ctx, "GET /admin/report", "/admin/report")
		if err == nil {
			err = p.want(http.StatusOK)
		}
		return m, err
	}
	return m, nil
}

// think is 5 to 250 ms, for those who think.
func (j *journey) think(ctx context.Context) {
	if !j.thinks {
		return
	}
	timer := time.NewTimer(time.Duration(5+j.rng.IntN(246)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
