package readsplit

import (
	"context"
	"database/sql"
	"errors"
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
	tx    *sql.Tx
	marks *marks
}

// ended reports whether the transaction is over: a statement is refused with
// sql.ErrTxDone then, and because it belongs to another database otherwise.
// Nothing is sent in either case.
func (f foreignTx) ended() bool {
	return errors.Is(f.tx.StmtContext(context.Background(), new(sql.Stmt)).Close(), sql.ErrTxDone)
}

// foreignTx notes a statement inside a transaction that is not tracked.
func (p *Plugin) foreignTx(tx *sql.Tx, m *marks, info sqlclass.Info) {
	p.noticeSettings(info)
	if info.Class == sqlclass.Read || effectOf(info).none {
		return
	}
	f := &p.foreign
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, have := range f.list {
		if have.tx == tx && have.marks.session == m.session {
			return
		}
	}
	f.list = append(f.list, foreignTx{tx, m})
	f.n.Store(int32(len(f.list)))
}

// sweepForeign records the writes of foreign transactions that have ended since,
// as if all had been committed, and tells whether one that is still open
// concerns the reads of m.
func (p *Plugin) sweepForeign(q *policy.Query, m *marks) {
	f := &p.foreign
	if f.n.Load() == 0 {
		return
	}
	var ended []foreignTx
	f.mu.Lock()
	open := f.list[:0]
	for _, t := range f.list {
		if t.ended() {
			ended = append(ended, t)
			continue
		}
		open = append(open, t)
		q.Pending = q.Pending || m.session == nil || t.marks.session == nil || t.marks.session == m.session
	}
	clear(f.list[len(open):])
	f.list = open
	f.n.Store(int32(len(open)))
	f.mu.Unlock()
	for _, t := range ended {
		p.wrote(t.marks, true, true)
	}
}

// foreignPool notes a statement on a pool or connection of the application's
// own (gorm.DB.Connection): what else happens there, and when it is committed,
// is invisible.
func (p *Plugin) foreignPool(m *marks, info sqlclass.Info) {
	p.noticeSettings(info)
	if info.Class == sqlclass.Read || effectOf(info).none {
		return
	}
	p.unsure(m)
}
