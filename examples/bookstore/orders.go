package main

import (
	"context"

	"github.com/readsplit/readsplit/examples/bookstore/shop"
	"github.com/readsplit/readsplit/internal/orderlab"
)

const (
	customers = 400
	books     = 1000
)

// primary is the cluster_name of the primary.
const primary = "primary"

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

// orders is the shop as the lab's customers use it.
type orders struct{ repository *shop.Repository }

func (s orders) Place(ctx context.Context, number int, o orderlab.Order) (int64, error) {
	order := &shop.Order{CustomerID: o.Customer, BookID: o.Book, Quantity: o.Quantity}
	err := ways[number%len(ways)].run(s.repository, ctx, order)
	return order.ID, err
}

func (s orders) List(ctx context.Context, customer int64) (list orderlab.List, err error) {
	lines, err := s.repository.Orders(ctx, customer)
	for _, line := range lines {
		list.IDs = append(list.IDs, line.OrderID)
		list.ServedBy, list.Replica = line.ServedBy, line.ServedBy != primary
	}
	list.Full = len(lines) >= shop.PageSize
	return list, err
}

// trial fills in what all trials of this lab have in common.
func (l *lab) trial(s strategy, t orderlab.Trial) *orderlab.Trial {
	t.Strategy, t.Customers, t.Books, t.Seed, t.Done = s, customers, books, l.seed, l.progress.At
	t.Open = func(context.Context) (orderlab.Shop, error) {
		db, err := s.open(l.cluster)
		return orders{shop.New(db)}, err
	}
	for _, w := range ways {
		t.Ways = append(t.Ways, w.name)
	}
	return &t
}
