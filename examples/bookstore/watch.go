package main

import (
	"context"
	"sync"
	"time"
)

// watchEvery is the time between two questions of a watch.
const watchEvery = 5 * time.Millisecond

// span is a time in which every answer said that the fault was in force: from the
// end of the first question to the beginning of the last one.
type span struct{ from, to time.Time }

// watch asks the servers again and again whether a fault is in force, while the
// reads run that it is meant for. Without it a fault that ended early would pass
// for one that did no harm. One goroutine, which stop joins.
type watch struct {
	inForce func(ctx context.Context) bool
	cancel  context.CancelFunc
	running sync.WaitGroup
	first   chan struct{} // closed when the fault was first seen

	// Owned by the goroutine until it is joined.
	spans []span
	open  bool // the last span may still grow
	seen  bool
}

// startWatch begins to ask. The first answer is there when it returns.
func startWatch(ctx context.Context, inForce func(ctx context.Context) bool) *watch {
	w := &watch{inForce: inForce, first: make(chan struct{})}
	ctx, w.cancel = context.WithCancel(ctx)
	w.ask(ctx)
	w.running.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				w.ask(ctx)
			}
		}
	})
	return w
}

// confirmed is closed once the servers have said that the fault is in force.
func (w *watch) confirmed() <-chan struct{} { return w.first }

// stop asks once more and returns when the fault was in force.
func (w *watch) stop(ctx context.Context) []span {
	w.cancel()
	w.running.Wait()
	w.ask(ctx)
	return w.spans
}

func (w *watch) ask(ctx context.Context) {
	asked := time.Now()
	yes := w.inForce(ctx)
	if ctx.Err() != nil {
		return // no answer: the watch ends
	}
	switch {
	case !yes:
		w.open = false
	case w.open:
		w.spans[len(w.spans)-1].to = asked
	default:
		now := time.Now()
		w.spans = append(w.spans, span{now, now})
		w.open = true
		if !w.seen {
			w.seen = true
			close(w.first)
		}
	}
}

// within reports whether the reading began and ended in one of the spans.
func (r *reading) within(spans []span) bool {
	for _, s := range spans {
		if !r.began.Before(s.from) && !r.ended.After(s.to) {
			return true
		}
	}
	return false
}

// across reports whether the reading was under way when something happened that
// began and ended at these times.
func (r *reading) across(s span) bool {
	return !s.to.IsZero() && r.began.Before(s.to) && r.ended.After(s.from)
}
