package readsplit

import (
	"database/sql"
	"errors"
	"fmt"

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
	const route, settle, restore = "readsplit:route", "readsplit:settle", "readsplit:restore"
	must(cb.Query().Before("gorm:query").Register(route, p.routeRead))
	must(cb.Query().Before("gorm:preload").Register(settle, p.settleRead))
	must(cb.Query().After("*").Register(restore, p.restore))
	must(cb.Row().Before("gorm:row").Register(route, p.routeRead))
	must(cb.Row().After("*").Register(restore, p.restore))
	must(cb.Raw().Before("gorm:raw").Register(route, p.routeRead))
	must(cb.Raw().After("*").Register(restore, p.restore))
	must(cb.Create().Before(first(cb.Create().Get, "gorm:before_create")).Register(route, p.routeWrite))
	must(cb.Create().After("*").Register(restore, p.restoreWrite))
	must(cb.Update().Before(first(cb.Update().Get, "gorm:setup_reflect_value")).Register(route, p.routeWrite))
	must(cb.Update().After("*").Register(restore, p.restoreWrite))
	must(cb.Delete().Before(first(cb.Delete().Get, "gorm:before_delete")).Register(route, p.routeWrite))
	must(cb.Delete().After("*").Register(restore, p.restoreWrite))
	return errors.Join(errs...)
}

func (p *Plugin) routeRead(db *gorm.DB)  { p.route(db, false) }
func (p *Plugin) routeWrite(db *gorm.DB) { p.route(db, true) }

// route puts a pool of its own in place of the root pool, for one statement.
func (p *Plugin) route(db *gorm.DB, write bool) {
	if p.closed.Load() {
		return
	}
	if db.DryRun {
		if write {
			// GORM begins and commits a real transaction around a statement that
			// it does not run, unless the pool cannot begin one.
			db.Statement.ConnPool = dryPool{db.Statement.ConnPool}
		}
		return
	}
	switch pool, prepared := unwrap(db.Statement.ConnPool); pool := pool.(type) {
	case *route:
		if pool.p != p {
			return
		}
		r := &route{p: p, prepared: pool.prepared, stmt: db.Statement, pinned: write}
		if prepared != nil {
			r.prepared = prepared
		}
		if !pool.done {
			r.parent, r.pinned = pool, write || pool.pinned
		}
		db.Statement.ConnPool = r
	case *rootPool:
		if pool.p == p {
			db.Statement.ConnPool = &route{p: p, prepared: prepared, stmt: db.Statement, pinned: write}
		}
	case *trackedTx:
		pool.join(marksOf(db.Statement.Context))
	case *readOnlyTx:
	default:
		if p.isPrimary(pool) {
			// A handle that was derived before the plugin was installed.
			db.Statement.ConnPool = &route{p: p, prepared: prepared, stmt: db.Statement, pinned: write}
		}
	}
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
		default:
			return pool, prepared
		}
	}
}

// settleRead runs a query again elsewhere that failed while its rows were read,
// before anything is done with them.
func (p *Plugin) settleRead(db *gorm.DB) {
	if r, ok := db.Statement.ConnPool.(*route); ok && r.p == p && r.stmt == db.Statement {
		r.rerun(db)
	}
}

// restore ends the statement of a route: what comes next on the same handle is
// decided anew.
func (p *Plugin) restore(db *gorm.DB) {
	switch pool := db.Statement.ConnPool.(type) {
	case *route:
		if pool.p != p {
			return
		}
		pool.done = true
		pool.parent = nil
		pool.stmt = nil
		if pool.rows != nil {
			if _, err := pool.rows.Columns(); err != nil {
				pool.rows = nil // closed; rows that are open belong to the caller
			}
		}
	case dryPool:
		db.Statement.ConnPool = pool.ConnPool
	default:
		p.unrouted(db, pool)
	}
}

// restoreWrite is restore after Create, Update and Delete. The default
// transaction has put the configured pool back, which knows no decision.
func (p *Plugin) restoreWrite(db *gorm.DB) {
	if pool, prepared := unwrap(db.Statement.ConnPool); db.Statement.SQL.Len() > 0 && !db.DryRun {
		if root, ok := pool.(*rootPool); ok && root.p == p {
			r := &route{p: p, prepared: prepared, done: true}
			r.ran, r.reason = true, policy.ReasonWrite
			db.Statement.ConnPool = r
			return
		}
	}
	p.restore(db)
}

// unrouted looks at a statement that ran on a pool of the application's own or
// inside a transaction.
func (p *Plugin) unrouted(db *gorm.DB, pool gorm.ConnPool) {
	if db.Statement.SQL.Len() == 0 || db.DryRun {
		return
	}
	inner, _ := unwrap(pool)
	switch tx := inner.(type) {
	case *trackedTx, *readOnlyTx, *rootPool, *route:
	case *sql.Tx:
		p.foreignTx(tx, marksOf(db.Statement.Context), p.classify(db.Statement.SQL.String()))
	default:
		p.foreignPool(marksOf(db.Statement.Context), p.classify(db.Statement.SQL.String()))
	}
}

// dryPool hides BeginTx.
type dryPool struct{ gorm.ConnPool }
