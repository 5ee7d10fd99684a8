package storetest

import (
	"context"
	"sync"

	"github.com/readsplit/readsplit/session"
)

func peer(e *env) {
	other := e.options.peer(e.t, e.store)
	first, second := token(position(5)), token(position(7), positionOf(2, 1, 1, 1))
	e.advance(e.store, "ann", first)
	e.expect(other, "ann", first)
	e.advance(other, "ann", second)
	e.expect(e.store, "ann", first, second)
	e.advance(e.store, "ann", first)
	e.expect(other, "ann", first, second)
}

// lost expects that who asks after a loss gets all that was acknowledged, or is
// unsure until all that may have been lost has expired.
func lost(e *env) {
	kept := token(position(5))
	e.advance(e.store, "ann", kept)
	e.expect(e.store, "ann", kept)
	e.lose(e.t, e.store)

	var ann, eve session.Token
	e.eventually("a store that has lost its data answers", recovery, func(ctx context.Context) bool {
		var first, second error
		ann, first = e.store.Load(ctx, "ann")
		eve, second = e.store.Load(ctx, "eve")
		return first == nil && second == nil
	})
	if e.failed() {
		return
	}
	if ann.Unsure.IsZero() && differs(ann, kept) != "" {
		e.add("a user whose token was lost is sure of %v", ann)
	}
	for user, got := range map[string]session.Token{"whose token was lost": ann, "who had none": eve} {
		if !got.Unsure.IsZero() && got.Expires.Before(kept.Expires.Add(-slack)) {
			e.add("a user %s is unsure until %v, want %v, when the last token ends that was lost", user, got.Expires, kept.Expires)
		}
	}
	// Another user, who cannot be told from those who had something.
	if len(ann.Positions) == 0 && eve.Unsure.IsZero() {
		e.add("a store that has lost its data is sure that a user had nothing")
	}
	again := token(position(1))
	e.advance(e.store, "ann", again)
	if got := e.load(e.store, "ann"); got.Unsure.IsZero() && differs(got, kept.Merge(again)) != "" {
		e.add("a user whose token was lost is sure of what came after it: %v", got)
	}
}

func stalled(e *env) {
	kept := token(position(5))
	e.advance(e.store, "ann", kept)
	resume := e.stall(e.t, e.store)
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			var got session.Token
			var err error
			if e.within("Load of a store that does not answer", func() { got, err = e.store.Load(e.t.Context(), "ann") }) &&
				err == nil && got.Unsure.IsZero() && differs(got, kept) != "" {
				e.add("a store that does not answer is sure of %v", got)
			}
		})
		calls.Go(func() {
			e.within("Advance of a store that does not answer", func() { _ = e.store.Advance(e.t.Context(), "bob", token(position(3))) })
		})
	}
	calls.Wait()
	resume()
	var got session.Token
	e.eventually("a store answers again", recovery, func(ctx context.Context) bool {
		var err error
		got, err = e.store.Load(ctx, "ann")
		return err == nil
	})
	if !e.failed() && got.Unsure.IsZero() && differs(got, kept) != "" {
		e.add("a store that answers again is sure of %v", got)
	}
	next := token(position(9))
	e.eventually("a store can be written again", recovery, func(ctx context.Context) bool {
		return e.store.Advance(ctx, "ann", next) == nil
	})
	if got := e.load(e.store, "ann"); !contains(got.Positions, position(9)) {
		e.add("a store that can be written again says %v", got)
	}
}
