package readonlyguard

import (
	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/logger"
)

// builtText returns the text that gorm is about to build for a query, without building it in place: other plugins'
// callbacks have not run yet, and a clause that they add (a tenant's condition) must still find its way in. gorm
// reports by itself what cannot be built.
func builtText(db *gorm.DB) (string, bool) {
	copied := db.Session(&gorm.Session{DryRun: true, Initialized: true, Logger: logger.Discard})
	copied.Statement.BuildClauses = db.Statement.BuildClauses
	callbacks.BuildQuerySQL(copied)
	return copied.Statement.SQL.String(), copied.Error == nil
}
