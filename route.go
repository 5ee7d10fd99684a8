package readsplit

import (
	"context"
	"database/sql"
	"reflect"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/sqlclass"
)

// route is the pool of one statement: the callback before the statement puts it
// in place of the root pool, and where the statement goes is decided when GORM
// has built it and runs it. Deciding any earlier would have to build the SQL
// earlier, and clauses that another plugin adds in between would be lost.
//
// After the statement the route stays behind as the pool of the handle, where it
// behaves as the root pool does and tells what was decided.
type route struct {
	p *Plugin
	// prepared is the application's store of prepared statements when the
	// statement came in prepared mode.
	prepared *gorm.PreparedStmtDB
	// stmt is the statement that a read may be run again for.
	stmt *gorm.Statement
	// parent is the route that the statement inherited: of the query that it
	// preloads for, of the write whose hook it is.
	parent *route
	// pinned keeps everything on the primary.
	pinned bool
	// done says that the statement is over.
	done bool

	at       *server // where the statement ran; nil: the primary, or not yet
	ran      bool
	reason   policy.Reason
	attempts int
	exclude  uint64        // replicas that failed this read
	forced   policy.Reason // set: the primary, for this reason

	rows   *sql.Rows // of the newest query
	effect effect    // of the newest statement that is not a read
	wrote  bool      // rows belong to a statement that is not a read
	before reflect.Value
}

// primary returns the pool for a statement that goes to the primary.
func (r *route) primary() gorm.ConnPool {
	if r.prepared != nil {
		return r.prepared
	}
	return r.p.primary
}

// on returns the pool for a statement that goes to s.
func (r *route) on(s *server) gorm.ConnPool {
	if r.prepared != nil {
		return s.prepared
	}
	return s.pool
}

func (r *route) ranOn(s *server, reason policy.Reason) {
	r.at, r.reason, r.ran = s, reason, true
	r.p.count(s, reason)
}

// PrepareContext implements gorm.ConnPool. A prepared statement belongs to one
// server, and what it will be used for is not known: the primary.
func (r *route) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return r.primary().PrepareContext(ctx, query)
}

// ExecContext implements gorm.ConnPool.
func (r *route) ExecContext(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
	info := r.p.classify(query)
	if info.Class == sqlclass.Read && !r.pinned {
		err = r.read(ctx, func(s *server) error {
			if s == nil {
				result, err = r.primary().ExecContext(ctx, query, args...)
			} else {
				result, err = r.on(s).ExecContext(ctx, query, args...)
			}
			return err
		}, nil)
		if !r.wrote {
			return result, err
		}
		// A replica refused it as a write: it has run on the primary.
		r.p.outcome(marksOf(ctx), r.effect, err)
		return result, err
	}
	r.toPrimary(info)
	result, err = r.primary().ExecContext(ctx, query, args...)
	r.settleWrite(ctx, info, err)
	return result, err
}

// QueryContext implements gorm.ConnPool.
func (r *route) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	info := r.p.classify(query)
	r.rows, r.wrote = nil, false
	if info.Class == sqlclass.Read && !r.pinned {
		r.keepDest()
		err = r.read(ctx, func(s *server) error {
			if s == nil {
				rows, err = r.primary().QueryContext(ctx, query, args...)
			} else {
				rows, err = r.on(s).QueryContext(ctx, query, args...)
			}
			return err
		}, func() { _ = rows.Close() })
	} else {
		r.toPrimary(info)
		rows, err = r.primary().QueryContext(ctx, query, args...)
		r.wrote = info.Class != sqlclass.Read
	}
	r.rows = rows
	if err != nil && r.wrote {
		r.settleWrite(ctx, info, err)
		r.wrote = false
	} else if r.wrote {
		r.p.noticeSettings(info)
		r.committing(ctx, rows)
	}
	return rows, err
}

// QueryRowContext implements gorm.ConnPool. It never goes through a store of
// prepared statements: that returns a row which panics when its statement cannot
// be prepared.
func (r *route) QueryRowContext(ctx context.Context, query string, args ...any) (row *sql.Row) {
	info := r.p.classify(query)
	r.rows, r.wrote = nil, false
	if info.Class == sqlclass.Read && !r.pinned {
		err := r.read(ctx, func(s *server) error {
			if s == nil {
				row = r.p.primary.QueryRowContext(ctx, query, args...)
			} else {
				row = s.pool.QueryRowContext(ctx, query, args...)
			}
			return row.Err()
		}, func() { _ = row.Scan() })
		if row == nil {
			row = failing{err}.row()
		}
	} else {
		r.toPrimary(info)
		row = r.p.primary.QueryRowContext(ctx, query, args...)
		r.wrote = info.Class != sqlclass.Read
	}
	if r.wrote {
		if err := row.Err(); err != nil {
			r.settleWrite(ctx, info, err)
		} else {
			r.p.noticeSettings(info)
			r.committing(ctx, rowsOf(row))
		}
	}
	return row
}

// toPrimary notes that a statement goes to the primary because of what it is,
// or because it must follow what it belongs to.
func (r *route) toPrimary(info sqlclass.Info) {
	r.effect = effectOf(info)
	reason := policy.ReasonPinned
	switch {
	case info.Class == sqlclass.Write:
		reason = policy.ReasonWrite
	case info.Class == sqlclass.LockingRead:
		reason = policy.ReasonLockingRead
	case info.Class == sqlclass.Unknown:
		reason = policy.ReasonUnknownStatement
	}
	r.ranOn(nil, reason)
}

// settleWrite records how a statement that is not a read ended outside a
// transaction.
func (r *route) settleWrite(ctx context.Context, info sqlclass.Info, err error) {
	if info.Class == sqlclass.Read {
		return
	}
	r.p.noticeSettings(info)
	r.p.outcome(marksOf(ctx), r.effect, err)
	if r.effect.everybody && err == nil {
		r.p.resetPrepared()
	}
}

// committing notes that a statement which writes has returned rows: it commits
// when they are closed.
func (r *route) committing(ctx context.Context, rows *sql.Rows) {
	m := marksOf(ctx)
	if rows == nil {
		r.p.unsure(m)
		return
	}
	if r.effect.none {
		return
	}
	r.p.openRows.add(openRow{rows: rows, marks: m, effect: r.effect})
}

// BeginTx implements gorm.ConnPoolBeginner.
func (r *route) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	tx, err := r.p.begin(ctx, opts)
	if t, ok := tx.(gorm.Tx); ok && r.prepared != nil {
		return &gorm.PreparedStmtTX{Tx: t, PreparedStmtDB: r.prepared}, nil
	}
	return tx, err
}

// GetDBConn implements gorm.GetDBConnector.
func (r *route) GetDBConn() (*sql.DB, error) { return r.p.primaryDB() }

// Ping is what gorm.Open calls where a pool has it.
func (r *route) Ping() error { return r.p.ping() }
