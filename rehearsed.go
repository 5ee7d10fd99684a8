package readsplit

import (
	"context"
	"database/sql"
	"errors"

	"gorm.io/gorm"
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
		tx.h.mu.Lock()
		defer tx.h.mu.Unlock()
		t := &rehearsedTx{h: h, router: tx.router, ctx: tx.ctx, foreign: tx.foreign, servers: tx.servers}
		if tx.reads != nil {
			t.reads = h.copyTx(tx.reads)
		}
		return t
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
func (x *rehearsed) direct(ctx context.Context, query string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return errRehearsalOver
	}
	inner := x.inner
	switch pool := inner.(type) {
	case *route:
		inner = pool.rehearsable()
	case *rootPool:
		inner = &route{router: pool.router}
	}
	x.report.Statements = append(x.report.Statements, x.statement(ctx, inner, query))
	return nil
}

// rehearsable returns next, or a copy of it: where Explain was called while a
// statement is under way, its route is that of the real one.
func (r *route) rehearsable() *route {
	if n := r.next(); n != r {
		return n
	}
	return &route{
		router: r.router, parent: r.parent, holder: r.holder, pinned: r.pinned, why: r.why, bound: r.bound,
		wish: r.wish, at: r.at, generation: r.generation, ran: r.ran, detour: &detour{fell: r.past().fell},
	}
}

// PrepareContext implements gorm.ConnPool.
func (x *rehearsed) PrepareContext(context.Context, string) (*sql.Stmt, error) {
	return nil, errNoServer
}

// ExecContext implements gorm.ConnPool.
func (x *rehearsed) ExecContext(ctx context.Context, query string, _ ...any) (sql.Result, error) {
	if err := x.direct(ctx, query); err != nil {
		return nil, err
	}
	return nothing{}, nil
}

// QueryContext implements gorm.ConnPool.
func (x *rehearsed) QueryContext(ctx context.Context, query string, _ ...any) (*sql.Rows, error) {
	if err := x.direct(ctx, query); err != nil {
		return nil, err
	}
	return nothing{}.rows(), nil
}

// QueryRowContext implements gorm.ConnPool.
func (x *rehearsed) QueryRowContext(ctx context.Context, query string, _ ...any) *sql.Row {
	if err := x.direct(ctx, query); err != nil {
		return failing{err}.row()
	}
	return nothing{}.row()
}

// BeginTx implements gorm.ConnPoolBeginner.
func (x *rehearsed) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	if err := x.useless(); err != nil {
		return (*rehearsedTx)(nil), err
	}
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
	if x.over {
		// GORM keeps the first pool that prepared sessions are asked for on.
		return x.p.baseDB()
	}
	x.note("what runs on a connection or a *sql.DB of its own is not explained: it is not decided by readsplit either")
	return nil, errNoServer
}
