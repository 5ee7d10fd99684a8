package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/sqlserver/shop"
	"github.com/readsplit/readsplit/session/httpsession"
)

// handler is the shop over HTTP. The line of the sessions is the last one: without it
// every customer would wait for everybody's orders.
func handler(orders *shop.Repository, page http.Handler) http.Handler {
	w := web{orders}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", help)
	mux.HandleFunc("POST /customers/{customer}/orders", w.place)
	mux.HandleFunc("GET /customers/{customer}/orders", w.list)
	mux.HandleFunc("GET /books/{book}", w.book)
	// The report may be old, but must not write: a write in it would panic before
	// anything is sent.
	mux.Handle("GET /report", httpsession.ReadOnly(httpsession.Stale(http.HandlerFunc(w.report))))
	mux.Handle("GET /status/", http.StripPrefix("/status", page))
	return httpsession.Handler(mux)
}

type web struct{ orders *shop.Repository }

const usage = `POST /customers/7/orders?book=3   places an order
GET  /customers/7/orders          the customer's orders: the new one is always there
GET  /books/3                     a book with its stock, which must be current: readsplit.Fresh
GET  /report                      what sold best, which may be old: httpsession.Stale and ReadOnly
GET  /status/                     what the plugin does
`

func help(w http.ResponseWriter, _ *http.Request) {
	_, _ = fmt.Fprint(w, usage) // whoever asked may be gone
}

func (s web) place(w http.ResponseWriter, r *http.Request) {
	customer, book := number(r.PathValue("customer")), number(r.FormValue("book"))
	if customer == 0 || book == 0 {
		http.Error(w, "POST /customers/7/orders?book=3", http.StatusBadRequest)
		return
	}
	o := shop.Order{CustomerID: customer, BookID: book, Quantity: 1}
	if err := s.orders.PlaceAndCount(r.Context(), &o); err != nil {
		http.Error(w, "the order was not placed, or nobody knows: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	answer(w, o, nil)
}

func (s web) list(w http.ResponseWriter, r *http.Request) {
	lines, err := s.orders.Orders(r.Context(), number(r.PathValue("customer")))
	answer(w, lines, err)
}

// book reads the primary: whoever looks at the stock is about to decide on it.
func (s web) book(w http.ResponseWriter, r *http.Request) {
	b, err := s.orders.Book(readsplit.Fresh(r.Context()), number(r.PathValue("book")))
	answer(w, b, err)
}

func (s web) report(w http.ResponseWriter, r *http.Request) {
	sales, err := s.orders.Report(r.Context())
	answer(w, sales, err)
}

// number is 0 for what is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

func answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // whoever asked may be gone
}
