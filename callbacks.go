package readsplit

import (
	"database/sql"
	"errors"
	"fmt"
	"reflect"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/policy"
)

// register installs the callbacks. The names of what they stand before and
// after are checked to exist: GORM appends a callback whose neighbour it does
// not know at the end, without a word, where it would route statements that have
// already run.
func (p *Plugin) register(db *gorm.DB) error {
	var errs []error
	must := func(err error) { errs = append(errs, err) }
	cb := db.Callback()
	for name, get := range map[string]func(string) func(*gorm.DB){
		"gorm:query": cb.Query().Get, "gorm:preload": cb.Query().Get, "gorm:row": cb.Row().Get, "gorm:raw": cb.Raw().Get,
		"gorm:before_create": cb.Create().Get, "gorm:setup_reflect_value": cb.Update().Get, "gorm:before_delete": cb.Delete().Get,
	} {
		if get(name) == nil {
			must(fmt.Errorf("readsplit: GORM has no callback %q to stand before: was it removed or renamed by another plugin? readsplit cannot route without it", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	first := func(get func(string) func(*gorm.DB), otherwise string) string {
		if get("gorm:begin_transaction") != nil {
			return "gorm:begin_transaction"
		}
		return otherwise // SkipDefaultTransaction: that callback was never registered
	}
	// A step that the application has removed leaves nothing to stand before, and
	// is not needed: what was written is then found out later.
	before := func(get func(string) func(*gorm.DB), name string, register func() error) {
		if get(name) != nil {
			must(register())
		}
	}
	const route, settle, restore = "readsplit:route", "readsplit:settle", "readsplit:restore"
	must(cb.Query().Before("gorm:query").Register(route, p.routeQuery))
	must(cb.Query().Before("gorm:query").Register(wishCallback, p.wishes))
	must(cb.Query().Before("gorm:preload").Register(settle, p.settleRead))
	must(cb.Query().After("*").Register(restore, p.restore))
	must(cb.Row().Before("gorm:row").Register(route, p.routeRow))
	must(cb.Row().After("*").Register(restore, p.restore))
	must(cb.Raw().Before("gorm:raw").Register(route, p.routeRaw))
	must(cb.Raw().After("*").Register(restore, p.restore))
	must(cb.Create().Before(first(cb.Create().Get, "gorm:before_create")).Register(route, p.routeWrite))
	before(cb.Create().Get, "gorm:save_after_associations", func() error {
		return cb.Create().Before("gorm:save_after_associations").Register(settle, p.settleWrite)
	})
	must(cb.Create().After("*").Register(restore, p.restoreWrite))
	must(cb.Update().Before(first(cb.Update().Get, "gorm:setup_reflect_value")).Register(route, p.routeWrite))
	before(cb.Update().Get, "gorm:save_after_associations", func() error {
		return cb.Update().Before("gorm:save_after_associations").Register(settle, p.settleWrite)
	})
	must(cb.Update().After("*").Register(restore, p.restoreWrite))
	must(cb.Delete().Before(first(cb.Delete().Get, "gorm:before_delete")).Register(route, p.routeWrite))
	before(cb.Delete().Get, "gorm:after_delete", func() error {
		return cb.Delete().Before("gorm:after_delete").Register(settle, p.settleWrite)
	})
	must(cb.Delete().After("*").Register(restore, p.restoreWrite))
	return errors.Join(errs...)
}

func (p *Plugin) routeQuery(db *gorm.DB) {
	var r *route
	if root, ok := db.Statement.ConnPool.(*rootPool); ok && root.router.plugin == p && !db.DryRun {
		// As route would find out on a longer way: most statements come like this.
		r = &route{stmt: db.Statement}
		p.put(db, r)
	} else {
		p.route(db, false)
		if r, ok = p.routeOf(db); !ok {
			return
		}
	}
	if !r.pinned && readsToWrite(db.Statement) {
		r.pin(policy.ReasonReadToWrite)
	}
}

func (p *Plugin) routeRaw(db *gorm.DB) { p.routeOther(db, false) }

// routeOther routes what is no query: GORM does not call wishes for it.
func (p *Plugin) routeOther(db *gorm.DB, pinned bool) {
	p.route(db, pinned)
	if r, ok := p.routeOf(db); ok {
		r.called = true
	}
}

func (p *Plugin) routeWrite(db *gorm.DB) {
	if db.DryRun {
		p.rehearse(db, true)
		// GORM begins and commits a real transaction around a statement that it
		// does not run, unless the pool cannot begin one.
		db.Statement.ConnPool = dryPool{db.Statement.ConnPool}
		return
	}
	p.routeOther(db, true)
	if r, ok := p.routeOf(db); ok && !db.SkipDefaultTransaction && (r.router != p.main || r.wish != nil) {
		p.keepPool(db, r)
	}
}

func (p *Plugin) routeRow(db *gorm.DB) {
	// The dialector of a handle that was derived before the plugin was installed
	// is the application's own, whose migrator does not stay on the primary by
	// itself.
	_, ours := db.Dialector.(migratesOnPrimary)
	p.routeOther(db, !ours && !db.DryRun && migrates())
	if r, ok := p.routeOf(db); ok {
		r.ahead = true // its rows go to the application
	}
	if db.DryRun {
		rehearsesRow(db)
		return
	}
	if tx, ok := db.Statement.ConnPool.(*gorm.PreparedStmtTX); ok {
		if rows, ok := db.Get("rows"); !ok || rows != true {
			db.Statement.ConnPool = plain(tx)
		}
	}
}

// route puts a pool of its own in place of the root pool, for one statement.
// pinned keeps the statement, and what its hooks do, on the primary.
func (p *Plugin) route(db *gorm.DB, pinned bool) {
	if db.DryRun {
		p.rehearse(db, pinned)
		return
	}
	outer, prepared := unwrap(db.Statement.ConnPool)
	if prepared != nil && p.main.store.Load() == nil {
		p.main.store.Store(prepared)
	}
	if r := p.routeFrom(db, outer, prepared, pinned); r != nil {
		p.put(db, r)
		return
	}
	switch pool := outer.(type) {
	case *route, *rootPool, *rehearsed, *rehearsedTx:
	case *trackedTx:
		pool.join(db.Statement.Context)
		if tx, ok := db.Statement.ConnPool.(*gorm.PreparedStmtTX); ok && pool != nil && pool.router.prepared != nil {
			// GORM's store belongs to another primary.
			db.Statement.ConnPool = plain(tx)
		}
	case *readOnlyTx:
		// GORM's store prepares on the primary, which a transaction on a replica
		// must not need: with one connection to it, it would wait for itself.
		if tx, ok := db.Statement.ConnPool.(*gorm.PreparedStmtTX); ok {
			db.Statement.ConnPool = plain(tx)
		}
	case *sql.Tx:
	default:
		if pinned && shardingLosesTransactions(db) {
			_ = db.AddError(errSharding)
			return
		}
		if pinned && !db.SkipDefaultTransaction {
			// After the default transaction GORM puts the configured pool here,
			// and gorm.DB.Connection would lose its connection.
			p.keepPool(db, db.Statement.ConnPool)
		}
	}
}

// routeFrom returns the route of a statement that comes with pool; nil where that is
// a transaction, a connection of the application's own, or another plugin's.
func (p *Plugin) routeFrom(db *gorm.DB, pool gorm.ConnPool, prepared *gorm.PreparedStmtDB, pinned bool) *route {
	switch pool := pool.(type) {
	case *route:
		if pool.router.plugin == p {
			return pool.child(db.Statement, prepared, pinned)
		}
	case *rootPool:
		if pool.router.plugin == p {
			r := &route{prepared: prepared, stmt: db.Statement, pinned: pinned}
			if prepared != nil && gorm.ConnPool(prepared) != p.db.ConnPool {
				// gorm.Session{PrepareStmt: true} has replaced the pool that held the
				// wish of the handle.
				r.wish = p.wishOf(db.Statement)
			}
			return r
		}
	case *trackedTx, *readOnlyTx, *sql.Tx, *rehearsed, *rehearsedTx:
	default:
		if p.isBase(pool) {
			// A handle that was derived before the plugin was installed.
			if p.main.follow != nil {
				prepared = nil // it prepares wherever the application's pool leads
			}
			return &route{prepared: prepared, stmt: db.Statement, pinned: pinned}
		}
	}
	return nil
}

// put makes r the pool of its statement and decides between which servers.
func (p *Plugin) put(db *gorm.DB, r *route) {
	if w := r.wish; w != nil {
		if w.err != nil {
			_ = db.AddError(w.err)
		}
		r.heed(w)
	}
	if t := p.tables.Load(); r.router == nil && len(t.byTable) > 0 {
		r.router = t.of(p.main.dialect, db.Statement)
	}
	if r.router == nil {
		r.router = p.main
	}
	if p.cfg.Settings != nil {
		// Each statement has the primary's connection to itself for a moment, and
		// would be prepared every time. The driver's own cache is not lost.
		r.prepared = nil
	}
	db.Statement.ConnPool = r
}

// unwrap looks through stores of prepared statements, which can be nested: in
// the configuration and again in a gorm.Session.
func unwrap(pool gorm.ConnPool) (gorm.ConnPool, *gorm.PreparedStmtDB) {
	var prepared *gorm.PreparedStmtDB
	for {
		switch s := pool.(type) {
		case *gorm.PreparedStmtDB:
			if prepared == nil {
				prepared = s
			}
			pool = s.ConnPool
		case *gorm.PreparedStmtTX:
			pool = s.Tx
		case *plainTx:
			pool = s.Tx
		default:
			return pool, prepared
		}
	}
}

// routeOf returns the route that was made for db's statement, not one that the
// statement inherited.
func (p *Plugin) routeOf(db *gorm.DB) (*route, bool) {
	r, ok := db.Statement.ConnPool.(*route)
	if !ok && db.DryRun {
		r, ok = rehearsedRoute(db.Statement.ConnPool)
	}
	return r, ok && r.router.plugin == p && r.stmt == db.Statement
}

// settleRead runs a query again elsewhere that failed while its rows were read,
// before anything is done with them.
func (p *Plugin) settleRead(db *gorm.DB) {
	if db.DryRun && len(db.Statement.Preloads) > 0 {
		p.foundNothing(db)
	}
	if r, ok := p.routeOf(db); ok && !r.settled(db) {
		r.rerun(db)
		r.recheck(db)
		r.closedPlace()
		r.closedRows(db)
	}
}

// settled reports whether a query has simply been answered by a replica, with some row
// that it looked for: nothing of what may follow a query concerns it.
func (r *route) settled(db *gorm.DB) bool {
	return db.Error == nil && db.RowsAffected > 0 && r.at != nil && r.detour == nil && !r.wrote && db.Statement.ReflectValue.Kind() != reflect.Slice
}

// settleWrite records how a write ended that returned rows.
func (p *Plugin) settleWrite(db *gorm.DB) {
	if r, ok := p.routeOf(db); ok {
		r.closedRows(db)
	}
}

// restore ends the statement of a route: what comes next on the same handle is
// decided anew.
func (p *Plugin) restore(db *gorm.DB) {
	if db.DryRun && p.rehearsed(db) {
		return
	}
	if p.cfg.LogServers {
		p.logServer(db)
	}
	if r, ok := p.routeOf(db); ok {
		r.end()
		return
	}
	switch pool := db.Statement.ConnPool.(type) {
	case dryPool:
		db.Statement.ConnPool = pool.ConnPool
	case *plainTx:
		db.Statement.ConnPool = pool.outer
		p.unrouted(db, pool.outer)
	default:
		p.unrouted(db, pool)
	}
}

// restoreWrite is restore after Create, Update and Delete. The default
// transaction has put the configured pool back, which knows no decision.
func (p *Plugin) restoreWrite(db *gorm.DB) {
	if db.DryRun {
		p.restore(db)
		return
	}
	if r, ok := db.Statement.ConnPool.(*route); ok && r.router.plugin == p {
		_ = r.router.noticed(db.Error)
	} else {
		_ = p.main.noticed(db.Error)
	}
	if db.SkipDefaultTransaction {
		p.restore(db)
		return
	}
	pool, prepared := unwrap(db.Statement.ConnPool)
	root, ok := pool.(*rootPool)
	if !p.isBase(pool) && (!ok || root.router.plugin != p) {
		p.restore(db)
		return
	}
	ran := db.Statement.SQL.Len() > 0
	switch own := p.keptPool(db).(type) {
	case nil:
		db.Statement.ConnPool = p.main.afterWrite(prepared, ran)
	case *route:
		if ran {
			own.ran, own.reason = true, policy.ReasonWrite
		}
		own.end()
		db.Statement.ConnPool = own
	default:
		db.Statement.ConnPool = own
		p.unrouted(db, own)
		return
	}
	p.logServer(db)
}

// unrouted looks at a statement that ran on a pool of the application's own or
// inside a transaction.
func (p *Plugin) unrouted(db *gorm.DB, pool gorm.ConnPool) {
	if db.Statement.SQL.Len() == 0 || db.DryRun {
		return
	}
	inner, _ := unwrap(pool)
	switch tx := inner.(type) {
	case *trackedTx, *readOnlyTx, *rootPool, *route, *rehearsed, *rehearsedTx:
	case *sql.Tx:
		for _, rt := range p.writers() {
			rt.foreignTx(tx, marksOf(db.Statement.Context), rt.classify(db.Statement.SQL.String()))
		}
	default:
		for _, rt := range p.writers() {
			rt.foreignPool(marksOf(db.Statement.Context), rt.classify(db.Statement.SQL.String()))
		}
	}
}

// dryPool hides BeginTx.
type dryPool struct{ gorm.ConnPool }

// plainTx is a transaction without prepared statements, for one statement. One
// that is run by Row needs it too: where a statement cannot be prepared, GORM's
// store returns a row that panics when it is scanned.
type plainTx struct {
	gorm.Tx
	outer *gorm.PreparedStmtTX
}

func plain(tx *gorm.PreparedStmtTX) *plainTx {
	p := &plainTx{Tx: tx.Tx, outer: tx}
	for {
		inner, ok := p.Tx.(*gorm.PreparedStmtTX)
		if !ok {
			return p
		}
		p.Tx = inner.Tx
	}
}
