package readsplit

import (
	"context"
	"database/sql"

	"gorm.io/gorm"
)

// BeginTx implements gorm.ConnPoolBeginner.
func (r *route) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	if r.wish != nil && r.wish.err != nil {
		return (*trackedTx)(nil), r.wish.err
	}
	tx, err := r.router.begin(ctx, r.wished(opts))
	if ro, ok := tx.(*readOnlyTx); ok && ro != nil {
		ro.wish = r.wish
	}
	if t, ok := tx.(gorm.Tx); ok && r.prepared != nil && r.router.prepared == nil {
		return &gorm.PreparedStmtTX{Tx: t, PreparedStmtDB: r.prepared}, err
	}
	return tx, err
}

// wished are the options of a transaction that begins on r.
func (r *route) wished(opts *sql.TxOptions) *sql.TxOptions {
	if r.wish != nil && r.wish.read && !r.pinned {
		return readOnly(opts)
	}
	return opts
}

// GetDBConn implements gorm.GetDBConnector.
func (r *route) GetDBConn() (*sql.DB, error) {
	switch {
	case r.wish == nil:
		return r.router.plugin.baseDB()
	case r.wish.err != nil:
		return nil, r.wish.err
	case !r.wish.write && !r.wish.read && r.wish.router == nil:
		return r.router.plugin.baseDB()
	case r.wish.read && !r.pinned && !takesConnection():
		// A connection to a replica would soon be behind its session.
		// And behind a name of several servers nobody would check it.
		if s, _, _, err := r.choose(context.Background(), noMarks, "", 0); err != nil || s != nil && !s.balanced() {
			return s.poolOf(r.pooled()), err
		}
	}
	return r.router.primaryDB()
}

// Ping is what gorm.Open calls where a pool has it.
func (r *route) Ping() error { return r.router.ping() }
