package readonlyguard

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
)

var errDown = errors.New("server is down")

// The pools below are those that an application may have put under gorm.
type (
	bare     struct{ gorm.ConnPool } // begins nothing
	beginner struct {                // begins as *sql.DB does
		gorm.ConnPool
		opts *sql.TxOptions
		err  error
	}
	poolBeginner struct { // begins, pings and has a *sql.DB as other wrappers have
		gorm.ConnPool
		db   *sql.DB
		opts *sql.TxOptions
	}
)

func (b *beginner) BeginTx(_ context.Context, opts *sql.TxOptions) (*sql.Tx, error) {
	b.opts = opts
	return &sql.Tx{}, b.err
}

func (b *poolBeginner) BeginTx(_ context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	b.opts = opts
	return bare{}, nil
}
func (b *poolBeginner) GetDBConn() (*sql.DB, error) { return b.db, nil }
func (b *poolBeginner) Ping() error                 { return errDown }

func TestPoolBegins(t *testing.T) {
	plain, read := t.Context(), ReadOnly(t.Context())
	serializable := &sql.TxOptions{Isolation: sql.LevelSerializable}

	below := &beginner{}
	tx, err := (&pool{ConnPool: below, readOnlyTx: true}).BeginTx(plain, serializable)
	require.NoError(t, err)
	assert.IsType(t, &sql.Tx{}, tx)
	assert.Same(t, serializable, below.opts)

	_, err = (&pool{ConnPool: below, readOnlyTx: true}).BeginTx(read, serializable)
	require.NoError(t, err)
	assert.Equal(t, &sql.TxOptions{Isolation: sql.LevelSerializable, ReadOnly: true}, below.opts)
	assert.False(t, serializable.ReadOnly)

	_, err = (&pool{ConnPool: below, readOnlyTx: true}).BeginTx(read, nil)
	require.NoError(t, err)
	assert.Equal(t, &sql.TxOptions{ReadOnly: true}, below.opts)

	_, err = (&pool{ConnPool: below}).BeginTx(read, nil) // SQL Server
	require.NoError(t, err)
	assert.Nil(t, below.opts)

	below.err = errDown
	tx, err = (&pool{ConnPool: below}).BeginTx(plain, nil)
	require.ErrorIs(t, err, errDown)
	assert.Nil(t, tx, "a nil *sql.Tx in an interface is not nil, and gorm would use it")

	wrapped := &poolBeginner{}
	tx, err = (&pool{ConnPool: wrapped, readOnlyTx: true}).BeginTx(read, nil)
	require.NoError(t, err)
	assert.IsType(t, bare{}, tx)
	assert.True(t, wrapped.opts.ReadOnly)

	_, err = (&pool{ConnPool: bare{}}).BeginTx(plain, nil)
	assert.Equal(t, gorm.ErrInvalidTransaction, err, "gorm compares this error")
}

func TestPoolForwards(t *testing.T) {
	db := sql.OpenDB(noConnection{errDown})
	defer db.Close()
	for _, below := range []gorm.ConnPool{db, &poolBeginner{db: db}} {
		p := &pool{ConnPool: below}
		got, err := p.GetDBConn()
		require.NoError(t, err)
		assert.Same(t, db, got)
		assert.ErrorIs(t, p.Ping(), errDown)
	}
	p := &pool{ConnPool: bare{}}
	_, err := p.GetDBConn()
	assert.ErrorIs(t, err, gorm.ErrInvalidDB)
	assert.ErrorIs(t, p.Ping(), gorm.ErrInvalidDB)
}
