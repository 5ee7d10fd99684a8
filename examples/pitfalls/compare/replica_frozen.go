package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var replicaFrozen = behaviour{
	name:  "replica_frozen",
	title: "One of two replicas freezes",
	story: "A virtual machine stands still, a disk hangs: the server takes connections and says nothing. Twenty readers ask at that moment, and give up after three seconds. " +
		"Without such a deadline they would wait for as long as the server is frozen; with it, half of all readers wait for it and get an error, again and again.",
	ours: "A replica that leaves two questions unanswered (`SampleTimeout`, 500 ms) is down, and reads in flight there are broken off and run elsewhere.",
	held: []test{{"rule_hang_test.go", "TestR15FrozenReplica"}},
	show: showReplicaFrozen,
}

func showReplicaFrozen(ctx context.Context, s *stage.Stage, _ size) (pair, error) {
	const readers, deadline = 20, 3 * time.Second
	if err := s.Prepare(ctx, orders); err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, stage.Defaults)
	if err != nil {
		return pair{}, err
	}
	freeze := func(db *gorm.DB) (hung tally, longest time.Duration, err error) {
		if err := serves(ctx, db, s.Cluster.Replica(0)); err != nil {
			return hung, 0, err
		}
		undo, err := s.Cluster.Replica(0).Freeze(ctx)
		if err != nil {
			return hung, 0, err
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		for range readers {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, deadline)
				defer cancel()
				began := time.Now()
				failed := db.WithContext(stage.Customer(ctx)).Limit(10).Find(&[]order{}).Error
				took := time.Since(began)
				mu.Lock()
				defer mu.Unlock()
				hung.add(failed != nil, nil)
				longest = max(longest, took)
				if failed != nil && ctx.Err() == nil {
					err = errors.Join(err, failed) // another error than the deadline's
				}
			})
		}
		all.Wait()
		return hung, longest, errors.Join(err, undo(), s.Cluster.WaitCaughtUp(ctx))
	}
	lost, _, err := freeze(naive)
	if err != nil {
		return pair{}, err
	}
	kept, longest, err := freeze(routed)
	what := fmt.Sprintf("without an answer after %.0f s", deadline.Seconds())
	p := pair{lost.cell(what, lost.some()), kept.cell(what, kept.none())}
	p.readsplit.says += fmt.Sprintf("; the longest took %.1f s", longest.Seconds())
	return p, err
}
