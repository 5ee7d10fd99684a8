package main

import (
	"context"
	"fmt"
	"sync"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var ownWrite = behaviour{
	name:  "own_write",
	title: "A read right after a write; all servers are well",
	story: "Four customers place orders one after the other, and after each look at their list. Nothing is paused or slow: a replica is behind by the time that a commit takes to get there, " +
		"and a read that follows at once is as quick as that.",
	ours: "The read asks for a position, and takes a replica that has it, waits some milliseconds for one, or runs on the primary.",
	held: []test{{"trap_commit_test.go", "TestT13WritesAreSeenByTheirSession"}},
	show: showOwnWrite,
}

// order is what a customer has bought.
type order struct {
	ID       int64
	Customer int
}

const orders = `CREATE TABLE orders (id bigserial PRIMARY KEY, customer bigint)`

func showOwnWrite(ctx context.Context, s *stage.Stage, sz size) (pair, error) {
	if err := s.Prepare(ctx, orders+`; CREATE INDEX ON orders (customer)`); err != nil {
		return pair{}, err
	}
	naive, err := s.DBResolver(s.Cluster.Replicas()...)
	if err != nil {
		return pair{}, err
	}
	routed, plugin, err := s.Split(ctx, stage.Defaults, s.Cluster.Replicas()...)
	if err != nil {
		return pair{}, err
	}
	lost, err := shop(ctx, naive, 0, sz.orders)
	if err != nil {
		return pair{}, err
	}
	before := plugin.Status()
	kept, err := shop(ctx, routed, customers, sz.orders)
	if err != nil {
		return pair{}, err
	}
	after := plugin.Status()
	onReplicas, onPrimary := after.ReplicaReads-before.ReplicaReads, after.PrimaryReads-before.PrimaryReads
	const what = "missing"
	p := pair{lost.cell(what, lost.some()), kept.cell(what, kept.none())}
	p.readsplit.says += fmt.Sprintf("; %.0f %% of the lists from replicas", 100*float64(onReplicas)/float64(onReplicas+onPrimary))
	return p, nil
}

const customers = 4

// shop has customers order and look, and counts whose order is not in their list.
func shop(ctx context.Context, db *gorm.DB, first, orders int) (missing tally, err error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for c := first; c < first+customers; c++ {
		all.Go(func() {
			db := db.WithContext(stage.Customer(ctx))
			for range orders / customers {
				placed := order{Customer: c}
				var list []order
				failed := db.Create(&placed).Error
				if failed == nil {
					failed = db.Where("customer = ?", c).Order("id DESC").Limit(10).Find(&list).Error
				}
				mu.Lock()
				if failed != nil {
					err = failed
				}
				missing.add(len(list) == 0 || list[0].ID != placed.ID, nil)
				mu.Unlock()
				if failed != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return missing, err
}
