package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var databaseProblem = pitfall{
	name:  "database_problem",
	title: "Calling lag the database's problem",
	done: "Replay stands still, and no server has an error to tell. 30 customers order and look; who does not find the order orders once more. " +
		"Then replay goes on, and everything is as it was: lag is 0.",
	instead: "What a stale read made somebody do is on the primary, where no replication repairs it. Whether a read may be old is a question of the application, and so the answer is in its request: " +
		"a session, `Fresh`, `AtMost`. That the database can be made to answer it instead, and what this costs: [synchronous-replication.md](synchronous-replication.md).",
	show: showDatabaseProblem,
}

func showDatabaseProblem(ctx context.Context, s *stage.Stage) ([]finding, error) {
	const customers = 30
	if err := s.Prepare(ctx, orders); err != nil {
		return nil, err
	}
	// shop returns how many statements failed.
	shop := func(db *gorm.DB, from int) (failed int) {
		for c := from; c < from+customers; c++ {
			db := db.WithContext(stage.Customer(ctx))
			for range 2 {
				var list []order
				if db.Create(&order{Customer: c}).Error != nil || db.Where("customer = ?", c).Find(&list).Error != nil {
					failed++
				}
				if len(list) > 0 {
					break // there it is
				}
			}
		}
		return failed
	}
	// twice counts, on the primary, who has ordered twice.
	twice := func(db *gorm.DB, from int) (n int, err error) {
		err = db.Raw(`SELECT count(*) FROM (SELECT FROM orders WHERE customer BETWEEN ? AND ? GROUP BY customer HAVING count(*) > 1) AS twice`,
			from, from+customers-1).Scan(&n).Error
		return n, err
	}

	naive, err := s.DBResolver(s.Cluster.Replicas()...)
	if err != nil {
		return nil, err
	}
	routed, _, err := s.Split(ctx, nil, s.Cluster.Replicas()...)
	if err != nil {
		return nil, err
	}
	if err := s.Pause(ctx); err != nil {
		return nil, err
	}
	failed := shop(naive, 1000)
	failedToo := shop(routed, 2000)
	if err := s.Resume(ctx); err != nil {
		return nil, err
	}
	past, err := s.Open(s.Cluster.Primary())
	if err != nil {
		return nil, err
	}
	lost, err := twice(past, 1000)
	if err != nil {
		return nil, err
	}
	kept, err := twice(past, 2000)
	if err != nil {
		return nil, err
	}
	return []finding{
		{"dbresolver", "customers who saw an error", failed, customers},
		{"dbresolver", "customers who have ordered twice, when lag is 0 again", lost, customers},
		{"readsplit", "customers who saw an error", failedToo, customers},
		{"readsplit", "customers who have ordered twice", kept, customers},
	}, nil
}
