package overload

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// reclaimEvery is how often those who wait look for places whose holders could not
// give them back.
const reclaimEvery = 2 * time.Millisecond

// Gate has a number of places and lets nobody in beyond them. A free place goes to
// whoever waits at the highest priority, and among equals to who has waited
// longest. It starts no goroutine; entering a gate with room allocates nothing and
// takes no lock. Use [NewGate].
type Gate struct {
	size    int64
	reclaim func()

	inUse   atomic.Int64
	waiting atomic.Int64

	mu     sync.Mutex // guards queues and each waiter's let
	queues [queueCount]queue

	waited    atomic.Uint64
	waitedFor atomic.Int64
	refused   atomic.Uint64
}

// The queues from the last to the first served. Whoever was let in before and goes
// on comes before everybody new: otherwise the new ones would fill the places again
// and again, and nothing that was begun would be ended.
const (
	queueLow = iota
	queueNormal
	queueHigh
	queueAgain
	queueCount
)

// queue is a list of waiters, the longest waiting first.
type queue struct{ first, last *waiter }

type waiter struct {
	let        chan struct{} // closed with a place
	in         bool          // let was closed
	prev, next *waiter
}

// NewGate returns a gate with size places, at least one. reclaim, which may be nil,
// is called by those who find no room, and again while they wait: it looks for
// places whose holders are gone and calls [Gate.Leave] for each.
func NewGate(size int, reclaim func()) *Gate {
	return &Gate{size: int64(max(size, 1)), reclaim: reclaim}
}

// Enter takes a place, waiting for one for at most longest (0: not at all) or until
// ctx ends. The error is a [*BusyError].
func (g *Gate) Enter(ctx context.Context, p Priority, longest time.Duration) error {
	q := queueNormal
	switch {
	case p > Normal:
		q = queueHigh
	case p < Normal:
		q = queueLow
	}
	return g.enter(ctx, q, longest)
}

// Again is Enter for who was let in before and goes on with what was begun: it
// comes before everybody who is new, whatever their priority.
func (g *Gate) Again(ctx context.Context, longest time.Duration) error {
	return g.enter(ctx, queueAgain, longest)
}

// TryEnter takes a place if there is one that nobody waits for.
func (g *Gate) TryEnter() bool {
	if g.waiting.Load() == 0 && g.take() {
		return true
	}
	if g.reclaim != nil {
		g.reclaim()
	}
	return g.waiting.Load() == 0 && g.take()
}

// take takes a place if there is one.
func (g *Gate) take() bool {
	for {
		n := g.inUse.Load()
		if n >= g.size {
			return false
		}
		if g.inUse.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Leave gives a place back. Call it once for each place.
func (g *Gate) Leave() {
	g.inUse.Add(-1)
	// Who begins to wait counts as waiting before looking for a place: either they
	// find this one, or they are found here.
	if g.waiting.Load() > 0 {
		g.mu.Lock()
		g.letIn()
		g.mu.Unlock()
	}
}

// letIn gives free places to those who wait. The caller holds mu.
func (g *Gate) letIn() {
	for i := queueCount - 1; i >= 0; i-- {
		for q := &g.queues[i]; q.first != nil; {
			if !g.take() {
				return
			}
			w := q.first
			g.remove(q, w)
			w.in = true
			close(w.let)
		}
	}
}

func (g *Gate) add(q *queue, w *waiter) {
	g.waiting.Add(1)
	if w.prev = q.last; w.prev == nil {
		q.first = w
	} else {
		w.prev.next = w
	}
	q.last = w
}

func (g *Gate) remove(q *queue, w *waiter) {
	g.waiting.Add(-1)
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
}

func (g *Gate) enter(ctx context.Context, q int, longest time.Duration) error {
	if g.TryEnter() {
		return nil
	}
	if longest <= 0 {
		return g.refuse(0, nil)
	}
	began := time.Now()
	w := &waiter{let: make(chan struct{})}
	g.mu.Lock()
	g.add(&g.queues[q], w)
	g.letIn() // a place may have become free since
	g.mu.Unlock()

	over := time.NewTimer(longest)
	defer over.Stop()
	var look <-chan time.Time
	if g.reclaim != nil {
		tick := time.NewTicker(reclaimEvery)
		defer tick.Stop()
		look = tick.C
	}
	for {
		select {
		case <-w.let:
			g.passed(began)
			return nil
		case <-look:
			g.reclaim()
		case <-over.C:
			if g.gaveUp(q, w) {
				return g.refuse(g.passed(began), nil)
			}
			g.passed(began)
			return nil // a place came at the last moment
		case <-ctx.Done():
			if !g.gaveUp(q, w) {
				g.Leave()
			}
			return g.refuse(g.passed(began), ctx.Err())
		}
	}
}

// gaveUp ends a wait, and reports false when a place was given meanwhile.
func (g *Gate) gaveUp(q int, w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.in {
		return false
	}
	g.remove(&g.queues[q], w)
	return true
}

func (g *Gate) passed(began time.Time) time.Duration {
	d := time.Since(began)
	g.waited.Add(1)
	g.waitedFor.Add(int64(d))
	return d
}

func (g *Gate) refuse(waited time.Duration, cause error) error {
	g.refused.Add(1)
	return &BusyError{
		Reads: int(g.size), Running: int(g.inUse.Load()), Waiting: int(g.waiting.Load()), Waited: waited, Cause: cause,
	}
}

// Status is what a gate, or the budget that it keeps, has done.
type Status struct {
	Reads   int // the budget; 0: no bound, and nothing is counted
	InUse   int // places that are taken now
	Waiting int // reads that wait for one now
	// Waited counts reads that had to wait, whatever came of it, and WaitedFor is
	// how long they did, together.
	Waited    uint64
	WaitedFor time.Duration
	// Refused counts reads that got ErrPrimaryBusy.
	Refused uint64
	// ServedStale counts reads that a replica served beyond the bounds on staleness
	// (Beyond: ServeStale).
	ServedStale uint64
}

// Status returns the numbers of now.
func (g *Gate) Status() Status {
	return Status{
		Reads: int(g.size), InUse: int(g.inUse.Load()), Waiting: int(g.waiting.Load()),
		Waited: g.waited.Load(), WaitedFor: time.Duration(g.waitedFor.Load()), Refused: g.refused.Load(),
	}
}
