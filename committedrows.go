package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"

	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/sqlclass"
)

// committedRows hand the rows of a write outside a transaction to the application
// (`INSERT .. RETURNING` through Raw). Such a write commits when its rows have been
// read, and its application learns from their error alone that nobody knows what
// became of it. The primary's pool is the application's, so the error can only be
// marked on the way: a *sql.Rows over the *sql.Rows.
type committedRows struct {
	*sql.Rows
	types  []*sql.ColumnType
	values []any
	scan   []any // pointers to values; a pointer to a driver.Value is no place for a NULL
}

// handOut returns rows as the application gets them.
func (r *route) handOut(rows *sql.Rows) *sql.Rows {
	if !r.ahead || rows == nil || r.effect.none || r.router.dialect == sqlclass.SQLServer { // several results there
		return rows
	}
	db := sql.OpenDB(committedConn{rows})
	defer func() { _ = db.Close() }() // of which nothing outlives the rows
	out, err := db.QueryContext(context.Background(), "")
	if err != nil {
		return rows
	}
	return out
}

// handOutRow is handOut for a single row.
func (r *route) handOutRow(row *sql.Row) *sql.Row {
	rows := rowsOf(row)
	if rows == nil || r.effect.none || r.router.dialect == sqlclass.SQLServer {
		return row
	}
	db := sql.OpenDB(committedConn{rows})
	defer func() { _ = db.Close() }()
	return db.QueryRowContext(context.Background(), "")
}

// committedConn is a database whose one answer is rows that are there already.
type committedConn struct{ rows *sql.Rows }

// Connect implements driver.Connector.
func (c committedConn) Connect(context.Context) (driver.Conn, error) { return c, nil }

// Driver implements driver.Connector.
func (c committedConn) Driver() driver.Driver { return c }

// Open implements driver.Driver.
func (c committedConn) Open(string) (driver.Conn, error) { return c, nil }

// QueryContext implements driver.QueryerContext.
func (c committedConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &committedRows{Rows: c.rows}, nil
}

var errOnlyRows = errors.New("readsplit: there is nothing here but the rows of a statement that has run")

// Prepare implements driver.Conn.
func (c committedConn) Prepare(string) (driver.Stmt, error) { return nil, errOnlyRows }

// Begin implements driver.Conn.
func (c committedConn) Begin() (driver.Tx, error) { return nil, errOnlyRows }

// Close implements driver.Conn.
func (c committedConn) Close() error { return nil }

// Columns implements driver.Rows.
func (c *committedRows) Columns() []string {
	names, _ := c.Rows.Columns() // closed rows have none, and say so by Next
	return names
}

// Next implements driver.Rows.
func (c *committedRows) Next(dest []driver.Value) error {
	if !c.Rows.Next() {
		if err := c.Err(); err != nil {
			return retry.WithOutcome(err)
		}
		return io.EOF
	}
	if c.scan == nil {
		c.values, c.scan = make([]any, len(dest)), make([]any, len(dest))
		for i := range c.values {
			c.scan[i] = &c.values[i]
		}
	}
	if err := c.Scan(c.scan...); err != nil {
		return err
	}
	for i, v := range c.values {
		dest[i] = v
	}
	return nil
}

// Close implements driver.Rows.
func (c *committedRows) Close() error {
	err := c.Rows.Close()
	if err == nil {
		// A context that ended has closed them already, which is nobody's error by then.
		err = c.Err()
	}
	return retry.WithOutcome(err)
}

func (c *committedRows) column(i int) *sql.ColumnType {
	if c.types == nil {
		c.types, _ = c.ColumnTypes()
	}
	if i >= len(c.types) {
		return &sql.ColumnType{}
	}
	return c.types[i]
}

// ColumnTypeDatabaseTypeName implements driver.RowsColumnTypeDatabaseTypeName.
func (c *committedRows) ColumnTypeDatabaseTypeName(i int) string {
	return c.column(i).DatabaseTypeName()
}

// ColumnTypeLength implements driver.RowsColumnTypeLength.
func (c *committedRows) ColumnTypeLength(i int) (length int64, ok bool) { return c.column(i).Length() }

// ColumnTypeNullable implements driver.RowsColumnTypeNullable.
func (c *committedRows) ColumnTypeNullable(i int) (nullable, ok bool) { return c.column(i).Nullable() }

// ColumnTypePrecisionScale implements driver.RowsColumnTypePrecisionScale.
func (c *committedRows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	return c.column(i).DecimalSize()
}

// ColumnTypeScanType implements driver.RowsColumnTypeScanType.
func (c *committedRows) ColumnTypeScanType(i int) reflect.Type {
	if t := c.column(i).ScanType(); t != nil {
		return t
	}
	return reflect.TypeFor[any]()
}
