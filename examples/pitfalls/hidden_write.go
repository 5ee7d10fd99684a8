package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
	"github.com/readsplit/readsplit/testenv"
)

var hiddenWrite = pitfall{
	name:  "hidden_write",
	title: "A write that looks like a read",
	done: "Statements that begin with SELECT and do more than reading: a function that inserts, `nextval`, `FOR UPDATE SKIP LOCKED`, each 10 times. " +
		"And one that no replica refuses: two processes, each with its own replica, take the advisory lock that only one may hold, for 5 jobs. Replicas are healthy.",
	instead: "A lexer reads the whole statement, and the catalogue of the database says which functions may write: all but what is STABLE or IMMUTABLE runs on the primary. " +
		"What a replica refuses all the same runs there too, and counts as a write of its session.",
	show: showHiddenWrite,
}

// disguises are what a look at the first word takes for reads.
var disguises = []string{
	"SELECT place_order(7)",
	"SELECT nextval('numbers')",
	"SELECT id FROM orders LIMIT 1 FOR UPDATE SKIP LOCKED",
}

func showHiddenWrite(ctx context.Context, s *stage.Stage) ([]finding, error) {
	const each, jobs = 10, 5
	err := s.Prepare(ctx, orders+`; CREATE SEQUENCE numbers; INSERT INTO orders (customer) VALUES (1);
		CREATE FUNCTION place_order(bigint) RETURNS bigint LANGUAGE sql AS 'INSERT INTO orders (customer) VALUES ($1) RETURNING id'`)
	if err != nil {
		return nil, err
	}
	failed := func(db *gorm.DB) (n int) {
		for _, statement := range disguises {
			for range each {
				var answer int64
				if db.WithContext(stage.Customer(ctx)).Raw(statement).Scan(&answer).Error != nil || answer == 0 {
					n++
				}
			}
		}
		return n
	}
	// twice counts the jobs whose lock both processes were given. Each keeps to a single
	// connection per server, since such a lock belongs to its connection.
	twice := func(one, other *gorm.DB, from int) (n int, err error) {
		for job := from; job < from+jobs; job++ {
			holders := 0
			for _, process := range []*gorm.DB{one, other} {
				var got bool
				if err := process.WithContext(ctx).Raw("SELECT pg_try_advisory_lock(?)", job).Scan(&got).Error; err != nil {
					return 0, err
				}
				if got {
					holders++
				}
			}
			if holders == 2 {
				n++
			}
		}
		return n, nil
	}

	replicas := s.Cluster.Replicas()
	naive, err := processes(replicas, func(r *testenv.Server) (*gorm.DB, error) { return s.DBResolver(r) })
	if err != nil {
		return nil, err
	}
	routed, err := processes(replicas, func(r *testenv.Server) (*gorm.DB, error) {
		db, _, err := s.Split(ctx, nil, r)
		return db, err
	})
	if err != nil {
		return nil, err
	}
	lost, kept := failed(naive[0]), failed(routed[0])
	both, err := twice(naive[0], naive[1], 0)
	if err != nil {
		return nil, err
	}
	one, err := twice(routed[0], routed[1], jobs)
	const what = "statements that fail"
	const held = "jobs whose lock two processes hold at once, without an error"
	return []finding{
		{"dbresolver", what, lost, each * len(disguises)},
		{"dbresolver", held, both, jobs},
		{"readsplit", what, kept, each * len(disguises)},
		{"readsplit", held, one, jobs},
	}, err
}

// processes opens one for each of the replicas.
func processes(replicas []*testenv.Server, open func(*testenv.Server) (*gorm.DB, error)) (all []*gorm.DB, err error) {
	for _, r := range replicas {
		db, err := open(r)
		if err != nil {
			return nil, err
		}
		all = append(all, db)
	}
	return all, nil
}
