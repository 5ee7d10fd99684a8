package readsplit

import (
	"context"
	"database/sql"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/sqlclass"
)

// settle records how a statement that is not a read ended outside a transaction,
// and returns the error for its caller.
func (r *route) settle(ctx context.Context, info sqlclass.Info, err error) error {
	if info.Class == sqlclass.Read && !r.past().refused || r.router.neverTaken(err) {
		return err
	}
	r.router.noticeSettings(info)
	r.router.outcome(marksOf(ctx), r.effect, err)
	if r.effect.everybody && err == nil {
		r.router.schemaChanged(r.effect.redefines)
	}
	if r.effect.none {
		return err
	}
	return retry.WithOutcome(err)
}

// committing notes that a statement which writes has returned rows: it commits
// when they are closed.
func (r *route) committing(ctx context.Context, rows *sql.Rows) {
	m := marksOf(ctx)
	if rows == nil {
		r.router.unsure(m)
		return
	}
	if r.effect.none {
		return
	}
	r.router.committing(openRow{rows: rows, marks: m, effect: r.effect})
}

// closedRows records a write whose rows GORM has closed by now. Found out later,
// it would be judged by what the primary has then.
func (r *route) closedRows(db *gorm.DB) {
	if !r.wrote || r.rows == nil {
		return
	}
	closed, err := rowsEnd(r.rows)
	if !closed {
		return
	}
	r.router.outcome(marksOf(db.Statement.Context), r.effect, err)
	if !r.effect.none {
		unknownRows(db, err)
	}
	r.router.openRows.remove(r.rows)
	r.rows, r.wrote = nil, false
}
