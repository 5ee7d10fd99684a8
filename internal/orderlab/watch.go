package orderlab

import (
	"context"
	"sync"
	"time"
)

// watchEvery is the time between two questions of a watch.
const watchEvery = 5 * time.Millisecond

// Span is a time in which every answer said that the fault was in force: from the
// end of the first question to the beginning of the last one.
type Span struct{ From, To time.Time }

// Watch asks the servers again and again whether a fault is in force, while the
// reads run that it is meant for. Without it a fault that ended early would pass
// for one that did no harm. One goroutine, which stop joins.
type Watch struct {
	inForce func(ctx context.Context) bool
	cancel  context.CancelFunc
	running sync.WaitGroup
	first   chan struct{} // closed when the fault was first seen

	// Owned by the goroutine until it is joined.
	spans []Span
	open  bool // the last span may still grow
	seen  bool
}

// startWatch begins to ask. The first answer is there when it returns.
func startWatch(ctx context.Context, inForce func(ctx context.Context) bool) *Watch {
	w := &Watch{inForce: inForce, first: make(chan struct{})}
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

// Confirmed is closed once the servers have said that the fault is in force.
func (w *Watch) Confirmed() <-chan struct{} { return w.first }

// stop asks once more and returns when the fault was in force.
func (w *Watch) stop(ctx context.Context) []Span {
	w.cancel()
	w.running.Wait()
	w.ask(ctx)
	return w.spans
}

func (w *Watch) ask(ctx context.Context) {
	asked := time.Now()
	yes := w.inForce(ctx)
	if ctx.Err() != nil {
		return // no answer: the watch ends
	}
	switch {
	case !yes:
		w.open = false
	case w.open:
		w.spans[len(w.spans)-1].To = asked
	default:
		now := time.Now()
		w.spans = append(w.spans, Span{now, now})
		w.open = true
		if !w.seen {
			w.seen = true
			close(w.first)
		}
	}
}

// within reports whether the reading began and ended in one of the spans.
func (r *reading) within(spans []Span) bool {
	for _, s := range spans {
		if !r.began.Before(s.From) && !r.ended.After(s.To) {
			return true
		}
	}
	return false
}

// across reports whether the reading was under way when something happened that
// began and ended at these times.
func (r *reading) across(s Span) bool {
	return !s.To.IsZero() && r.began.Before(s.To) && r.ended.After(s.From)
}
