package orderlab

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Cue is something that happens when the workload comes to an order.
type Cue struct {
	Order int
	Do    func(ctx context.Context) error
	// Hold keeps the order, and all that come after it, until Do has returned.
	// Otherwise the clients go on while it happens, with reads in flight.
	Hold bool
	// Drain keeps them too, and does not begin Do before the orders that came before
	// have been served.
	Drain bool
	// Pause is the shortest time between two orders from here on; 0: as before.
	Pause time.Duration
}

// tickets hands out the numbers of the orders to the clients, and gives the cues.
// Its goroutines are those of cues that do not hold; wait joins them.
type tickets struct {
	ctx     context.Context // ends when the run has failed
	cancel  context.CancelCauseFunc
	total   int
	drawn   func(n int) // progress
	running sync.WaitGroup
	// serving are the orders that were drawn and not served yet. Only who holds the turn
	// adds one, or waits.
	serving sync.WaitGroup

	// turn is held by the client that draws. It is a channel because a cue that
	// holds may hold it for seconds: the others must be able to give up.
	turn chan struct{}
	next int
	cues []Cue
	// pause is the shortest time between two orders; last is when the newest began.
	pause time.Duration
	last  time.Time
}

func newTickets(ctx context.Context, total int, pause time.Duration, cues []Cue, drawn func(n int)) *tickets {
	t := &tickets{total: total, drawn: drawn, cues: slices.Clone(cues), turn: make(chan struct{}, 1), pause: pause}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	slices.SortStableFunc(t.cues, func(a, b Cue) int { return a.Order - b.Order })
	return t
}

// draw returns the number of the next order; ok is false when there is none, or
// the run has failed.
func (t *tickets) draw() (order int, ok bool) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-t.ctx.Done():
		return 0, false
	}
	if t.ctx.Err() != nil || t.next >= t.total {
		return 0, false
	}
	order = t.next
	t.next++
	for len(t.cues) > 0 && t.cues[0].Order <= order {
		c := t.cues[0]
		t.cues = t.cues[1:]
		if c.Pause > 0 {
			t.pause = c.Pause
		}
		if !t.give(c) {
			return 0, false
		}
	}
	if !t.pace() {
		return 0, false
	}
	t.drawn(order)
	t.serving.Add(1)
	return order, true
}

// served says that an order that was drawn is over.
func (t *tickets) served() { t.serving.Done() }

// pace waits until the next order may begin.
func (t *tickets) pace() (ok bool) {
	if wait := t.pause - time.Since(t.last); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-t.ctx.Done():
			return false
		}
	}
	t.last = time.Now()
	return true
}

func (t *tickets) give(c Cue) (ok bool) {
	if c.Drain {
		t.serving.Wait()
	}
	if c.Hold || c.Drain {
		if err := c.Do(t.ctx); err != nil {
			t.fail(err)
			return false
		}
		return true
	}
	t.running.Go(func() {
		if err := c.Do(t.ctx); err != nil {
			t.fail(err)
		}
	})
	return true
}

// fail ends the run: no client gets another ticket, and the cues are broken off.
// The first error counts; what it breaks off is no error of its own.
func (t *tickets) fail(err error) { t.cancel(err) }

// wait returns when every cue is over, with the error that ended the run.
func (t *tickets) wait() error {
	t.running.Wait()
	defer t.cancel(nil)
	return context.Cause(t.ctx)
}
