package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/internal/chart"
	"github.com/readsplit/readsplit/testenv"
)

// crowd is how many goroutines read at once, and eachReads how often each does.
const (
	crowd     = 10_000
	eachReads = 10
)

// readers measures 10,000 readers in one process, with as many connections in all by
// plain GORM and by the plugin: what the plugin adds is the difference.
func readers(o options) (string, *chart.Chart, error) {
	var lines [][]string
	err := with(o, 2, func(cluster *testenv.Cluster) error {
		for _, x := range []struct {
			name           string
			pool, replicas int
		}{{"plain GORM, 64 connections", 64, -1}, {"readsplit, 32 to each of two replicas", 32, 2}} {
			before, goroutines := memory(), runtime.NumGoroutine()
			db, err := open(cluster, x.pool, x.replicas, func(c *readsplit.Config) {
				c.SampleTimeout, c.MaxSampleAge, c.MaxLag = 10*time.Second, 10*time.Second, 10*time.Second
			})
			if err != nil {
				return err
			}
			var best []string
			cheapest := time.Hour
			for range 3 { // others on the machine can only make it dearer
				line, cost, err := crowded(db, x.name, before, goroutines)
				if err != nil {
					return err
				}
				if cost < cheapest {
					best, cheapest = line, cost
				}
			}
			lines = append(lines, best)
			if err := db.close(); err != nil {
				return err
			}
		}
		return nil
	})
	return rows([]string{"10,000 readers at once", "reads/s", "p50", "p99", "processor for each read", "memory while they wait", "goroutines beside theirs"}, lines), nil, err
}

func crowded(db *opened, name string, before uint64, goroutines int) ([]string, time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var wait sync.WaitGroup
	start, gone := make(chan struct{}), make(chan struct{}, crowd)
	for range crowd {
		wait.Go(func() {
			mine := db.WithContext(readsplit.WithSession(context.Background(), readsplit.NewSession()))
			took := make([]time.Duration, 0, eachReads)
			gone <- struct{}{}
			<-start
			var err error
			for range eachReads {
				began := time.Now()
				var one int
				if err = mine.Raw("SELECT 1 AS one").Scan(&one).Error; err != nil {
					break
				}
				took = append(took, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			if err != nil {
				failed = err
			}
		})
	}
	for range crowd {
		<-gone
	}
	began, used := time.Now(), processor()
	close(start)
	half := time.NewTimer(200 * time.Millisecond) // all of them are at it
	<-half.C
	held, others := memory()-before, runtime.NumGoroutine()-goroutines
	wait.Wait()
	took, cost := time.Since(began), processor()-used
	if failed != nil {
		return nil, 0, failed
	}
	slices.Sort(all)
	each := cost / time.Duration(len(all))
	at := func(q float64) time.Duration {
		return all[int(q*float64(len(all)-1))].Round(100 * time.Microsecond)
	}
	return []string{name, fmt.Sprintf("%.0f", float64(len(all))/took.Seconds()), at(0.5).String(), at(0.99).String(),
		each.Round(100 * time.Nanosecond).String(), fmt.Sprintf("%.0f MB", float64(held)/1e6), fmt.Sprint(max(others-crowd, 0))}, each, nil
}
