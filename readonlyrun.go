package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/policy"
)

// PrepareContext implements gorm.ConnPool. GORM's store of prepared statements
// belongs to the primary and keeps the statement, so it is prepared there;
// StmtContext prepares it again where the transaction runs. Once that is the
// primary its own connection is used: waiting for a second one would never end
// in a pool of one.
func (t *readOnlyTx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	t.mu.Lock()
	primary := t.primary
	t.mu.Unlock()
	if primary != nil {
		return primary.PrepareContext(ctx, query)
	}
	return t.router.target().PrepareContext(ctx, query)
}

// StmtContext implements gorm.Tx.
func (t *readOnlyTx) StmtContext(ctx context.Context, stmt *sql.Stmt) *sql.Stmt {
	text, ok := textOf(stmt)
	if !ok {
		text = "" // not a read
	}
	tx, stateful, err := t.pick(ctx, text)
	if err != nil {
		return failing{err}.stmt()
	}
	if tx != gorm.Tx(t.replica) {
		return tx.StmtContext(ctx, stmt)
	}
	if stateful {
		if strings.Contains(text, "$") {
			// With which arguments it will run is not seen, so that it could not be run
			// again on the primary: it is better there from now on.
			return t.preparedOnPrimary(ctx, stmt)
		}
		t.keep(text, nil)
	}
	prepared, err := tx.PrepareContext(ctx, text)
	if err != nil {
		return failing{err}.stmt()
	}
	return prepared
}

func (t *readOnlyTx) preparedOnPrimary(ctx context.Context, stmt *sql.Stmt) *sql.Stmt {
	t.mu.Lock()
	tx, err := t.moveToPrimary(policy.ReasonUnknownStatement)
	t.mu.Unlock()
	if err != nil {
		return failing{err}.stmt()
	}
	return tx.StmtContext(ctx, stmt)
}

// ExecContext implements gorm.ConnPool.
func (t *readOnlyTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tx, stateful, err := t.pick(ctx, query)
	if err != nil {
		return nil, err
	}
	result, err := tx.ExecContext(ctx, query, args...)
	t.shownByStatement(ctx)
	t.router.conflicted(err)
	if stateful && err == nil {
		t.keep(query, args)
	}
	return result, err
}

// QueryContext implements gorm.ConnPool.
func (t *readOnlyTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	tx, stateful, err := t.pick(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, query, args...)
	t.shownByStatement(ctx)
	t.router.conflicted(err)
	if stateful && err == nil {
		t.keep(query, args)
	}
	return rows, err
}

// QueryRowContext implements gorm.ConnPool.
func (t *readOnlyTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	tx, stateful, err := t.pick(ctx, query)
	if err != nil {
		return failing{err}.row()
	}
	row := tx.QueryRowContext(ctx, query, args...)
	t.shownByStatement(ctx)
	if stateful && row.Err() == nil {
		t.keep(query, args)
	}
	return row
}

// Commit implements gorm.TxCommitter.
func (t *readOnlyTx) Commit() error {
	return t.end(func(tx gorm.TxCommitter) error { return tx.Commit() })
}

// Rollback implements gorm.TxCommitter.
func (t *readOnlyTx) Rollback() error {
	return t.end(func(tx gorm.TxCommitter) error { return tx.Rollback() })
}

func (t *readOnlyTx) end(how func(gorm.TxCommitter) error) error {
	t.shownByStatement(t.ctx) // prepared statements run past this
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return sql.ErrTxDone
	}
	t.over = true
	var errs []error
	if t.replica != nil {
		errs = append(errs, how(t.replica))
	}
	if t.primary != nil {
		errs = append(errs, how(t.primary))
		t.router.budget.release(holding{tx: t.primary})
	}
	return errors.Join(errs...)
}

// GetDBConn implements gorm.GetDBConnector.
func (t *readOnlyTx) GetDBConn() (*sql.DB, error) {
	if t == nil {
		return nil, gorm.ErrInvalidDB
	}
	return t.router.primaryDB()
}
