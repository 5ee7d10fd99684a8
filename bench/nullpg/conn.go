package nullpg

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
)

// errWrite says that a write came to a replica: whoever routes has made a mistake, and
// there is nothing to measure.
var errWrite = errors.New("nullpg: a replica was sent a write")

// conn is a connection. It does as little as a driver can.
type conn struct {
	server
	rows rows // of the query that is open: there is one at a time
}

func (c *conn) Close() error                       { return nil }
func (c *conn) Begin() (driver.Tx, error)          { return c, nil }
func (c *conn) Commit() error                      { c.wal.Add(64); return nil }
func (c *conn) Rollback() error                    { return nil }
func (c *conn) ResetSession(context.Context) error { return nil }
func (c *conn) IsValid() bool                      { return true }
func (c *conn) Ping(context.Context) error         { return nil }

func (c *conn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return c, nil }

func (c *conn) Prepare(query string) (driver.Stmt, error) { return &stmt{c, query}, nil }

func (c *conn) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	return &stmt{c, query}, nil
}

func (c *conn) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	return c.query(query)
}

func (c *conn) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	if c.standby {
		return nil, fmt.Errorf("%w: %s", errWrite, query)
	}
	c.wal.Add(64)
	return driver.RowsAffected(1), nil
}

var (
	orderColumns = []string{"id", "customer_id", "note"}
	idColumn     = []string{"id"}
)

func (c *conn) query(query string) (driver.Rows, error) {
	if query[0] != 'S' || strings.HasPrefix(query, "SELECT concat_ws(") || strings.HasPrefix(query, "SELECT pg_") {
		a, ok, err := c.own(query)
		if err != nil {
			return nil, err
		}
		if ok {
			return &answer{Answer: a}, nil
		}
	}
	switch {
	case strings.HasPrefix(query, "INSERT"):
		if c.standby {
			return nil, fmt.Errorf("%w: %s", errWrite, query)
		}
		c.wal.Add(64)
		c.rows = rows{columns: idColumn, left: 1, id: c.ids.Add(1)}
	case strings.HasPrefix(query, `SELECT * FROM "orders" WHERE customer_id`):
		c.rows = rows{columns: orderColumns, left: 10, id: 1}
	case strings.HasPrefix(query, `SELECT * FROM "orders"`), strings.HasPrefix(query, "SELECT id, customer_id, note FROM orders"):
		c.rows = rows{columns: orderColumns, left: 1, id: 1}
	default:
		return nil, fmt.Errorf("nullpg: %s is not one of the statements that are measured", query)
	}
	return &c.rows, nil
}

// stmt is a prepared statement.
type stmt struct {
	c     *conn
	query string
}

func (s *stmt) Close() error  { return nil }
func (s *stmt) NumInput() int { return -1 }

func (s *stmt) Exec([]driver.Value) (driver.Result, error) { return nil, errors.ErrUnsupported }
func (s *stmt) Query([]driver.Value) (driver.Rows, error)  { return nil, errors.ErrUnsupported }

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.ExecContext(ctx, s.query, args)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.QueryContext(ctx, s.query, args)
}

// rows are orders, or the id of one.
type rows struct {
	columns []string
	left    int
	id      int64
}

func (r *rows) Columns() []string { return r.columns }
func (r *rows) Close() error      { return nil }

// The values are boxed once, so that the driver allocates nothing.
var (
	boxedID   driver.Value = int64(7)
	boxedNote driver.Value = "two of the blue ones"
)

func (r *rows) Next(dest []driver.Value) error {
	if r.left == 0 {
		return io.EOF
	}
	r.left--
	dest[0] = boxedID
	if len(dest) > 1 {
		dest[1], dest[2] = boxedID, boxedNote
	}
	return nil
}

// answer is a canned one.
type answer struct {
	Answer
	at int
}

func (a *answer) Columns() []string { return a.Answer.Columns }
func (a *answer) Close() error      { return nil }

func (a *answer) Next(dest []driver.Value) error {
	if a.at == len(a.Rows) {
		return io.EOF
	}
	copy(dest, a.Rows[a.at])
	a.at++
	return nil
}
