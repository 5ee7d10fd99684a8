package main

import (
	"context"

	"github.com/readsplit/readsplit/examples/sqlserver/shop"
	"github.com/readsplit/readsplit/internal/orderlab"
)

// ways are those in which applications write; the orders take turns.
var ways = [...]struct {
	name string
	run  func(r *shop.Repository, ctx context.Context, o *shop.Order) error
}{
	{"Create", (*shop.Repository).Place},
	{"an explicit transaction", (*shop.Repository).PlaceAndCount},
	{"OUTPUT through Raw", (*shop.Repository).PlaceBySQL},
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
		list.ServedBy, list.Replica = line.ServedBy, line.Updateability == "READ_ONLY"
	}
	list.Full = len(lines) >= shop.PageSize
	return list, err
}
