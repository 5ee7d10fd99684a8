package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// failing is a database that fails with one error. It is the only way to make a
// *sql.Row or a *sql.Stmt that carries an error of ours: both have no other
// place for one. Nothing of it outlives the call.
type failing struct{ err error }

// row returns a row whose Scan fails.
func (f failing) row() *sql.Row {
	db := sql.OpenDB(failingConnector{f, nil})
	defer func() { _ = db.Close() }()
	return db.QueryRowContext(context.Background(), "")
}

// stmt returns a statement that fails whatever is done with it: one that was
// closed, and then could not be prepared again inside a transaction.
func (f failing) stmt() *sql.Stmt {
	ctx := context.Background()
	db := sql.OpenDB(failingConnector{f, &failingConn{f, 1}})
	defer func() { _ = db.Close() }()
	stmt, err := db.PrepareContext(ctx, "")
	if err != nil {
		return stmt
	}
	_ = stmt.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return stmt
	}
	defer func() { _ = tx.Rollback() }()
	return tx.StmtContext(ctx, stmt)
}

type failingConnector struct {
	failing
	conn *failingConn // nil: connecting fails already
}

// Connect implements driver.Connector.
func (c failingConnector) Connect(context.Context) (driver.Conn, error) {
	if c.conn == nil {
		return nil, c.err
	}
	return c.conn, nil
}

// Driver implements driver.Connector.
func (c failingConnector) Driver() driver.Driver { return c }

// Open implements driver.Driver.
func (c failingConnector) Open(string) (driver.Conn, error) { return nil, c.err }

// failingConn prepares a given number of statements and fails everything else.
type failingConn struct {
	failing
	prepares int
}

// Prepare implements driver.Conn.
func (c *failingConn) Prepare(string) (driver.Stmt, error) {
	if c.prepares--; c.prepares < 0 {
		return nil, c.err
	}
	return c, nil
}

// Begin implements driver.Conn.
func (c *failingConn) Begin() (driver.Tx, error) { return c, nil }

// Close implements driver.Conn and driver.Stmt.
func (c *failingConn) Close() error { return nil }

// NumInput implements driver.Stmt.
func (c *failingConn) NumInput() int { return -1 }

// Exec implements driver.Stmt.
func (c *failingConn) Exec([]driver.Value) (driver.Result, error) { return nil, c.err }

// Query implements driver.Stmt.
func (c *failingConn) Query([]driver.Value) (driver.Rows, error) { return nil, c.err }

// Commit implements driver.Tx.
func (c *failingConn) Commit() error { return c.err }

// Rollback implements driver.Tx.
func (c *failingConn) Rollback() error { return nil }
