package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

const (
	writers = 8
	writes  = 100 // of each
	readers = 2
)

// concurrent has several writers for one user, not in order, and readers who must
// see at least what was acknowledged before they asked, and never go back.
func concurrent(e *env) {
	order := rand.New(rand.NewPCG(1, 2)).Perm(writers * writes)
	var acknowledged atomic.Uint64
	var writing, reading sync.WaitGroup
	over := make(chan struct{})
	for w := range writers {
		writing.Go(func() {
			for _, n := range order[w*writes : (w+1)*writes] {
				at := uint64(n + 1)
				if err := e.store.Advance(e.t.Context(), "ann", token(position(at))); err != nil {
					e.add("Advance by %d writers: %v", writers, err)
					return
				}
				raise(&acknowledged, at)
			}
		})
	}
	for range readers {
		reading.Go(func() {
			last := uint64(0)
			for {
				least := max(last, acknowledged.Load())
				last = e.readAtLeast(least)
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	writing.Wait()
	close(over)
	reading.Wait()
	e.readAtLeast(writers * writes)
}

func (e *env) readAtLeast(least uint64) (got uint64) {
	t, err := e.store.Load(e.t.Context(), "ann")
	if err != nil {
		e.add("Load while others write: %v", err)
		return least
	}
	if len(t.Positions) > 0 {
		got = uint64(t.Positions[0].LSN)
	}
	if got < least {
		e.add("Load says %d after %d was acknowledged or loaded", got, least)
		return least
	}
	return got
}

func raise(to *atomic.Uint64, v uint64) {
	for have := to.Load(); have < v && !to.CompareAndSwap(have, v); have = to.Load() {
	}
}

func concurrentSystems(e *env) {
	var wg sync.WaitGroup
	for system := range uint64(session.MaxPositions) {
		wg.Go(func() {
			for n := range uint64(writes) {
				if err := e.store.Advance(e.t.Context(), "ann", token(positionOf(system+1, 1, 1, n+1))); err != nil {
					e.add("Advance by writers of several databases: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	got := e.load(e.store, "ann")
	for system := range uint64(session.MaxPositions) {
		want := positionOf(system+1, 1, 1, writes)
		if !contains(got.Positions, want) {
			e.add("after concurrent writers of %d databases Load says %v, which lacks %v", session.MaxPositions, got.Positions, want)
		}
	}
}

func contains(list []lsn.Position, p lsn.Position) bool {
	for _, have := range list {
		if have == p {
			return true
		}
	}
	return false
}

// endedContext gives contexts that have ended: of a client that has hung up, whose
// write has happened all the same.
func endedContext(e *env) {
	cancelled, cancel := context.WithCancel(e.t.Context())
	cancel()
	late, cancelLate := context.WithDeadline(e.t.Context(), time.Now().Add(-time.Second))
	defer cancelLate()
	for user, ctx := range map[string]context.Context{"cancelled": cancelled, "too late": late} {
		kept := token(position(5))
		e.advance(e.store, user, kept)
		var err error
		next := token(position(9))
		if !e.within("Advance with a context that has ended", func() { err = e.store.Advance(ctx, user, next) }) {
			return
		}
		if err == nil {
			e.expect(e.store, user, kept, next)
		} else if got := e.load(e.store, user); got.Unsure.IsZero() && !contains(got.Positions, position(5)) && !contains(got.Positions, position(9)) {
			e.add("after an Advance that failed (%v) Load says %v", err, got)
		}
		var got session.Token
		if !e.within("Load with a context that has ended", func() { got, err = e.store.Load(ctx, user) }) {
			return
		}
		if err == nil && got.Unsure.IsZero() && len(got.Positions) == 0 {
			e.add("Load with a context that has ended (%s) says nothing, and that it is sure", user)
		}
		if err != nil && errors.Is(err, context.Canceled) != (user == "cancelled") {
			e.add("Load with a context that has ended (%s): %v, want the context's own error", user, err)
		}
		last := token(position(11)) // and the store works on
		e.advance(e.store, user, last)
		if got := e.load(e.store, user); !contains(got.Positions, position(11)) {
			e.add("after calls with a context that had ended, Load says %v", got)
		}
	}
}
