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
