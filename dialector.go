package readsplit

import (
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/readonlyguard"
)

// dialector is the application's dialector with a migrator that stays on the
// primary. A migrator looks before it acts: on a replica that is behind, a table
// that exists is missing, and its CREATE TABLE fails.
type dialector struct {
	gorm.Dialector
	p *Plugin
}

// Migrator returns the dialector's own migrator, on the primary.
func (d dialector) Migrator(db *gorm.DB) gorm.Migrator {
	if err := readonlyguard.CheckMigrator(db, d.p.guard); err != nil {
		_ = db.AddError(err)
		return readonlyguard.RefusingMigrator(err)
	}
	pool, prepared := unwrap(db.Statement.ConnPool)
	_, root := pool.(*rootPool)
	r, routed := pool.(*route)
	if root || routed || d.p.isPrimary(pool) {
		if routed {
			prepared = r.prepared
		}
		// A copy of the statement: the handle that the caller goes on using is
		// not pinned.
		db = db.Session(&gorm.Session{Context: db.Statement.Context})
		db.Statement.ConnPool = &route{p: d.p, prepared: prepared, pinned: true}
	}
	return d.Dialector.Migrator(db)
}

// migratesOnPrimary is what the dialector is known by, whatever else it can do.
type migratesOnPrimary interface{ migratesOnPrimary() }

func (d dialector) migratesOnPrimary() {}

// Unwrap returns the application's dialector.
func (d dialector) Unwrap() gorm.Dialector { return d.Dialector }

type savePointer = gorm.SavePointerDialectorInterface

// wrapDialector keeps what d can do besides, and adds nothing: GORM asks by type
// assertion whether there are savepoints (without them nested transactions
// fail) and whether errors are translated.
func wrapDialector(d gorm.Dialector, p *Plugin) gorm.Dialector {
	w := dialector{d, p}
	points, hasPoints := d.(savePointer)
	translator, translates := d.(gorm.ErrorTranslator)
	switch {
	case hasPoints && translates:
		return struct {
			dialector
			savePointer
			gorm.ErrorTranslator
		}{w, points, translator}
	case hasPoints:
		return struct {
			dialector
			savePointer
		}{w, points}
	case translates:
		return struct {
			dialector
			gorm.ErrorTranslator
		}{w, translator}
	}
	return w
}
