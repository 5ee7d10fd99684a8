package observe

import (
	"context"
	"sync"
)

// Ring keeps the newest decisions, retries and changes of state, for a page or a person
// at a debugger. It is safe for concurrent use, and makes no allocation per event.
type Ring struct {
	decisions ring[Decision]
	retries   ring[Retry]
	changes   ring[Change]
}

// NewRing returns a ring for n of each kind; n below 1 is 1.
func NewRing(n int) *Ring {
	n = max(n, 1)
	return &Ring{decisions: newRing[Decision](n), retries: newRing[Retry](n), changes: newRing[Change](n)}
}

// ObserveDecision implements [DecisionObserver].
func (r *Ring) ObserveDecision(_ context.Context, d Decision) { r.decisions.add(d) }

// ObserveRetry implements [RetryObserver].
func (r *Ring) ObserveRetry(_ context.Context, e Retry) { r.retries.add(e) }

// ObserveChange implements [ChangeObserver].
func (r *Ring) ObserveChange(c Change) { r.changes.add(c) }

// Decisions returns the newest decisions, the newest first.
func (r *Ring) Decisions() []Decision { return r.decisions.all() }

// Retries returns the newest retries, the newest first.
func (r *Ring) Retries() []Retry { return r.retries.all() }

// Changes returns the newest changes of state, the newest first.
func (r *Ring) Changes() []Change { return r.changes.all() }

type ring[T any] struct {
	mu   *sync.Mutex
	list []T
	n    uint64 // how many there have been
}

func newRing[T any](n int) ring[T] { return ring[T]{mu: new(sync.Mutex), list: make([]T, n)} }

func (r *ring[T]) add(e T) {
	r.mu.Lock()
	r.list[r.n%uint64(len(r.list))] = e
	r.n++
	r.mu.Unlock()
}

func (r *ring[T]) all() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(r.n, uint64(len(r.list)))
	all := make([]T, n)
	for i := range n {
		all[i] = r.list[(r.n-1-i)%uint64(len(r.list))]
	}
	return all
}
