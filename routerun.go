package readsplit

import (
	"context"
	"database/sql"
	"errors"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/sqlclass"
)

func (r *route) ranOn(ctx context.Context, s *server, reason policy.Reason) {
	r.at, r.reason, r.ran = s, reason, true
	r.router.count(s, reason)
	if r.class != nil || r.detour != nil {
		r.countGroup(s, reason)
	}
	if len(r.router.plugin.told.Decisions) > 0 {
		r.tell(ctx, s, reason)
	}
}

// PrepareContext implements gorm.ConnPool. A prepared statement belongs to one
// server, and what it will be used for is not known: the primary.
func (r *route) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if r.prepared != nil && r.router.prepared == nil {
		return r.prepared.PrepareContext(ctx, query)
	}
	return r.router.target().PrepareContext(ctx, query)
}

// ExecContext implements gorm.ConnPool.
func (r *route) ExecContext(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
	r = r.next()
	sessionless(ctx)
	info := r.router.classify(query)
	run := func(s *server) error {
		ctx := r.begin(ctx, s)
		return r.unrun(s, query, info.Class == sqlclass.Read, func(text string) error {
			result, err = r.on(s).ExecContext(ctx, text, args...)
			return err
		})
	}
	if info.Class == sqlclass.Read && !r.pinned {
		err = r.read(ctx, query, run, nil)
		r.leave()
		if r.wrote {
			// A replica refused it as a write: it has run on the primary.
			err = r.settle(ctx, info, err)
		}
		return result, err
	}
	r.toPrimary(ctx, info)
	sent := ctx.Err() == nil // else database/sql sends nothing: nothing is unknown
	_ = run(nil)
	r.shownThere(ctx, err)
	if sent {
		err = r.settle(ctx, info, err)
	}
	return result, err
}

// QueryContext implements gorm.ConnPool.
func (r *route) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	r = r.next()
	sessionless(ctx)
	info := r.router.classify(query)
	if r.rows != nil || r.wrote {
		r.rows, r.wrote = nil, false
	}
	run := func(s *server) error {
		ctx := r.begin(ctx, s)
		if s != nil && (r.prepared == nil || s.preparing.inUse()) {
			// As unrun would do it on a longer way: most reads run like this, and once.
			if rows, err = s.poolFor(r.pooled()).QueryContext(ctx, query, args...); err == nil {
				return nil
			}
			return r.unrunAfter(err, func() error {
				rows, err = s.poolFor(r.pooled()).QueryContext(ctx, query, args...)
				return err
			})
		}
		return r.unrun(s, query, info.Class == sqlclass.Read, func(text string) error {
			rows, err = r.on(s).QueryContext(ctx, text, args...)
			return err
		})
	}
	if info.Class == sqlclass.Read && !r.pinned {
		r.keepDest()
		err = r.read(ctx, query, run, func() { _ = rows.Close() })
		if r.detour != nil {
			r.keep(rows)
		}
	} else {
		r.toPrimary(ctx, info)
		r.wrote = info.Class != sqlclass.Read && ctx.Err() == nil
		_ = run(nil)
		r.shownThere(ctx, err)
	}
	r.rows = rows
	if err != nil && r.wrote {
		err = r.settle(ctx, info, err)
		r.wrote = false
	} else if r.wrote {
		r.router.noticeSettings(info)
		r.committing(ctx, rows)
		rows = r.handOut(rows)
	}
	return rows, err
}

// QueryRowContext implements gorm.ConnPool. It never goes through a store of
// prepared statements: that returns a row which panics when its statement cannot
// be prepared.
func (r *route) QueryRowContext(ctx context.Context, query string, args ...any) (row *sql.Row) {
	r = r.next()
	sessionless(ctx)
	info := r.router.classify(query)
	r.rows, r.wrote = nil, false
	run := func(s *server) error {
		pool := r.router.target()
		if s != nil {
			pool = s.poolFor(r.pooled())
		}
		ctx := r.begin(ctx, s)
		return r.unrun(s, query, info.Class == sqlclass.Read, func(string) error {
			row = pool.QueryRowContext(ctx, query, args...)
			return row.Err()
		})
	}
	if info.Class == sqlclass.Read && !r.pinned {
		err := r.read(ctx, query, run, func() { _ = row.Scan() })
		if row == nil || err != nil && !errors.Is(row.Err(), err) {
			row = failing{err}.row() // the row is of an attempt before
		}
		if r.past().place != nil {
			r.keep(rowsOf(row))
		}
	} else {
		r.toPrimary(ctx, info)
		r.wrote = info.Class != sqlclass.Read && ctx.Err() == nil
		_ = run(nil)
		r.shownThere(ctx, row.Err())
	}
	if r.wrote {
		if err := row.Err(); err != nil {
			if settled := r.settle(ctx, info, err); settled != err { //nolint:errorlint // another error, not another kind
				row = failing{settled}.row()
			}
		} else {
			r.router.noticeSettings(info)
			r.committing(ctx, rowsOf(row))
			row = r.handOutRow(row)
		}
	}
	return row
}

// toPrimary notes that a statement goes to the primary because of what it is,
// or because it must follow what it belongs to.
func (r *route) toPrimary(ctx context.Context, info sqlclass.Info) {
	r.effect = effectOf(info)
	r.effect.began = r.router.historyNow()
	r.attempts++
	r.ranOn(ctx, nil, r.because(info))
}

// because is why a statement goes to the primary without a question to the policies;
// ReasonNone: it does not.
func (r *route) because(info sqlclass.Info) policy.Reason {
	switch {
	case info.Class == sqlclass.Write:
		return policy.ReasonWrite
	case info.Class == sqlclass.LockingRead:
		return policy.ReasonLockingRead
	case info.Class == sqlclass.Unknown:
		return policy.ReasonUnknownStatement
	case !r.pinned:
		return policy.ReasonNone
	case r.why != 0:
		return r.why
	default:
		return policy.ReasonPinned
	}
}
