package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
	"github.com/readsplit/readsplit/testenv"
)

var replicaKilled = behaviour{
	name:  "replica_killed",
	title: "One of two replicas is killed",
	story: "Four readers look at a list, and the processes of one replica die among them. dbresolver keeps no account of who answers: as long as the replica is away, each read that the coin sends there fails.",
	ours:  "A read whose replica dies is run again on another, or on the primary; nobody sees an error. The replica is asked again when it is back.",
	held:  []test{{"fault_replica_test.go", "TestFaultReplicaGoesAndComesBack"}},
	show:  showReplicaKilled,
}

func showReplicaKilled(ctx context.Context, s *stage.Stage, sz size) (pair, error) {
	if err := s.Prepare(ctx, orders); err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, stage.Defaults)
	if err != nil {
		return pair{}, err
	}
	strike := func(db *gorm.DB) (failed tally, longest time.Duration, err error) {
		if err := serves(ctx, db, s.Cluster.Replica(0)); err != nil {
			return failed, 0, err
		}
		r := readers{db: db, n: 4}
		end := r.start(ctx)
		defer end()
		if err := r.until(ctx, 50); err != nil {
			return failed, 0, err
		}
		r.forget()
		undo, err := s.Cluster.Replica(0).Kill(ctx)
		if err != nil {
			return failed, 0, err
		}
		err = r.until(ctx, sz.reads)
		end()
		return r.failed, r.longest, errors.Join(err, undo(), s.Cluster.WaitCaughtUp(ctx))
	}
	lost, _, err := strike(naive)
	if err != nil {
		return pair{}, err
	}
	kept, longest, err := strike(routed)
	lost.first = nil // one of several, with ports
	p := pair{lost.cell("reads fail", lost.some()), kept.cell("reads fail", kept.none())}
	p.readsplit.says += fmt.Sprintf("; the longest took %d ms", longest.Milliseconds())
	return p, err
}

// readers read until they are told to stop.
type readers struct {
	db   *gorm.DB
	n    int
	done atomic.Int64

	mu      sync.Mutex
	failed  tally
	longest time.Duration
}

// start returns what ends them.
func (r *readers) start(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range r.n {
		all.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				err := r.db.WithContext(stage.Customer(ctx)).Limit(10).Find(&[]order{}).Error
				if ctx.Err() != nil {
					return // cancelled by end
				}
				took := time.Since(began)
				r.mu.Lock()
				r.failed.add(false, err)
				r.longest = max(r.longest, took)
				r.mu.Unlock()
				r.done.Add(1)
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// forget begins to count anew.
func (r *readers) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed, r.longest = tally{}, 0
}

// until waits for so many more reads.
func (r *readers) until(ctx context.Context, more int) error {
	goal := r.done.Load() + int64(more)
	return stage.Eventually(ctx, "readers to read", func() bool { return r.done.Load() >= goal })
}

// serves waits until reads go to a server: there is nothing to see when it goes before.
func serves(ctx context.Context, db *gorm.DB, server *testenv.Server) error {
	var failed error
	err := stage.Eventually(ctx, server.Name()+" serves", func() bool {
		var name string
		failed = db.WithContext(stage.Customer(ctx)).Raw("SELECT current_setting('cluster_name')").Scan(&name).Error
		return failed != nil || name == server.Name()
	})
	return errors.Join(err, failed)
}
