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
type rootPool struct{ p *Plugin }

// PrepareContext implements gorm.ConnPool. A prepared statement belongs to one
// server: the primary.
func (r *rootPool) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return r.p.primary.PrepareContext(ctx, query)
}

// ExecContext implements gorm.ConnPool.
func (r *rootPool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return (&route{p: r.p}).ExecContext(ctx, query, args...)
}

// QueryContext implements gorm.ConnPool.
func (r *rootPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return (&route{p: r.p}).QueryContext(ctx, query, args...)
}

// QueryRowContext implements gorm.ConnPool.
func (r *rootPool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return (&route{p: r.p}).QueryRowContext(ctx, query, args...)
}

// BeginTx implements gorm.ConnPoolBeginner.
func (r *rootPool) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	return r.p.begin(ctx, opts)
}

// GetDBConn implements gorm.GetDBConnector.
func (r *rootPool) GetDBConn() (*sql.DB, error) { return r.p.primaryDB() }

// Ping checks the primary.
func (r *rootPool) Ping() error { return r.p.ping() }

// primaryDB returns the primary's *sql.DB.
func (p *Plugin) primaryDB() (*sql.DB, error) {
	switch pool := p.primary.(type) {
	case *sql.DB:
		return pool, nil
	case gorm.GetDBConnector:
		return pool.GetDBConn()
	default:
		return nil, fmt.Errorf("readsplit: the primary's pool of type %T is not a *sql.DB: %w", pool, gorm.ErrInvalidDB)
	}
}

func (p *Plugin) ping() error {
	if pinger, ok := p.primary.(interface{ Ping() error }); ok {
		return pinger.Ping()
	}
	return nil
}

// isPrimary reports whether pool is the pool that the plugin was installed over.
// Pools that cannot be compared are not: comparing them would panic.
func (p *Plugin) isPrimary(pool gorm.ConnPool) bool {
	t := reflect.TypeOf(pool)
	return t != nil && t.Comparable() && pool == p.primary
}
