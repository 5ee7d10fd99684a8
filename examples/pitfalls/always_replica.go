package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var alwaysReplica = pitfall{
	name:  "always_replica",
	title: "All reads to replicas, always",
	done: "Replay stands still on both replicas, as it does behind a long report. 100 customers place an order and look at their list; " +
		"100 others, who have ordered nothing, look at theirs.",
	instead: "Who has written reads from a server that has the write: a replica as soon as it does, the primary until then. Who has written nothing loses nothing. " +
		"What must be current whoever wrote it (a balance, the last book) is `Fresh`.",
	show: showAlwaysReplica,
}

// order is what a customer has bought.
type order struct {
	ID       int64
	Customer int
}

const orders = `CREATE TABLE orders (id bigserial PRIMARY KEY, customer bigint)`

func showAlwaysReplica(ctx context.Context, s *stage.Stage) ([]finding, error) {
	const customers = 100
	if err := s.Prepare(ctx, orders); err != nil {
		return nil, err
	}
	missing := func(db *gorm.DB, from int) (n int, err error) {
		for c := from; c < from+customers; c++ {
			db := db.WithContext(stage.Customer(ctx))
			if err := db.Create(&order{Customer: c}).Error; err != nil {
				return 0, err
			}
			var list []order
			if err := db.Where("customer = ?", c).Find(&list).Error; err != nil {
				return 0, err
			}
			if len(list) == 0 {
				n++
			}
		}
		return n, nil
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
	lost, err := missing(naive, 1000)
	if err != nil {
		return nil, err
	}
	kept, err := missing(routed, 2000)
	if err != nil {
		return nil, err
	}
	onReplicas := 0
	for c := 3000; c < 3000+customers; c++ {
		tx := routed.WithContext(stage.Customer(ctx)).Where("customer = ?", c).Find(&[]order{})
		if tx.Error != nil {
			return nil, tx.Error
		}
		if d, ok := readsplit.DecisionOf(tx); ok && d.Replica {
			onReplicas++
		}
	}
	const what = "customers who miss the order that they have just placed"
	return []finding{
		{"dbresolver", what, lost, customers},
		{"readsplit", what, kept, customers},
		{"readsplit", "reads of the others on replicas", onReplicas, customers},
	}, nil
}
