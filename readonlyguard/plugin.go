package readonlyguard

import "gorm.io/gorm"

// PluginName is the name of the plugin that [New] returns.
const PluginName = "readsplit:readonlyguard"

// New returns the guard as a plugin, for an application that does not use the rest of readsplit:
//
//	err := db.Use(readonlyguard.New())
//
// Use it right after gorm.Open: handles derived before that keep the connection pool and the dialector without it,
// where CreateInBatches may send a BEGIN, and AutoMigrate its first look, before they are refused.
//
// On PostgreSQL a transaction begun in a read session is begun READ ONLY, so that the server refuses what the guard
// did not see.
func New(options ...Option) gorm.Plugin {
	var o Options
	for _, option := range options {
		option(&o)
	}
	return &plugin{options: o}
}

type plugin struct{ options Options }

func (p *plugin) Name() string { return PluginName }

// Initialize may run more than once, and each time for another gorm.DB: gorm runs it again for every database that
// another plugin opens with a copy of this one's configuration.
func (p *plugin) Initialize(db *gorm.DB) error {
	if err := Register(db, p.options); err != nil {
		return err
	}
	guardPool(db)
	db.Dialector = guardDialector(db.Dialector, p.options)
	return nil
}

// guardPool puts the guarded pool below gorm's prepared statements, where these are on: gorm and its plugins look for
// a *gorm.PreparedStmtDB at the top.
func guardPool(db *gorm.DB) {
	readOnlyTx := db.Dialector.Name() == "postgres" // the SQL Server driver knows no such option
	if prepared, ok := db.ConnPool.(*gorm.PreparedStmtDB); ok {
		prepared.ConnPool = &pool{ConnPool: prepared.ConnPool, readOnlyTx: readOnlyTx}
		return
	}
	db.ConnPool = &pool{ConnPool: db.ConnPool, readOnlyTx: readOnlyTx}
	db.Statement.ConnPool = db.ConnPool
}
