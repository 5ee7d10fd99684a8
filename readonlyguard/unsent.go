package readonlyguard

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"gorm.io/gorm"
)

// UnsentTx is for a connection pool, which asks it before it begins a transaction. It returns false where the
// transaction may begin: outside a read session, and in one where the application itself began it, to read.
//
// It returns true and a transaction that exists on no server where gorm begins one in a read session on its own
// account, as CreateInBatches does before any callback can refuse the write. In that transaction the write is then
// refused by its callback, with its table, and a dry run stays dry; every statement that would reach the database is
// refused too.
func UnsentTx(ctx context.Context) (gorm.Tx, bool) {
	if !IsReadOnly(ctx) || !fromWritingTransaction() {
		return nil, false
	}
	return &unsentTx{operation: operation()}, true
}

// unsentTx is a pointer: gorm asks whether a transaction IsNil.
type unsentTx struct{ operation string }

var _ gorm.Tx = (*unsentTx)(nil)

func (t *unsentTx) refusal() error { return &Error{Operation: t.operation, Reason: Writes} }

func (t *unsentTx) PrepareContext(context.Context, string) (*sql.Stmt, error) {
	return nil, t.refusal()
}

func (t *unsentTx) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, t.refusal()
}

func (t *unsentTx) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, t.refusal()
}

func (t *unsentTx) QueryRowContext(context.Context, string, ...any) *sql.Row {
	return refusedRow(t.refusal())
}

// StmtContext must not return stmt, which would run outside of any transaction.
func (t *unsentTx) StmtContext(context.Context, *sql.Stmt) *sql.Stmt {
	panic(t.refusal())
}

func (t *unsentTx) Commit() error   { return nil }
func (t *unsentTx) Rollback() error { return nil }

// refusedRow returns a row whose Scan returns err. Only database/sql can make one: it does where it cannot connect.
func refusedRow(err error) *sql.Row {
	db := sql.OpenDB(noConnection{err})
	defer db.Close()
	return db.QueryRowContext(context.Background(), "")
}

type noConnection struct{ err error }

func (c noConnection) Connect(context.Context) (driver.Conn, error) { return nil, c.err }
func (c noConnection) Driver() driver.Driver                        { return nil }
