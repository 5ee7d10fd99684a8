package readonlyguard

import (
	"context"
	"database/sql"

	"gorm.io/gorm"
)

// pool is the application's connection pool with one difference: in a read session it begins transactions that
// cannot write. It hands out the transactions of the pool below as they are, so that an application that looks for a
// *sql.Tx in Statement.ConnPool finds it.
type pool struct {
	gorm.ConnPool
	readOnlyTx bool
}

var (
	_ gorm.ConnPoolBeginner = (*pool)(nil)
	_ gorm.GetDBConnector   = (*pool)(nil)
)

// BeginTx begins a transaction on the pool below.
func (p *pool) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	if tx, ok := UnsentTx(ctx); ok {
		return tx, nil
	}
	if p.readOnlyTx && IsReadOnly(ctx) {
		readOnly := sql.TxOptions{ReadOnly: true}
		if opts != nil {
			readOnly.Isolation = opts.Isolation
		}
		opts = &readOnly
	}
	switch beginner := p.ConnPool.(type) {
	case gorm.TxBeginner:
		tx, err := beginner.BeginTx(ctx, opts)
		if err != nil {
			return nil, err // not a nil *sql.Tx in an interface that is not nil
		}
		return tx, nil
	case gorm.ConnPoolBeginner:
		return beginner.BeginTx(ctx, opts)
	}
	return nil, gorm.ErrInvalidTransaction
}

// GetDBConn returns the *sql.DB below, for gorm's DB and Connection.
func (p *pool) GetDBConn() (*sql.DB, error) {
	switch below := p.ConnPool.(type) {
	case *sql.DB:
		return below, nil
	case gorm.GetDBConnector:
		return below.GetDBConn()
	}
	return nil, gorm.ErrInvalidDB
}

// Ping forwards to the pool below, or reports that it cannot.
func (p *pool) Ping() error {
	if pinger, ok := p.ConnPool.(interface{ Ping() error }); ok {
		return pinger.Ping()
	}
	return gorm.ErrInvalidDB
}
