// Package web is the tea shop's pages: server-rendered HTML, a cookie for who signed
// in, and one line for each endpoint, some of which say what their reads may be.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/webshop/shop"
	"github.com/readsplit/readsplit/session/httpsession"
)

// Site answers the shop's requests.
type Site struct {
	catalogue *shop.Catalogue
	customers *shop.Customers
	carts     *shop.Carts
	checkout  *shop.Checkout
	orders    *shop.Orders
	reports   *shop.Reports
	logins    logins
	name      string // of this process, for the foot of the page
}

// New returns the shop over db. key signs who signed in, and is the same in every
// process; name is how the process is called at the foot of its pages.
func New(db *gorm.DB, key []byte, name string) *Site {
	return &Site{
		catalogue: shop.NewCatalogue(db), customers: shop.NewCustomers(db), carts: shop.NewCarts(db),
		checkout: shop.NewCheckout(db), orders: shop.NewOrders(db), reports: shop.NewReports(db),
		logins: logins{key}, name: name,
	}
}

// Handler routes the requests.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", s.page(s.products))
	mux.Handle("GET /products/{id}", s.page(s.product))
	mux.Handle("GET /login", s.page(s.loginForm))
	mux.Handle("POST /login", s.page(s.signIn))
	mux.Handle("POST /logout", s.page(s.signOut))
	mux.Handle("GET /cart", s.customersOnly(s.cart))
	mux.Handle("POST /cart", s.customersOnly(s.addToCart))
	mux.Handle("POST /cart/remove", s.customersOnly(s.removeFromCart))
	mux.Handle("GET /orders", s.customersOnly(s.myOrders))
	mux.HandleFunc("GET /style.css", style)

	// What is in stock is looked at before it is sold: it must be current.
	mux.Handle("POST /orders", httpsession.Fresh(s.customersOnly(s.order)))
	mux.Handle("POST /products/{id}/buy", httpsession.Fresh(s.customersOnly(s.buy)))
	// The report may be old, is of one piece, and must not change anything.
	mux.Handle("GET /admin/report", httpsession.ReadOnly(httpsession.OneServer(httpsession.Stale(s.page(s.report)))))
	return mux
}

func (s *Site) products(r *http.Request, _ *visitor) (answer, error) {
	products, err := s.catalogue.Products(r.Context())
	return show("products.html", "Teas", products), err
}

func (s *Site) product(r *http.Request, _ *visitor) (answer, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return answer{}, gorm.ErrRecordNotFound
	}
	product, err := s.catalogue.Product(r.Context(), id)
	return show("product.html", product.Name, struct {
		shop.Product
		Key string
	}{product, newKey()}), err
}

func (s *Site) loginForm(r *http.Request, _ *visitor) (answer, error) {
	return show("login.html", "Sign in", r.URL.Query().Get("then")), nil
}

func (s *Site) signIn(r *http.Request, v *visitor) (answer, error) {
	name := strings.TrimSpace(r.FormValue("name"))
	if name == "" || len(name) > 60 {
		return refuse(http.StatusUnprocessableEntity, "A name has 1 to 60 letters."), nil
	}
	customer, err := s.customers.SignIn(r.Context(), name)
	if err != nil {
		return answer{}, err
	}
	v.setCookie = s.logins.cookie(customer, r.TLS != nil)
	return to(within(r.FormValue("then"))), nil
}

func (s *Site) signOut(*http.Request, *visitor) (answer, error) {
	a := to("/")
	a.forget = true
	return a, nil
}

func (s *Site) cart(r *http.Request, v *visitor) (answer, error) {
	lines, err := s.carts.Lines(r.Context(), v.customer.ID)
	cart := struct {
		Lines []shop.CartLine
		Cents int64
		Key   string
	}{Lines: lines, Key: newKey()}
	for _, line := range lines {
		cart.Cents += line.Cents()
	}
	return show("cart.html", "Cart", cart), err
}

func (s *Site) addToCart(r *http.Request, v *visitor) (answer, error) {
	product, quantity, err := amount(r, r.FormValue("product"))
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, err.Error()), nil
	}
	return to("/cart"), s.carts.Add(r.Context(), v.customer.ID, product, quantity)
}

func (s *Site) removeFromCart(r *http.Request, v *visitor) (answer, error) {
	product, _, err := amount(r, r.FormValue("product"))
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, err.Error()), nil
	}
	return to("/cart"), s.carts.Remove(r.Context(), v.customer.ID, product)
}

func (s *Site) order(r *http.Request, v *visitor) (answer, error) {
	key := r.FormValue("key")
	if key == "" {
		return refuse(http.StatusUnprocessableEntity, "The form has no key."), nil
	}
	return placed(s.checkout.Cart(r.Context(), v.customer.ID, key))
}

func (s *Site) buy(r *http.Request, v *visitor) (answer, error) {
	product, quantity, err := amount(r, r.PathValue("id"))
	key := r.FormValue("key")
	if err == nil && key == "" {
		err = errors.New("the form has no key")
	}
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, err.Error()), nil
	}
	return placed(s.checkout.One(r.Context(), v.customer.ID, key, product, quantity))
}

// placed leads to the customer's orders.
func placed(order shop.Order, err error) (answer, error) {
	var soldOut *shop.SoldOutError
	switch {
	case errors.Is(err, shop.ErrCartEmpty):
		return refuse(http.StatusConflict, "Your cart is empty."), nil
	case errors.As(err, &soldOut):
		return refuse(http.StatusConflict, "We do not have as much "+soldOut.Product+" any more."), nil
	}
	return to("/orders?placed=" + strconv.FormatInt(order.ID, 10)), err
}

func (s *Site) myOrders(r *http.Request, v *visitor) (answer, error) {
	orders, err := s.orders.Of(r.Context(), v.customer.ID)
	placed, _ := strconv.ParseInt(r.URL.Query().Get("placed"), 10, 64)
	list := struct {
		Orders []shop.Order
		Placed int64
	}{orders, placed}
	return show("orders.html", "My orders", list), err
}

func (s *Site) report(r *http.Request, _ *visitor) (answer, error) {
	report, err := s.reports.Sales(r.Context())
	return show("report.html", "Sales", report), err
}

// amount reads what a form wants how much of.
func amount(r *http.Request, id string) (product, quantity int64, err error) {
	quantity = 1
	if text := r.FormValue("quantity"); text != "" {
		if quantity, err = strconv.ParseInt(text, 10, 64); err != nil || quantity < 1 || quantity > 99 {
			return 0, 0, errors.New("quantities are 1 to 99")
		}
	}
	if product, err = strconv.ParseInt(id, 10, 64); err != nil {
		return 0, 0, errors.New("there is no such product")
	}
	return product, quantity, nil
}

// within keeps a redirect inside the shop, whatever the form says. Browsers take a
// backslash for a slash.
func within(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.Contains(path, `\`) {
		return "/"
	}
	return path
}

// failed answers what cannot be answered.
func failed(ctx context.Context, err error) answer {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return refuse(http.StatusNotFound, "There is no such page.")
	}
	if ctx.Err() == nil { // else somebody has hung up
		slog.Error("shop: a request failed", "error", err)
	}
	return refuse(http.StatusInternalServerError, "Something went wrong. Please try again.")
}
