package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/sqlclass"
)

// foreignTxs are transactions that were not begun through the plugin (on a
// handle from before it was installed, or by the application itself) and that
// something was written in. Their commits are invisible; that they have ended is
// not.
type foreignTxs struct {
	n    atomic.Int32
	mu   sync.Mutex
	list []foreignTx
}

type foreignTx struct {
	tx        *sql.Tx
	marks     *marks
	everybody bool
	// tracked is the transaction of which this is the inside, handed out by SQLTx.
	tracked *trackedTx
}

// ended reports whether the transaction is over, or its COMMIT under way, without
// waiting for a statement that runs in it.
func (f foreignTx) ended() bool {
	done := reflect.ValueOf(f.tx).Elem().FieldByName("done")
	if !done.IsValid() || done.Type() != reflect.TypeFor[atomic.Bool]() {
		// A statement is refused with sql.ErrTxDone then, and because it belongs to
		// another database otherwise. Nothing is sent in either case.
		return errors.Is(f.tx.StmtContext(context.Background(), new(sql.Stmt)).Close(), sql.ErrTxDone)
	}
	return (*atomic.Bool)(done.Addr().UnsafePointer()).Load()
}

// foreignTx notes a statement inside a transaction that is not tracked.
func (rt *router) foreignTx(tx *sql.Tx, m *marks, info sqlclass.Info) {
	rt.noticeSettings(info)
	if info.Class == sqlclass.Read || effectOf(info).none {
		return
	}
	if m.session != nil {
		m.session.ledgerOf(rt) // as in committing
	}
	f := &rt.foreign
	f.mu.Lock()
	defer f.mu.Unlock()
	everybody := effectOf(info).everybody
	for i, have := range f.list {
		if have.tx == tx && have.marks.session == m.session {
			f.list[i].everybody = have.everybody || everybody
			return
		}
	}
	if len(f.list) >= sweepAt {
		f.list = slices.DeleteFunc(f.list, func(t foreignTx) bool {
			if !t.ended() {
				return false
			}
			rt.foreignEnded(t) // nobody reads, or it would be gone
			return true
		})
	}
	f.list = append(f.list, foreignTx{tx: tx, marks: m, everybody: everybody})
	f.n.Store(int32(len(f.list)))
	plugins.stays(rt)
}

// sweepForeign finds the foreign transactions that have ended since, and tells
// whether one that is still open concerns the reads of m. A transaction says that
// it has ended before its COMMIT is acknowledged, so a position that is taken then
// may not cover it: those who wrote are unsure.
func (rt *router) sweepForeign(q *policy.Query, m *marks) {
	f := &rt.foreign
	if f.n.Load() == 0 {
		return
	}
	// The writes are recorded under the lock: a read that finds the list without
	// a transaction must find its writes recorded.
	f.mu.Lock()
	reset := false
	open := f.list[:0]
	for _, t := range f.list {
		if !t.ended() {
			open = append(open, t)
			q.Pending = q.Pending || t.marks.concern(m)
			continue
		}
		rt.foreignEnded(t)
		reset = reset || t.everybody
	}
	clear(f.list[len(open):])
	f.list = open
	f.n.Store(int32(len(open)))
	f.mu.Unlock()
	if reset {
		rt.schemaChanged(true)
	}
}

// foreignEnded records the writes of a foreign transaction that has ended.
func (rt *router) foreignEnded(t foreignTx) {
	if t.tracked == nil {
		rt.unsureOf(t.marks, t.everybody)
		return
	}
	for _, m := range t.tracked.concerned() {
		rt.unsureOf(m, t.everybody)
	}
	t.tracked.end()
}

// handedOut watches a transaction that SQLTx has given to the application, which
// may commit it without the handle.
func (rt *router) handedOut(tx *sql.Tx, tracked *trackedTx) {
	for _, m := range tracked.concerned() {
		if m.session != nil {
			m.session.ledgerOf(rt) // as in committing
		}
	}
	f := &rt.foreign
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.ContainsFunc(f.list, func(t foreignTx) bool { return t.tracked == tracked }) {
		return
	}
	f.list = append(f.list, foreignTx{tx: tx, marks: marksOf(tracked.ctx), tracked: tracked})
	f.n.Store(int32(len(f.list)))
	plugins.stays(rt)
}

// handedBack stops watching a transaction that was ended by its handle.
func (rt *router) handedBack(tracked *trackedTx) {
	f := &rt.foreign
	if f.n.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = slices.DeleteFunc(f.list, func(t foreignTx) bool { return t.tracked == tracked })
	f.n.Store(int32(len(f.list)))
}

// foreignPool notes a statement on a pool or connection of the application's
// own (gorm.DB.Connection): what else happens there, and when it is committed,
// is invisible.
func (rt *router) foreignPool(m *marks, info sqlclass.Info) {
	rt.noticeSettings(info)
	if info.Class == sqlclass.Read || effectOf(info).none {
		return
	}
	e := effectOf(info)
	rt.unsureOf(m, e.everybody)
	if e.everybody {
		rt.schemaChanged(e.redefines)
	}
}
