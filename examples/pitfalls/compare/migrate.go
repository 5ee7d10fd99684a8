package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var migrate = behaviour{
	name:  "migrate",
	title: "`AutoMigrate` of a table that exists; replay paused",
	story: "Every instance of an application calls `AutoMigrate` when it starts. The question whether the table is there goes to a replica, and CREATE TABLE to the primary, so that the second instance does not start while replicas are behind.",
	ours:  "The migrator looks and acts on the primary.",
	held:  []test{{"trap_migrator_test.go", "TestT28Migrator"}},
	show:  showMigrate,
}

func showMigrate(ctx context.Context, s *stage.Stage, _ size) (pair, error) {
	const instances = 10
	if err := s.Prepare(ctx, orders); err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, nil)
	if err != nil {
		return pair{}, err
	}
	past, err := s.Open(s.Cluster.Primary())
	if err != nil {
		return pair{}, err
	}
	if err := s.Pause(ctx); err != nil {
		return pair{}, err
	}
	if err := past.AutoMigrate(&tag{}); err != nil { // the first instance
		return pair{}, err
	}
	return each(naive, routed, "fail", func(db *gorm.DB, _ int) (failed tally, err error) {
		for range instances {
			failed.add(false, db.WithContext(stage.Customer(ctx)).AutoMigrate(&tag{}))
		}
		return failed, nil
	})
}
