package readsplit

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
)

// budget bounds the reads that run on a primary because no replica was right for
// them. Routers over the same pool share one.
//
// A place is held while a statement runs and until its rows are closed, not for as
// long as GORM's query takes: what AfterFind does meanwhile keeps nobody away, and
// preloads, whose parent has ended by then, take a place of their own, before
// everybody who is new.
type budget struct {
	overload.Budget
	gate        *overload.Gate
	servedStale atomic.Uint64

	mu   sync.Mutex
	held []holding
}

// holding has a place and does not tell when it is over: rows, which a panic while
// they are scanned or the application closes, or a transaction that SQLTx may have
// given away.
type holding struct {
	rows *sql.Rows
	tx   *trackedTx
}

// newBudget returns nil where nothing is bounded.
func newBudget(b overload.Budget) *budget {
	if !b.Limited() {
		return nil
	}
	x := &budget{Budget: b.WithDefaults()}
	x.gate = overload.NewGate(b.Reads, x.sweep)
	return x
}

// admit decides about a read that goes to the primary: it has a place there from
// here on (detour.place), or a replica serves it stale, or it fails.
func (r *route) admit(ctx context.Context, text string, reason policy.Reason) (s *server, generation uint64, why policy.Reason, err error) {
	b := r.router.budget
	if b == nil || r.past().place != nil || !r.fallsBack(reason) {
		return nil, 0, reason, nil
	}
	d := r.strays()
	d.fell = true
	if b.gate.TryEnter() {
		d.place = b
		return nil, 0, reason, nil
	}
	if b.mayServeStale(ctx, reason) {
		stale := with(ctx, func(m *marks) { m.mode = policy.Stale })
		s, generation, _, err = r.choose(stale, marksOf(stale), text, 0)
		if err == nil && s != nil && !s.logical { // of which nobody knows how stale
			b.servedStale.Add(1)
			return s, generation, policy.ReasonServedStale, nil
		}
	}
	switch begun := r.parent != nil && r.parent.ran; {
	case begun && b.Beyond == overload.Fail:
		err = b.gate.Again(ctx, overload.DefaultMaxWait)
	case begun:
		err = b.gate.Again(ctx, b.MaxWait)
	case b.Beyond == overload.Fail:
		err = b.gate.Enter(ctx, overload.Normal, 0)
	default:
		err = b.gate.Enter(ctx, overload.PriorityOf(ctx), b.MaxWait)
	}
	if err != nil {
		return nil, 0, reason, fmt.Errorf("%w (%s)", err, because(reason))
	}
	d.place = b
	return nil, 0, reason, nil
}

// mayServeStale reports whether a replica may serve a read that finds no place.
func (b *budget) mayServeStale(ctx context.Context, reason policy.Reason) bool {
	return b.Beyond == overload.ServeStale && kindOf(reason) == fallback && reason != policy.ReasonReplicaFailed && marksOf(ctx).atMost == 0
}

// fallsBack reports whether a read that goes to the primary had wanted a replica.
func (r *route) fallsBack(reason policy.Reason) bool {
	switch kindOf(reason) {
	case fallback, owing:
		return true
	case following:
		// A parent that was on a replica would have its child there too.
		return r.parent != nil && (r.parent.past().fell || r.parent.at != nil)
	}
	return false
}

// placed runs a statement on the primary. Where it fails, or the driver panics, the
// place is free again; else whoever has its result sees to that, by leave or keep.
func (r *route) placed(attempt func(s *server) error) error {
	if r.past().place == nil {
		return attempt(nil)
	}
	ran := false
	defer func() {
		if !ran {
			r.leave()
		}
	}()
	err := attempt(nil)
	ran = err == nil
	return err
}

// leave gives the route's place back, if it has one.
func (r *route) leave() {
	if b := r.past().place; b != nil {
		r.detour.place = nil
		b.gate.Leave()
	}
}

// keep holds the route's place, if it has one, until rows are closed.
func (r *route) keep(rows *sql.Rows) {
	b := r.past().place
	if b == nil {
		return
	}
	if rows == nil {
		r.leave()
		return
	}
	b.hold(holding{rows: rows})
	r.detour.place = nil
}

// keepTx holds the route's place, if it has one, until a transaction has ended.
func (r *route) keepTx(tx *trackedTx) {
	if b := r.past().place; b != nil {
		b.hold(holding{tx: tx})
		r.detour.place = nil
	}
}

// closedPlace gives the place of a query back whose rows GORM has closed by now.
func (r *route) closedPlace() {
	if b := r.router.budget; b != nil && r.past().fell && r.at == nil && r.rows != nil {
		if closed, _ := rowsEnd(r.rows); closed {
			b.release(holding{rows: r.rows})
		}
	}
}

func (b *budget) hold(h holding) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = append(b.held, h)
}

// release gives back the place of what is over, once: a sweep may have been quicker.
func (b *budget) release(h holding) {
	if b == nil {
		return
	}
	b.mu.Lock()
	i := slices.Index(b.held, h)
	if i >= 0 {
		b.drop(i)
	}
	b.mu.Unlock()
	if i >= 0 {
		b.gate.Leave()
	}
}

// drop forgets one holding. The caller holds mu.
func (b *budget) drop(i int) {
	last := len(b.held) - 1
	b.held[i] = b.held[last]
	b.held[last] = holding{}
	b.held = b.held[:last]
}

// sweep gives back the places of what is over and has not told. Several who wait
// need not look at the same time.
func (b *budget) sweep() {
	if !b.mu.TryLock() {
		return
	}
	over := 0
	for i := len(b.held) - 1; i >= 0; i-- {
		if b.held[i].ended() {
			b.drop(i)
			over++
		}
	}
	b.mu.Unlock()
	for range over {
		b.gate.Leave()
	}
}

func (h holding) ended() bool {
	if h.tx == nil {
		closed, _ := rowsEnd(h.rows)
		return closed
	}
	if tx, ok := h.tx.inner.(*sql.Tx); ok {
		return foreignTx{tx: tx}.ended()
	}
	return h.tx.ctx.Err() != nil
}

// status tells what the budget has done; b may be nil.
func (b *budget) status() overload.Status {
	if b == nil {
		return overload.Status{}
	}
	b.sweep()
	st := b.gate.Status()
	st.ServedStale = b.servedStale.Load()
	return st
}
