package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var pausedLoad = behaviour{
	name:  "paused_load",
	title: "Replay paused: who serves those who have written",
	story: "Replicas that stand still cost dbresolver's primary nothing: they serve on, and everybody sees the past.",
	ours:  "The primary serves whoever has written, and past `MaxLag` everybody. It has to be able to carry that for as long as replicas stand still, or `Config.PrimaryBudget` has to say who waits, who sees the past and who gets an error ([overload.md](overload.md)).",
	held:  []test{{"budget_test.go", "TestBudgetIsNeverExceeded"}},
	show:  showPausedLoad,
}

func showPausedLoad(ctx context.Context, s *stage.Stage, _ size) (pair, error) {
	const writers = 100
	if err := s.Prepare(ctx, orders); err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, nil)
	if err != nil {
		return pair{}, err
	}
	if err := s.Pause(ctx); err != nil {
		return pair{}, err
	}
	look := func(db *gorm.DB) (away tally, err error) {
		for range writers {
			db := db.WithContext(stage.Customer(ctx))
			if err := db.Create(&order{}).Error; err != nil {
				return away, err
			}
			var server string
			if err := db.Raw("SELECT current_setting('cluster_name')").Scan(&server).Error; err != nil {
				return away, err
			}
			away.add(server == s.Cluster.Primary().Name(), nil)
		}
		return away, nil
	}
	const what = "reads by the primary"
	free, err := look(naive)
	if err != nil {
		return pair{}, err
	}
	paid, err := look(routed)
	return pair{free.cell(what, free.none()), paid.cell(what, paid.all())}, err
}
