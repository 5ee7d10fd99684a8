package readsplit

import (
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit/readonlyguard"
)

// dialector is the application's dialector with a migrator that stays on the
// primary. A migrator looks before it acts: on a replica that is behind, a table
// that exists is missing, and its CREATE TABLE fails.
type dialector struct {
	gorm.Dialector
	p      *Plugin
	quotes *quotes // nil: they are the application's dialector's
}

// QuoteTo implements gorm.Dialector.
func (d *dialector) QuoteTo(to clause.Writer, name string) {
	if d.quotes != nil {
		if quoted, ok := d.quotes.of(d.Dialector, name); ok {
			_, _ = to.WriteString(quoted) // a text in memory
			return
		}
	}
	d.Dialector.QuoteTo(to, name)
}

// Migrator returns the dialector's own migrator, on the primary.
func (d *dialector) Migrator(db *gorm.DB) gorm.Migrator {
	if err := readonlyguard.CheckMigrator(db, d.p.guard); err != nil {
		_ = db.AddError(err)
		return readonlyguard.RefusingMigrator(err)
	}
	pool, prepared := unwrap(db.Statement.ConnPool)
	if x, ok := pool.(*rehearsed); ok {
		at := d.p.main
		if r, ok := x.inner.(*route); ok && r.bound {
			at = r.router
		} else if ok && r.wish != nil && r.wish.router != nil {
			at = r.wish.router
		}
		copied := db.Session(&gorm.Session{Context: db.Statement.Context})
		copied.Statement.ConnPool = x.pool(&route{router: at, pinned: true, bound: true})
		return d.Dialector.Migrator(copied)
	}
	root, isRoot := pool.(*rootPool)
	r, routed := pool.(*route)
	if isRoot && root.router.plugin != d.p || routed && r.router.plugin != d.p || !isRoot && !routed && !d.p.isBase(pool) {
		return d.Dialector.Migrator(db) // inside a transaction, or not ours
	}
	if routed {
		prepared = r.prepared
	}
	on := func(rt *router) gorm.Migrator {
		// A copy of the statement: the handle that the caller goes on using is
		// not pinned.
		copied := db.Session(&gorm.Session{Context: db.Statement.Context})
		copied.Statement.ConnPool = &route{router: rt, prepared: prepared, pinned: true, bound: true}
		return d.Dialector.Migrator(copied)
	}
	switch {
	case routed && r.bound:
		return on(r.router)
	case routed && r.wish != nil && r.wish.err != nil:
		_ = db.AddError(r.wish.err)
		return on(d.p.main)
	case routed && r.wish != nil && r.wish.router != nil:
		return on(r.wish.router)
	case d.p.spread():
		return tableMigrator{Migrator: on(d.p.main), p: d.p, on: on}
	default:
		return on(d.p.main)
	}
}

// migratesOnPrimary is what the dialector is known by, whatever else it can do.
type migratesOnPrimary interface{ migratesOnPrimary() }

func (d *dialector) migratesOnPrimary() {}

// Unwrap returns the application's dialector.
func (d *dialector) Unwrap() gorm.Dialector { return d.Dialector }

type savePointer = gorm.SavePointerDialectorInterface

// wrapDialector keeps what d can do besides, and adds nothing: GORM asks by type
// assertion whether there are savepoints (without them nested transactions
// fail) and whether errors are translated.
func wrapDialector(d gorm.Dialector, p *Plugin) gorm.Dialector {
	w := &dialector{d, p, quotesOf(d)}
	points, hasPoints := d.(savePointer)
	translator, translates := d.(gorm.ErrorTranslator)
	switch {
	case hasPoints && translates:
		return struct {
			*dialector
			savePointer
			gorm.ErrorTranslator
		}{w, points, translator}
	case hasPoints:
		return struct {
			*dialector
			savePointer
		}{w, points}
	case translates:
		return struct {
			*dialector
			gorm.ErrorTranslator
		}{w, translator}
	}
	return w
}
