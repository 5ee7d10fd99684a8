package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
)

// nothing is a database in which every query finds no row and every statement changes
// none. It is the only way to make a *sql.Rows or a *sql.Row of a statement that is
// not sent to anybody.
type nothing struct{}

func (n nothing) rows() *sql.Rows {
	db := sql.OpenDB(n)
	defer func() { _ = db.Close() }() // rows that are open are not closed by it
	rows, err := db.QueryContext(context.Background(), "")
	if err != nil {
		return nil
	}
	return rows
}

func (n nothing) row() *sql.Row {
	db := sql.OpenDB(n)
	defer func() { _ = db.Close() }()
	return db.QueryRowContext(context.Background(), "")
}

// Connect implements driver.Connector.
func (n nothing) Connect(context.Context) (driver.Conn, error) { return n, nil }

// Driver implements driver.Connector.
func (n nothing) Driver() driver.Driver { return n }

// Open implements driver.Driver.
func (n nothing) Open(string) (driver.Conn, error) { return n, nil }

// Prepare implements driver.Conn.
func (n nothing) Prepare(string) (driver.Stmt, error) { return n, nil }

// Begin implements driver.Conn.
func (n nothing) Begin() (driver.Tx, error) { return n, nil }

// Close implements driver.Conn, driver.Stmt and driver.Rows.
func (nothing) Close() error { return nil }

// Commit implements driver.Tx.
func (nothing) Commit() error { return nil }

// Rollback implements driver.Tx.
func (nothing) Rollback() error { return nil }

// NumInput implements driver.Stmt.
func (nothing) NumInput() int { return -1 }

// Exec implements driver.Stmt.
func (n nothing) Exec([]driver.Value) (driver.Result, error) { return n, nil }

// Query implements driver.Stmt.
func (n nothing) Query([]driver.Value) (driver.Rows, error) { return n, nil }

// Columns implements driver.Rows.
func (nothing) Columns() []string { return nil }

// Next implements driver.Rows.
func (nothing) Next([]driver.Value) error { return io.EOF }

// LastInsertId implements driver.Result.
func (nothing) LastInsertId() (int64, error) { return 0, nil }

// RowsAffected implements driver.Result.
func (nothing) RowsAffected() (int64, error) { return 0, nil }
