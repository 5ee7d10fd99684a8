package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var advisoryLock = behaviour{
	name:  "advisory_lock",
	title: "`pg_try_advisory_lock` in two processes",
	story: "Each of two processes asks for the lock of a job, and works if it gets it. Servers are well. The question is a SELECT, and no replica refuses it: locks are kept by each server for itself, " +
		"and processes whose questions reach different replicas both get it. Here each process has one of the two; with both, a coin decides.",
	ours: "Functions that take locks run on the primary, as all do that the database does not call STABLE or IMMUTABLE.",
	held: []test{{"trap_statement_test.go", "TestRawStatements"}},
	show: showAdvisoryLock,
}

func showAdvisoryLock(ctx context.Context, s *stage.Stage, _ size) (pair, error) {
	const jobs = 20
	if err := s.Prepare(ctx, orders); err != nil {
		return pair{}, err
	}
	processes := func(open func(nth int) (*gorm.DB, error)) (all [2]*gorm.DB, err error) {
		for i := range all {
			if all[i], err = open(i); err != nil {
				return all, err
			}
		}
		return all, nil
	}
	naive, err := processes(func(nth int) (*gorm.DB, error) { return s.DBResolver(s.Cluster.Replica(nth)) })
	if err != nil {
		return pair{}, err
	}
	routed, err := processes(func(nth int) (*gorm.DB, error) {
		db, _, err := s.Split(ctx, nil, s.Cluster.Replica(nth))
		return db, err
	})
	if err != nil {
		return pair{}, err
	}
	return each(naive[0], routed[0], "held by both", func(one *gorm.DB, nth int) (twice tally, err error) {
		other := [2]*gorm.DB{naive[1], routed[1]}[nth]
		for job := jobs * nth; job < jobs*(nth+1); job++ {
			var holders [2]bool
			for i, process := range []*gorm.DB{one, other} {
				if err := process.WithContext(stage.Customer(ctx)).Raw("SELECT pg_try_advisory_lock(?)", job).Scan(&holders[i]).Error; err != nil {
					return twice, err
				}
			}
			twice.add(holders[0] && holders[1], nil)
		}
		return twice, nil
	})
}
