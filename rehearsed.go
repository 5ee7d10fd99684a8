package readsplit

import (
	"context"
	"database/sql"
	"errors"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/explain"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/sqlclass"
)

// rehearsed is the pool of a handle in a rehearsal. It has the pool that the handle
// would have, and never uses it: what reaches it is explained, and finds nothing.
type rehearsed struct {
	*rehearsal
	inner gorm.ConnPool
}

var errNoServer = errors.New("readsplit: no connection can be had while Explain finds out where statements would go: use the handle that its function is given")

// ofRehearsal returns the pool that a handle would have, and the rehearsal that it
// belongs to, nil where it belongs to none.
func ofRehearsal(pool gorm.ConnPool) (inner gorm.ConnPool, h *rehearsal) {
	switch x := pool.(type) {
	case *rehearsed:
		return x.inner, x.rehearsal
	case *rehearsedTx:
		return x, x.h
	case dryPool:
		return ofRehearsal(x.ConnPool)
	}
	return pool, nil
}

// rehearsedRoute returns the route of a statement in a rehearsal.
func rehearsedRoute(pool gorm.ConnPool) (*route, bool) {
	inner, h := ofRehearsal(pool)
	if h == nil {
		return nil, false
	}
	r, ok := inner.(*route)
	return r, ok
}

// pool returns the pool for what would run on r; outside of a rehearsal that is r.
func (h *rehearsal) pool(r *route) gorm.ConnPool {
	if h == nil {
		return r
	}
	return &rehearsed{h, r}
}

// root returns the pool for what would run on pool.
func (h *rehearsal) root(ctx context.Context, pool gorm.ConnPool) gorm.ConnPool {
	inner, _ := ofRehearsal(pool)
	switch tx := inner.(type) {
	case *rehearsedTx:
		return &rehearsedTx{h: h, router: tx.router, ctx: tx.ctx, foreign: tx.foreign, reads: tx.reads}
	case *trackedTx:
		if tx != nil {
			return &rehearsedTx{h: h, router: tx.router, ctx: tx.ctx}
		}
	case *readOnlyTx:
		if tx != nil {
			return &rehearsedTx{h: h, router: tx.router, ctx: tx.ctx, reads: h.copyTx(tx)}
		}
	case gorm.TxCommitter:
		return &rehearsedTx{h: h, router: h.p.main, ctx: ctx, foreign: true}
	}
	return &rehearsed{h, inner}
}

// direct explains a statement that code runs on the pool itself.
func (x *rehearsed) direct(ctx context.Context, query string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	inner := x.inner
	switch pool := inner.(type) {
	case *route:
		inner = pool.next()
	case *rootPool:
		inner = &route{router: pool.router}
	}
	x.report.Statements = append(x.report.Statements, x.statement(ctx, inner, query))
}

// PrepareContext implements gorm.ConnPool.
func (x *rehearsed) PrepareContext(context.Context, string) (*sql.Stmt, error) {
	return nil, errNoServer
}

// ExecContext implements gorm.ConnPool.
func (x *rehearsed) ExecContext(ctx context.Context, query string, _ ...any) (sql.Result, error) {
	x.direct(ctx, query)
	return nothing{}, nil
}

// QueryContext implements gorm.ConnPool.
func (x *rehearsed) QueryContext(ctx context.Context, query string, _ ...any) (*sql.Rows, error) {
	x.direct(ctx, query)
	return nothing{}.rows(), nil
}

// QueryRowContext implements gorm.ConnPool.
func (x *rehearsed) QueryRowContext(ctx context.Context, query string, _ ...any) *sql.Row {
	x.direct(ctx, query)
	return nothing{}.row()
}

// BeginTx implements gorm.ConnPoolBeginner.
func (x *rehearsed) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	r, ok := x.inner.(*route)
	if !ok {
		r = &route{router: x.p.main}
	}
	if r.wish != nil && r.wish.err != nil {
		return (*rehearsedTx)(nil), r.wish.err
	}
	return x.begin(ctx, r.router, r.wished(opts), r.wish), nil
}

// GetDBConn implements gorm.GetDBConnector.
func (x *rehearsed) GetDBConn() (*sql.DB, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.note("what runs on a connection or a *sql.DB of its own is not explained: it is not decided by readsplit either")
	return nil, errNoServer
}

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

func (t *rehearsedTx) direct(ctx context.Context, query string) {
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	t.h.report.Statements = append(t.h.report.Statements, t.h.statement(ctx, t, query))
}

// PrepareContext implements gorm.ConnPool.
func (t *rehearsedTx) PrepareContext(context.Context, string) (*sql.Stmt, error) {
	return nil, errNoServer
}

// ExecContext implements gorm.ConnPool.
func (t *rehearsedTx) ExecContext(ctx context.Context, query string, _ ...any) (sql.Result, error) {
	t.direct(ctx, query)
	return nothing{}, nil
}

// QueryContext implements gorm.ConnPool.
func (t *rehearsedTx) QueryContext(ctx context.Context, query string, _ ...any) (*sql.Rows, error) {
	t.direct(ctx, query)
	return nothing{}.rows(), nil
}

// QueryRowContext implements gorm.ConnPool.
func (t *rehearsedTx) QueryRowContext(ctx context.Context, query string, _ ...any) *sql.Row {
	t.direct(ctx, query)
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
