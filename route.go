package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
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
	router *router
	// prepared is the application's store of prepared statements when the
	// statement came in prepared mode.
	prepared *gorm.PreparedStmtDB
	// stmt is the statement that a read may be run again for.
	stmt *gorm.Statement
	// parent is the route that the statement inherited: of the query that it
	// preloads for, of the write whose hook it is.
	parent *route
	// holder is the route of the write whose hook, or the hook's handle, this is.
	holder *route
	// pinned keeps everything on the primary, for the reason why.
	pinned bool
	why    policy.Reason
	// bound keeps whatever inherits the route with its router, whatever table that
	// is about: the migrator of a table looks at others, and at the catalogue.
	bound bool
	// wish is what the handle's clauses ask for; nil: nothing.
	wish *wish
	// waiting says that the route holds the wish of a handle, and has no statement
	// yet.
	waiting bool
	// called says that GORM has run the callback of wishes.
	called bool
	// done says that the statement is over. What it left is not changed any more.
	done atomic.Bool

	at *server // where the statement ran; nil: the primary, or not yet
	// generation is that of the replica where it ran.
	generation uint64
	ran        bool
	reason     policy.Reason
	tries      bool  // it may be sent to a replica that is ejected
	ahead      bool  // read small results before giving out their first row
	wrote      bool  // rows belong to a statement that is not a read
	begins     bool  // it is for a transaction that begins with its first read
	attempts   int32 // how often it was run

	sight   *sight        // what its session had seen when it was decided
	attempt *attempt      // under way
	began   time.Duration // the newest run, since processStart
	rows    *sql.Rows     // of the newest query
	effect  effect        // of the newest statement that is not a read
	class   *class        // the group that it is meant for
	detour  *detour       // see past and strays
}

// runner runs statements: a pool, or one server's prepared statements.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// child returns the route for a statement that comes with r as its pool: it runs
// on the handle that r was left on, or belongs to the statement that r is for.
func (r *route) child(stmt *gorm.Statement, prepared *gorm.PreparedStmtDB, pinned bool) *route {
	c := &route{prepared: prepared, stmt: stmt, pinned: pinned}
	if c.prepared == nil {
		c.prepared = r.prepared
	}
	switch {
	case r.waiting:
		c.wish, c.parent, c.holder, c.pinned, c.bound = r.wish, r.parent, r.holder, pinned || r.pinned, r.bound
	case r.done.Load():
		c.wish = r.wish
		if h := r.holder; h != nil && !h.done.Load() {
			// A handle that a query in a hook has left: the write is still under way.
			c.parent, c.pinned, c.holder = h, true, h
		}
	default:
		c.parent, c.pinned, c.bound = r, pinned || r.pinned, r.bound
		if c.holder = r.holder; c.holder == nil && r.pinned {
			c.holder = r
		}
		if r.wish != nil && r.wish.read {
			c.wish = &wish{read: true} // what Use asks for is the statement's own
		}
	}
	if c.bound {
		c.router = r.router
	}
	return c
}

// pin keeps a statement, and what inherits its route, on the primary.
func (r *route) pin(why policy.Reason) { r.pinned, r.why = true, why }

// primary returns what runs statements on the primary.
func (r *route) primary() runner {
	switch {
	case r.prepared == nil:
		return r.router.target()
	case r.router.prepared != nil:
		return r.router.prepared
	default:
		return r.prepared
	}
}

// on returns what runs reads on s; nil is the primary.
func (r *route) on(s *server) runner {
	switch {
	case s == nil:
		return r.primary()
	case r.prepared != nil && !s.preparing.inUse() && !s.pooled.Load(): // behind a pooler the next server has not prepared it
		return s.preparedFor(r.pooled())
	default:
		return s.poolFor(r.pooled())
	}
}

// next returns the route for a statement that does not come through callbacks:
// the one whose statement is over stays as it is, for those who ask what was
// decided, and several goroutines may hold it.
func (r *route) next() *route {
	if !r.waiting && !r.done.Load() {
		return r
	}
	c := r.child(nil, nil, false)
	c.router = r.router
	c.heed(c.wish)
	return c
}

