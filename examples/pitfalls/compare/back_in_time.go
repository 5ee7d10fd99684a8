package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/pitfalls/stage"
	"github.com/readsplit/readsplit/session"
)

var backInTime = behaviour{
	name:  "back_in_time",
	title: "A list is reloaded; one of two replicas behind",
	story: "A reader who writes nothing reloads a page. One replica has the newest rows and the other does not, and each read takes either: a row is there, is gone with the next click, and comes back.",
	ours:  "With `Config.Guarantee: session.MonotonicReads` what a session has seen binds its later reads, on whichever server they run. It is not the default, which promises own writes and `MaxLag`.",
	held:  []test{{"monotonic_test.go", "TestReadsAreMonotonic"}},
	show:  showBackInTime,
}

func showBackInTime(ctx context.Context, s *stage.Stage, sz size) (pair, error) {
	if err := s.Prepare(ctx, orders); err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, func(cfg *readsplit.Config) { cfg.Guarantee = session.MonotonicReads })
	if err != nil {
		return pair{}, err
	}
	if err := behind(ctx, s, `INSERT INTO orders (customer) SELECT 7 FROM generate_series(1, 10)`); err != nil {
		return pair{}, err
	}
	reload := func(db *gorm.DB) (back tally, err error) {
		reader := db.WithContext(stage.Customer(ctx))
		var before int64
		for range sz.reads {
			var now int64
			if err := reader.Model(&order{}).Count(&now).Error; err != nil {
				return back, err
			}
			back.add(now < before, nil)
			before = now
		}
		return back, nil
	}
	const what = "reloads go back in time"
	lost, err := reload(naive)
	if err != nil {
		return pair{}, err
	}
	kept, err := reload(routed)
	return pair{lost.cell(what, lost.some()), kept.cell(what, kept.none())}, err
}
