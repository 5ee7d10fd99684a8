package readonlyguard

import "gorm.io/gorm"

// dialector is the application's dialector, but for the migrator.
type dialector struct {
	gorm.Dialector
	options Options
}

// Migrator returns the dialector's own, unless this is a read session.
func (d dialector) Migrator(db *gorm.DB) gorm.Migrator {
	if err := CheckMigrator(db, d.options); err != nil {
		_ = db.AddError(err)
		return RefusingMigrator(err)
	}
	return d.Dialector.Migrator(db)
}

// Unwrap returns the application's dialector.
func (d dialector) Unwrap() gorm.Dialector { return d.Dialector }

type savePoints = gorm.SavePointerDialectorInterface

// guardDialector keeps what the dialector can do besides, and adds nothing to it: gorm asks by type assertion
// whether there are savepoints and whether errors are translated.
func guardDialector(d gorm.Dialector, o Options) gorm.Dialector {
	guarded := dialector{d, o}
	points, hasPoints := d.(savePoints)
	translator, hasTranslator := d.(gorm.ErrorTranslator)
	switch {
	case hasPoints && hasTranslator:
		return struct {
			dialector
			savePoints
			gorm.ErrorTranslator
		}{guarded, points, translator}
	case hasPoints:
		return struct {
			dialector
			savePoints
		}{guarded, points}
	case hasTranslator:
		return struct {
			dialector
			gorm.ErrorTranslator
		}{guarded, translator}
	}
	return guarded
}
