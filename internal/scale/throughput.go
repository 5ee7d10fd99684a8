package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/internal/chart"
	"github.com/readsplit/readsplit/testenv"
)

const (
	serverPlaces = 8                     // connections to each server
	readTakes    = 40 * time.Millisecond // asleep on the server: what limits it is no core
	readersOf    = 96
)

// throughput measures reads against 0, 1, 2 and 4 replicas, each server limited to the
// same capacity: as many connections, each read as long on all. 0 is the primary alone,
// by plain GORM.
func throughput(o options) (table string, c *chart.Chart, err error) {
	most := float64(serverPlaces) / readTakes.Seconds()
	c = &chart.Chart{Title: "reads a second, every server with the same capacity", XName: "replicas", YName: "reads/s", Linear: true}
	model, drawn := chart.Line{Name: "replicas x capacity"}, chart.Line{Name: "measured"}
	var lines [][]string
	err = with(o, 4, func(cluster *testenv.Cluster) error {
		if err := nap(cluster); err != nil {
			return err
		}
		one := 0.0
		for _, n := range []int{0, 1, 2, 4} {
			replicas := n
			if n == 0 {
				replicas = -1
			}
			db, err := open(cluster, serverPlaces, replicas, func(c *readsplit.Config) {
				c.SampleTimeout, c.MaxSampleAge, c.MaxLag = 10*time.Second, 10*time.Second, 10*time.Second
			})
			if err != nil {
				return err
			}
			rate, share, err := read(db, o.length)
			if err := db.close(); err != nil {
				return err
			}
			if err != nil {
				return err
			}
			if n <= 1 {
				one = rate
			}
			c.X, drawn.Y, model.Y = append(c.X, float64(n)), append(drawn.Y, rate), append(model.Y, most*float64(max(n, 1)))
			lines = append(lines, []string{fmt.Sprint(n), fmt.Sprintf("%.0f", rate), fmt.Sprintf("%.0f", most*float64(max(n, 1))), fmt.Sprintf("%.2f", rate/one), fmt.Sprintf("%.1f %%", 100*share)})
		}
		return nil
	})
	c.Lines = []chart.Line{drawn, model}
	return rows([]string{"replicas", "reads/s", "at most, by the limit", "times one replica", "on replicas"}, lines), c, err
}

// nap makes a function that sleeps and, as the catalogue has it, reads: pg_sleep itself
// is sent to the primary.
func nap(c *testenv.Cluster) error {
	db, err := open(c, 1, -1, nil)
	if err != nil {
		return err
	}
	err = db.Exec("CREATE FUNCTION nap(s float8) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN PERFORM pg_sleep(s); RETURN 1; END'").Error
	if err = errors.Join(err, db.close()); err != nil {
		return err
	}
	return c.WaitCaughtUp(context.Background())
}

// read lets many read for a while and returns how many reads a second there were, and
// the share of them on replicas.
func read(db *opened, length time.Duration) (rate, share float64, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var served, onReplica atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	text := fmt.Sprintf("SELECT nap(%g)", readTakes.Seconds())
	for range readersOf {
		all.Go(func() {
			mine := db.WithContext(readsplit.WithSession(ctx, readsplit.NewSession()))
			for ctx.Err() == nil {
				var one int
				tx := mine.Raw(text).Scan(&one)
				if tx.Error != nil {
					if ctx.Err() == nil {
						failed.CompareAndSwap(nil, &tx.Error)
					}
					return
				}
				served.Add(1)
				if d, ok := readsplit.DecisionOf(tx); ok && d.Replica {
					onReplica.Add(1)
				}
			}
		})
	}
	counted := time.NewTimer(time.Second) // pools fill meanwhile
	<-counted.C
	began, first, there := time.Now(), served.Load(), onReplica.Load()
	counted.Reset(length)
	<-counted.C
	reads, took := served.Load()-first, time.Since(began)
	replicas := onReplica.Load() - there
	cancel()
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, 0, *err
	}
	return float64(reads) / took.Seconds(), float64(replicas) / float64(max(reads, 1)), nil
}