// end ends the statement. The handle keeps the route, but not what the statement
// held.
func (r *route) end() {
	r.stmt, r.rows = nil, nil
	if r.parent != nil {
		r.parent = nil
	}
	if r.effect.began != nil {
		r.effect = effect{}
	}
	if r.detour != nil {
		r.detour.before = before{}
	}
	r.done.Store(true)
}

// mostUnrun bounds how often one statement is begun again on one server without
// having been run.
const mostUnrun = 5

// unrun runs a statement by attempt, and again as long as it fails without having
// been run: GORM's store of prepared statements closes those that are in use when
// it is reset, and a server refuses to read by a plan from before a change of the
// schema. attempt is given the text to use.
func (r *route) unrun(s *server, query string, read bool, attempt func(text string) error) error {
	if s == nil && r.prepared != nil && r.router.prepared == nil {
		return r.unrunStored(query, read, attempt)
	}
	err := attempt(query) // a replica's own statements see to their text by themselves
	if err == nil || !read {
		return err
	}
	return r.unrunAfter(err, func() error { return attempt(query) })
}

// unrunAfter is unrun of a read that has failed.
func (r *route) unrunAfter(err error, attempt func() error) error {
	for n := 1; err != nil && n < mostUnrun && retry.OfRead(err).Cause == retry.CauseStalePlan; n++ {
		r.router.counters.retried(retry.CauseStalePlan)
		err = attempt()
	}
	return err
}

// unrunStored is unrun by GORM's store.
func (r *route) unrunStored(query string, read bool, attempt func(text string) error) (err error) {
	plans := &r.router.plugin.main.plans
	for range mostUnrun {
		text, n := query, uint64(0)
		if read {
			text, n = plans.text(query)
		}
		err = attempt(text)
		switch {
		case err == nil:
			return nil
		case err.Error() == "sql: statement is closed" || r.router.closed.Load() && err.Error() == "sql: database is closed":
			r.prepared.Stmts.Delete(text)
		case read && retry.OfRead(err).Cause == retry.CauseStalePlan:
			r.router.counters.retried(retry.CauseStalePlan)
			r.prepared.Stmts.Delete(text)
			plans.stale(n)
		default:
			return err
		}
	}
	return err
}

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

// BeginTx implements gorm.ConnPoolBeginner.
func (r *route) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	if r.wish != nil && r.wish.err != nil {
		return (*trackedTx)(nil), r.wish.err
	}
	tx, err := r.router.begin(ctx, r.wished(opts))
	if ro, ok := tx.(*readOnlyTx); ok && ro != nil {
		ro.wish = r.wish
	}
	if t, ok := tx.(gorm.Tx); ok && r.prepared != nil && r.router.prepared == nil {
		return &gorm.PreparedStmtTX{Tx: t, PreparedStmtDB: r.prepared}, err
	}
	return tx, err
}

// wished are the options of a transaction that begins on r.
func (r *route) wished(opts *sql.TxOptions) *sql.TxOptions {
	if r.wish != nil && r.wish.read && !r.pinned {
		return readOnly(opts)
	}
	return opts
}

// GetDBConn implements gorm.GetDBConnector.
func (r *route) GetDBConn() (*sql.DB, error) {
	switch {
	case r.wish == nil:
		return r.router.plugin.baseDB()
	case r.wish.err != nil:
		return nil, r.wish.err
	case !r.wish.write && !r.wish.read && r.wish.router == nil:
		return r.router.plugin.baseDB()
	case r.wish.read && !r.pinned && !takesConnection():
		// A connection to a replica would soon be behind its session.
		// And behind a name of several servers nobody would check it.
		if s, _, _, err := r.choose(context.Background(), noMarks, "", 0); err != nil || s != nil && !s.balanced() {
			return s.poolOf(r.pooled()), err
		}
	}
	return r.router.primaryDB()
}

// Ping is what gorm.Open calls where a pool has it.
func (r *route) Ping() error { return r.router.ping() }
