package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var staleList = behaviour{
	name:  "stale_list",
	title: "Others look at the list; replay paused",
	story: "Somebody writes a row every 20 ms, and a reader who has written nothing looks at the newest. A long report, a full disk or an administrator has stopped replay. Measured is how old what a read shows gets: the age of the oldest row that was committed before it began and that it lacks. " +
		"To dbresolver a replica is a replica: the list grows as old as the pause is long, without an error and without a line in the log.",
	ours: "`MaxLag` (2 s) bounds the age of what any read shows, by a proven upper bound at the moment of the decision. Past it the primary serves, and a line of the log for each replica says so.",
	held: []test{{"rule_lag_test.go", "TestR05NothingOlderThanTheBound"}},
	show: showStaleList,
}

// maxLag is readsplit's default.
const maxLag = 2 * time.Second

func showStaleList(ctx context.Context, s *stage.Stage, sz size) (p pair, err error) {
	if err := s.Prepare(ctx, `CREATE TABLE beats (id bigserial PRIMARY KEY)`); err != nil {
		return pair{}, err
	}
	var told lines
	s.Logger = &told
	naive, err := s.DBResolver(s.Cluster.Replicas()...)
	if err != nil {
		return pair{}, err
	}
	var alsoTold lines
	s.Logger = &alsoTold
	routed, _, err := s.Split(ctx, stage.Defaults, s.Cluster.Replicas()...)
	if err != nil {
		return pair{}, err
	}
	s.Logger = logger.Discard
	past, err := s.Open(s.Cluster.Primary())
	if err != nil {
		return pair{}, err
	}
	w := &writer{past: past}
	defer w.start(ctx)(&err)
	if err := w.written(ctx, 1); err != nil {
		return pair{}, err
	}
	if err := s.Cluster.WaitCaughtUp(ctx); err != nil {
		return pair{}, err
	}
	for _, r := range s.Cluster.Replicas() {
		if _, err := r.PauseReplay(ctx); err != nil {
			return pair{}, err
		}
	}
	told.n.Store(0)
	alsoTold.n.Store(0)

	var oldest, oldestToo time.Duration
	for began := time.Now(); time.Since(began) < sz.pause; {
		for db, oldest := range map[*gorm.DB]*time.Duration{naive: &oldest, routed: &oldestToo} {
			at := time.Now()
			var newest int
			if err := db.WithContext(stage.Customer(ctx)).Raw("SELECT coalesce(max(id), 0) FROM beats").Scan(&newest).Error; err != nil {
				return pair{}, err
			}
			*oldest = max(*oldest, w.age(newest, at))
		}
	}
	say := func(oldest time.Duration, told int64) string {
		return fmt.Sprintf("up to %.1f s old, after %g s; %d lines of log", oldest.Seconds(), sz.pause.Seconds(), told)
	}
	return pair{
		cell{say(oldest, told.n.Load()), oldest > sz.pause-time.Second && told.n.Load() == 0},
		cell{say(oldestToo, alsoTold.n.Load()), oldestToo <= maxLag && alsoTold.n.Load() > 0},
	}, nil
}

// writer commits a row every 20 ms, and remembers when each was there.
type writer struct {
	past *gorm.DB
	mu   sync.Mutex
	at   []time.Time // of the row with this id, less 1
}

// start returns what ends it.
func (w *writer) start(ctx context.Context) func(err *error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			if err := w.past.WithContext(ctx).Exec("INSERT INTO beats DEFAULT VALUES").Error; err != nil {
				ended <- err
				return
			}
			w.mu.Lock()
			w.at = append(w.at, time.Now())
			w.mu.Unlock()
			select {
			case <-tick.C:
			case <-ctx.Done():
				ended <- nil
				return
			}
		}
	}()
	return func(err *error) {
		ended := func() error {
			stopped := ctx.Err() != nil // by somebody else
			cancel()
			if failed := <-ended; failed != nil && (stopped || !errors.Is(failed, context.Canceled)) {
				return failed
			}
			return nil
		}()
		if *err == nil {
			*err = ended
		}
	}
}

// written waits until there are so many rows.
func (w *writer) written(ctx context.Context, n int) error {
	return stage.Eventually(ctx, "rows to be written", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.at) >= n
	})
}

// age is how long the first row after newest had been there at a time.
func (w *writer) age(newest int, at time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if newest >= len(w.at) {
		return 0
	}
	return max(0, at.Sub(w.at[newest]))
}

// lines counts what an application's log says at GORM's usual level.
type lines struct{ n atomic.Int64 }

func (l *lines) LogMode(logger.LogLevel) logger.Interface { return l }
func (l *lines) Info(context.Context, string, ...any)     {}
func (l *lines) Warn(context.Context, string, ...any)     { l.n.Add(1) }
func (l *lines) Error(context.Context, string, ...any)    { l.n.Add(1) }
func (l *lines) Trace(_ context.Context, _ time.Time, _ func() (string, int64), err error) {
	if err != nil {
		l.n.Add(1)
	}
}
