package readsplit

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"

	"gorm.io/gorm"
)

// rootPool stands in the configuration in place of the primary's pool, so that
// everything that does not come through a statement's callbacks is seen: Begin,
// the migrator, and code that uses the pool directly.
type rootPool struct{ router *router }

// PrepareContext implements gorm.ConnPool. A prepared statement belongs to one
// server: the primary.
func (r *rootPool) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return r.router.target().PrepareContext(ctx, query)
}

// ExecContext implements gorm.ConnPool.
func (r *rootPool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return (&route{router: r.router}).ExecContext(ctx, query, args...)
}

// QueryContext implements gorm.ConnPool.
func (r *rootPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return (&route{router: r.router}).QueryContext(ctx, query, args...)
}

// QueryRowContext implements gorm.ConnPool.
func (r *rootPool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return (&route{router: r.router}).QueryRowContext(ctx, query, args...)
}

// BeginTx implements gorm.ConnPoolBeginner.
func (r *rootPool) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	return r.router.begin(ctx, opts)
}

// GetDBConn implements gorm.GetDBConnector.
func (r *rootPool) GetDBConn() (*sql.DB, error) { return r.router.plugin.baseDB() }

// Ping checks the primary.
func (r *rootPool) Ping() error { return r.router.ping() }

// target returns where statements for the primary go. Once the plugin is closed,
// and with it a pool that it opened, that is what the application has opened.
func (rt *router) target() gorm.ConnPool {
	if rt.follow != nil && rt.closed.Load() {
		return rt.follow.afterClose
	}
	if rt.closed.Load() && rt.opened != nil && rt == rt.plugin.main && rt.lent == nil {
		return rt.plugin.base
	}
	return rt.primary
}

// primaryDB returns the primary's *sql.DB.
func (rt *router) primaryDB() (*sql.DB, error) {
	if rt.lent != nil {
		return rt.lent, nil
	}
	return databaseOf(rt.primary)
}

// baseDB returns the *sql.DB that the application opened.
func (p *Plugin) baseDB() (*sql.DB, error) { return databaseOf(p.base) }

func databaseOf(pool gorm.ConnPool) (*sql.DB, error) {
	switch pool := pool.(type) {
	case *sql.DB:
		return pool, nil
	case gorm.GetDBConnector:
		return pool.GetDBConn()
	default:
		return nil, fmt.Errorf("readsplit: the primary's pool of type %T is not a *sql.DB: %w", pool, gorm.ErrInvalidDB)
	}
}

func (rt *router) ping() error {
	if pinger, ok := rt.target().(interface{ Ping() error }); ok {
		return pinger.Ping()
	}
	return nil
}

// isBase reports whether pool is the pool that the plugin was installed over.
// Pools that cannot be compared are not: comparing them would panic.
func (p *Plugin) isBase(pool gorm.ConnPool) bool {
	t := reflect.TypeOf(pool)
	return t != nil && t.Comparable() && pool == p.base
}
