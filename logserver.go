package readsplit

import "gorm.io/gorm"

// logServer adds to the text of a statement that has run where that was, for
// Config.LogServers. GORM hands the text to its logger next and then throws it away.
func (p *Plugin) logServer(db *gorm.DB) {
	if !p.cfg.LogServers || db.DryRun || db.Statement.SQL.Len() == 0 {
		return
	}
	d, ok := DecisionOf(db)
	if !ok {
		return
	}
	db.Statement.SQL.WriteString(" /* " + d.String() + " */")
}
