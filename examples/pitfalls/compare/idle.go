package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var idle = behaviour{
	name:  "idle",
	title: "An application that does nothing: connections, and statements sent",
	story: "dbresolver has a pool for each server, and asks nobody anything.",
	ours: "A connection more to each server is for the questions on which all else rests, and one to the primary, now and then, for its catalogue. While no statement runs, a server is asked every 0.8 s (`IdleSampleEvery`), else five times a second. " +
		"[What that costs, and how to turn it down](waiting.md).",
	held: []test{{"config_fields_test.go", "TestConfigEveryField"}},
	show: showIdle,
}

func showIdle(ctx context.Context, s *stage.Stage, sz size) (pair, error) {
	if err := s.Prepare(ctx, orders); err != nil {
		return pair{}, err
	}
	before, err := watch(ctx, s, 0)
	if err != nil {
		return pair{}, err
	}
	naive, err := s.DBResolver(s.Cluster.Replicas()...)
	if err != nil {
		return pair{}, err
	}
	silent, err := fallSilent(ctx, s, naive, sz.idle)
	if err != nil {
		return pair{}, err
	}
	routed, _, err := s.Split(ctx, stage.Defaults, s.Cluster.Replicas()...)
	if err != nil {
		return pair{}, err
	}
	asking, err := fallSilent(ctx, s, routed, sz.idle)
	if err != nil {
		return pair{}, err
	}
	few, more := silent.connections-before.connections, asking.connections-silent.connections
	say := func(connections, statements int) string {
		return fmt.Sprintf("%d connections; %.1f statements a second", connections, float64(statements)/sz.idle.Seconds())
	}
	return pair{
		cell{say(few, silent.statements), silent.statements == 0 && few < more},
		cell{say(more, asking.statements), asking.statements > 0},
	}, nil
}

// fallSilent uses each pool, and watches when the application has done nothing for a while.
func fallSilent(ctx context.Context, s *stage.Stage, db *gorm.DB, d time.Duration) (activity, error) {
	for range 30 {
		if err := errors.Join(db.Create(&order{}).Error, db.Find(&[]order{}).Error); err != nil {
			return activity{}, err
		}
	}
	began := time.Now()
	if err := stage.Eventually(ctx, "the silence to last", func() bool { return time.Since(began) >= d }); err != nil {
		return activity{}, err
	}
	return watch(ctx, s, d)
}

// activity is what the servers see of a database.
type activity struct{ connections, statements int }

// watch counts for a while what begins on the servers. It looks so often that each server
// has at most one statement of a connection between two looks.
func watch(ctx context.Context, s *stage.Stage, d time.Duration) (seen activity, err error) {
	began := time.Now()
	statements := map[string]bool{}
	look := func() {
		connections := 0
		for _, server := range s.Cluster.Servers() {
			rows, failed := server.DB().QueryContext(ctx, "SELECT pid, query_start FROM pg_stat_activity WHERE datname = $1", s.Database)
			if failed != nil {
				err = errors.Join(err, failed)
				return
			}
			for rows.Next() {
				var pid int
				var at *time.Time
				err = errors.Join(err, rows.Scan(&pid, &at))
				connections++
				if at != nil && at.After(began) {
					statements[fmt.Sprint(server.Name(), pid, at)] = true
				}
			}
			err = errors.Join(err, rows.Err())
		}
		seen = activity{max(seen.connections, connections), len(statements)}
	}
	waited := stage.Eventually(ctx, "the servers to be watched", func() bool {
		look()
		return err != nil || time.Since(began) >= d
	})
	return seen, errors.Join(err, waited)
}
