package readsplit

import (
	"context"
	"database/sql"

	"github.com/readsplit/readsplit/explain"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/sqlclass"
)

// begin begins a transaction of the rehearsal.
func (h *rehearsal) begin(ctx context.Context, rt *router, opts *sql.TxOptions, w *wish) *rehearsedTx {
	t := &rehearsedTx{h: h, router: rt, ctx: ctx}
	if opts, reads := rt.readsOnly(ctx, opts); reads {
		t.reads = &readOnlyTx{router: rt, ctx: ctx, opts: *opts, wish: w}
	}
	return t
}

// rehearsedTx is a transaction that was not begun. Like trackedTx it has no BeginTx.
type rehearsedTx struct {
	h       *rehearsal
	router  *router
	ctx     context.Context
	foreign bool // begun by the application, on a pool of its own
	// reads is the read-only transaction that it would be; nil: it is on the primary. Its
	// transactions are never begun.
	reads   *readOnlyTx
	servers []string // where reads would be
	wrote   []func() // recorded at Commit
}

// copyTx copies where a transaction is.
func (h *rehearsal) copyTx(t *readOnlyTx) *readOnlyTx {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &readOnlyTx{
		router: t.router, ctx: t.ctx, opts: t.opts, wish: t.wish, replica: t.replica, server: t.server,
		generation: t.generation, reason: t.reason, primary: t.primary, over: t.over, read: t.read,
	}
}

// in explains a statement of the transaction. The caller holds mu.
func (t *rehearsedTx) in(ctx context.Context, info sqlclass.Info, s *explain.Statement) {
	rt := t.h.standIn(t.router)
	if t.reads != nil {
		t.inReads(ctx, rt, info, s)
		return
	}
	s.Resolver = rt.name
	s.Servers, s.Reason = []string{primaryName}, policy.ReasonInTransaction
	if t.foreign {
		s.Notes = append(s.Notes, "in a transaction that was not begun through readsplit: it is wherever it was begun")
	}
	if e := effectOf(info); info.Class != sqlclass.Read && !e.none {
		marked := t.h.marked(ctx)
		t.wrote = append(t.wrote, func() { t.h.wrote(marked, rt, e) })
	}
}

// inReads explains a statement of a read-only transaction.
func (t *rehearsedTx) inReads(ctx context.Context, rt *router, info sqlclass.Info, s *explain.Statement) {
	x := t.reads
	s.Resolver = rt.name
	asker := x.asker(ctx)
	primary := func(reason policy.Reason) {
		x.primary, x.server, x.reason = &trackedTx{}, nil, reason
		t.servers = []string{primaryName}
		s.Servers, s.Reason = t.servers, reason
	}
	read := info.Class == sqlclass.Read
	stateful := !read && statesOf(info, s.SQL)
	switch x.step(read, stateful) {
	case txOver:
		s.Err = sql.ErrTxDone
	case txOnPrimary:
		s.Servers, s.Reason = []string{primaryName}, policy.ReasonReadOnlyTransaction
		if x.reason != 0 {
			s.Reason = x.reason
		}
	case txBegins:
		x.read = read
		r := &route{router: x.router, wish: x.wish}
		t.h.read(asker, rt, r, s)
		switch {
		case s.Err != nil:
		case r.at == nil:
			x.primary, x.reason = &trackedTx{}, s.Reason
		default:
			x.replica, x.server, x.generation, x.reason = &sql.Tx{}, r.at, r.generation, s.Reason
			if x.isolation() == "serializable" {
				primary(policy.ReasonReadOnlyTransaction)
			}
		}
		t.servers = s.Servers
	case txReads:
		was, servers := x.server, t.servers
		if servers == nil {
			servers = []string{was.name}
		}
		if r := x.again(); r != nil {
			t.h.read(asker, rt, r, s)
			if s.Err != nil || r.at != was {
				reason := s.Reason
				s.Err = nil // the primary may have it, or its own error
				primary(reason)
				return
			}
		}
		x.read = true
		s.Servers, s.Reason = servers, x.reason
	case txStays:
		s.Servers, s.Reason = t.servers, x.reason
		if s.Servers == nil {
			s.Servers = []string{x.server.name}
		}
	case txMoves:
		primary(policy.ReasonUnknownStatement)
	default:
		s.Err = ErrWriteInReadOnlyTransaction
	}
}

func (t *rehearsedTx) direct(ctx context.Context, query string) error {
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	if t.h.over {
		return errRehearsalOver
	}
	t.h.report.Statements = append(t.h.report.Statements, t.h.statement(ctx, t, query))
	return nil
}

// PrepareContext implements gorm.ConnPool.
func (t *rehearsedTx) PrepareContext(context.Context, string) (*sql.Stmt, error) {
	return nil, errNoServer
}

// ExecContext implements gorm.ConnPool.
func (t *rehearsedTx) ExecContext(ctx context.Context, query string, _ ...any) (sql.Result, error) {
	if err := t.direct(ctx, query); err != nil {
		return nil, err
	}
	return nothing{}, nil
}

// QueryContext implements gorm.ConnPool.
func (t *rehearsedTx) QueryContext(ctx context.Context, query string, _ ...any) (*sql.Rows, error) {
	if err := t.direct(ctx, query); err != nil {
		return nil, err
	}
	return nothing{}.rows(), nil
}

// QueryRowContext implements gorm.ConnPool.
func (t *rehearsedTx) QueryRowContext(ctx context.Context, query string, _ ...any) *sql.Row {
	if err := t.direct(ctx, query); err != nil {
		return failing{err}.row()
	}
	return nothing{}.row()
}

// StmtContext implements gorm.Tx.
func (t *rehearsedTx) StmtContext(context.Context, *sql.Stmt) *sql.Stmt {
	return failing{errNoServer}.stmt()
}

// Commit implements gorm.TxCommitter.
func (t *rehearsedTx) Commit() error {
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	if t.h.over {
		return errRehearsalOver
	}
	for _, record := range t.wrote {
		record()
	}
	t.wrote = nil
	return nil
}

// Rollback implements gorm.TxCommitter.
func (t *rehearsedTx) Rollback() error { return nil }

// GetDBConn implements gorm.GetDBConnector.
func (t *rehearsedTx) GetDBConn() (*sql.DB, error) { return nil, errNoServer }
