package journey

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/readsplit/readsplit/examples/webshop/shop"
)

// customer is a visitor who signed in, and remembers what the shop has acknowledged.
type customer struct {
	*visitor
	turn sync.Mutex // one journey at a time
	name string

	mu     sync.Mutex
	placed []int64 // orders whose number the shop has said; it only grows
}

// signIn signs the customer in, once.
func (c *customer) signIn(ctx context.Context) error {
	if len(c.jar.Cookies(mustParse(c.shop.URL))) > 0 {
		return nil
	}
	p, err := c.post(ctx, "POST /login", "/login", form{"name": c.name})
	if err != nil {
		return err
	}
	return p.want(http.StatusSeeOther)
}

func mustParse(address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil {
		panic(err) // the address of the shop's own proxy
	}
	return u
}

// missed is what a customer misses of what they wrote themselves.
type missed struct{ orders, carts, refused int }

func (m *missed) add(other missed) {
	m.orders += other.orders
	m.carts += other.carts
	m.refused += other.refused
}

func (m missed) any() bool { return m != missed{} }

// put puts a product into the cart and looks whether it is there.
func (c *customer) put(ctx context.Context, product int64) (missed, error) {
	number := strconv.FormatInt(product, 10)
	p, err := c.post(ctx, "POST /cart", "/cart", form{"product": number})
	if err == nil {
		err = p.want(http.StatusSeeOther)
	}
	if err != nil {
		return missed{}, err
	}
	p, err = c.get(ctx, "GET /cart", p.location)
	if err == nil {
		err = p.want(http.StatusOK)
	}
	if err != nil {
		return missed{}, err
	}
	if !slices.Contains(numbers(p.body, productRow), product) {
		return missed{carts: 1}, nil
	}
	return missed{}, nil
}

// order sends the form that orders the cart, or one product. It returns where the
// shop leads to; empty: it refuses, because it takes the cart for empty.
func (c *customer) order(ctx context.Context, o purchase) (next string, m missed, err error) {
	p, err := c.post(ctx, o.endpoint, o.path, o.form)
	if err != nil {
		return "", missed{}, err
	}
	if p.status == http.StatusConflict && strings.Contains(p.body, "cart is empty") {
		return "", missed{refused: 1}, nil
	}
	if err := p.want(http.StatusSeeOther); err != nil {
		return "", missed{}, err
	}
	number, err := o.number(p)
	if err != nil {
		return "", missed{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.placed = append(c.placed, number)
	return p.location, missed{}, nil
}

// list reads the customer's orders and looks whether those are there that had been
// acknowledged when it was asked for.
func (c *customer) list(ctx context.Context, path string) (missed, error) {
	c.mu.Lock()
	due := c.placed[:len(c.placed):len(c.placed)]
	c.mu.Unlock()
	p, err := c.get(ctx, listEndpoint, path)
	if err == nil {
		err = p.want(http.StatusOK)
	}
	if err != nil {
		return missed{}, err
	}
	return missed{orders: len(absent(due, numbers(p.body, orderRow)))}, nil
}

// absent returns which of the orders that are due a list does not show. One that a
// full page has no room for any more is not missing.
func absent(due, shown []int64) (missing []int64) {
	oldest := int64(0)
	if len(shown) >= shop.PageSize {
		oldest = slices.Min(shown)
	}
	for _, order := range due {
		if order >= oldest && !slices.Contains(shown, order) {
			missing = append(missing, order)
		}
	}
	return missing
}

// purchase is a form that orders something. Sent twice it is one order.
type purchase struct {
	endpoint, path string
	form           form
}

func ofCart(key string) purchase {
	return purchase{"POST /orders", "/orders", form{"key": key}}
}

func ofOne(product int64, key string) purchase {
	return purchase{"POST /products/{id}/buy", fmt.Sprintf("/products/%d/buy", product), form{"key": key}}
}

// number is the order's, as the shop says it.
func (purchase) number(p page) (int64, error) {
	u, err := url.Parse(p.location)
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseInt(u.Query().Get("placed"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the shop does not say the number of an order: it leads to %s", p.location)
	}
	return number, nil
}
