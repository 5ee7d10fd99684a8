package main

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/bookstore/shop"
	"github.com/readsplit/readsplit/readonlyguard"
	"github.com/readsplit/readsplit/testenv"
)

// guarded is what the read-only guard did.
type guarded struct {
	attempts int      // writes that were tried through a read session
	panicked int      // of which this many panicked with the guard's error
	passed   []string // those that did not
	sent     int      // statements that the servers saw of them
	control  int      // statements that the servers saw of one write without the guard
	readErr  error    // of a list read through the same session
}

// tryGuard writes through a read session in every way that the shop has, and has
// the servers count what arrived.
func tryGuard(ctx context.Context, c *testenv.Cluster, k *counter) (g *guarded, err error) {
	s := newRouted(customers)
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, s.Close(closing))
	}()
	db, err := s.open(c)
	if err != nil {
		return nil, err
	}
	g = new(guarded)
	repository := shop.New(db)
	request := s.Request(ctx, 1)
	if g.control, err = sentBy(ctx, k, func() error { return repository.Place(request, newOrder()) }); err != nil {
		return nil, err
	}
	readOnly := readsplit.ReadOnly(request)
	if g.sent, err = sentBy(ctx, k, func() error {
		for _, w := range writes(repository, db) {
			g.attempt(w.name, func() error { return w.run(readOnly) })
		}
		return nil
	}); err != nil {
		return nil, err
	}
	_, g.readErr = repository.Orders(readOnly, 1)
	return g, nil
}

func newOrder() *shop.Order { return &shop.Order{CustomerID: 1, BookID: 1, Quantity: 1} }

type write struct {
	name string
	run  func(ctx context.Context) error
}

// writes are the shop's ways to write that begin with the write itself. A
// transaction that is opened by hand may be one for reading.
func writes(r *shop.Repository, db *gorm.DB) []write {
	return []write{
		{"Create", func(ctx context.Context) error { return r.Place(ctx, newOrder()) }},
		{"Create with SkipDefaultTransaction", func(ctx context.Context) error { return r.PlaceQuickly(ctx, newOrder()) }},
		{"Raw of INSERT ... RETURNING", func(ctx context.Context) error { return r.PlaceBySQL(ctx, newOrder()) }},
		{"CreateInBatches", func(ctx context.Context) error {
			return db.WithContext(ctx).CreateInBatches([]*shop.Order{newOrder(), newOrder()}, 1).Error
		}},
		{"Save", func(ctx context.Context) error {
			o := newOrder()
			o.ID = 1
			return r.Correct(ctx, o)
		}},
		{"Delete", func(ctx context.Context) error { return r.Cancel(ctx, 1) }},
		{"Exec of UPDATE", r.Recount},
		{"AutoMigrate", func(ctx context.Context) error { return db.WithContext(ctx).AutoMigrate(&shop.Order{}) }},
	}
}

// attempt runs one write and notes whether it panicked with the guard's error.
func (g *guarded) attempt(name string, run func() error) {
	g.attempts++
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *readonlyguard.Error:
			g.panicked++
			return
		default:
			name = fmt.Sprintf("%s (panicked with %v)", name, v)
		}
		g.passed = append(g.passed, name)
	}()
	if err := run(); err != nil {
		name = fmt.Sprintf("%s (returned %v)", name, err)
	}
}

// sentBy returns how many statements the servers saw while run ran, apart from
// the plugin's own questions, which call functions whose names begin with pg_.
func sentBy(ctx context.Context, k *counter, run func() error) (n int, err error) {
	if err := k.Reset(ctx); err != nil {
		return 0, err
	}
	if err := run(); err != nil {
		return 0, err
	}
	counts, err := k.sum(ctx, "query NOT LIKE '%pg\\_%'")
	for _, calls := range counts {
		n += calls
	}
	return n, err
}

// line is what the guard did, in one line.
func (g *guarded) line() string {
	return fmt.Sprintf("phase=read_only_guard panicked=%t sent=%d attempts=%d sent_without_guard=%d",
		g.panicked == g.attempts, g.sent, g.attempts, g.control)
}
