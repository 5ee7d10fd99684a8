package readonlyguard_test

import (
	"context"
	"database/sql/driver"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/stdlib"
)

// recorder is a driver between database/sql and pgx that writes down what is sent to the server, and in what order.
type recorder struct {
	driver.Connector
	mu   sync.Mutex
	sent []string
}

func (r *recorder) add(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, what)
}

// reset forgets what was sent so far.
func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = nil
}

// log returns what was sent since.
func (r *recorder) log() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sent)
}

func (r *recorder) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &recordedConn{conn.(*stdlib.Conn), r}, nil
}

type recordedConn struct {
	*stdlib.Conn
	r *recorder
}

func (c *recordedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if opts.ReadOnly {
		c.r.add("BEGIN READ ONLY")
	} else {
		c.r.add("BEGIN")
	}
	tx, err := c.Conn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &recordedTx{tx, c.r}, nil
}

func (c *recordedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.r.add(query)
	return c.Conn.ExecContext(ctx, query, args)
}

func (c *recordedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.r.add(query)
	return c.Conn.QueryContext(ctx, query, args)
}

func (c *recordedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.r.add("PREPARE " + query)
	stmt, err := c.Conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &recordedStmt{stmt.(*stdlib.Stmt), query, c.r}, nil
}

type recordedTx struct {
	driver.Tx
	r *recorder
}

func (t *recordedTx) Commit() error {
	t.r.add("COMMIT")
	return t.Tx.Commit()
}

func (t *recordedTx) Rollback() error {
	t.r.add("ROLLBACK")
	return t.Tx.Rollback()
}

type recordedStmt struct {
	*stdlib.Stmt
	query string
	r     *recorder
}

func (s *recordedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.r.add(s.query)
	return s.Stmt.ExecContext(ctx, args)
}

func (s *recordedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.r.add(s.query)
	return s.Stmt.QueryContext(ctx, args)
}
