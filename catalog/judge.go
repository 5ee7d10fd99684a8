package catalog

import (
	"strings"

	"github.com/readsplit/readsplit/sqlclass"
)

// Judge corrects info, which sqlclass.Classify said of sql, by what is known of the
// database. Only three things change: a text that is Unknown with UnlistedCalls may
// become a Read without that flag, a Read may become Unknown, and a text that is
// Unknown with SetsLocal may lose that flag, since it does more than setting
// parameters. Judge does no I/O and never waits; while nothing is known, functions are
// unknown and views are what they seem.
func (c *Catalog) Judge(sql string, info sqlclass.Info) sqlclass.Info {
	return c.snapshot.Load().judge(sql, info)
}

func (s *snapshot) judge(sql string, info sqlclass.Info) sqlclass.Info {
	switch info.Class {
	case sqlclass.Read:
		if s.risky(sql) {
			info.Class = sqlclass.Unknown
			if mayCommitAsync(sql) {
				info.Flags |= sqlclass.AsyncCommit
			}
		}
	case sqlclass.Unknown:
		// SET LOCAL has names and values in it, but nothing that could run.
		if info.Flags.Has(sqlclass.SetsLocal) && info.Verb != sqlclass.Set && s.risky(sql) {
			info.Flags &^= sqlclass.SetsLocal
		}
		// What may turn synchronous commit off is not guessed at: a function that is
		// wrongly declared stable could.
		if !info.Flags.Has(sqlclass.UnlistedCalls) || info.Flags.Has(sqlclass.AsyncCommit) {
			break
		}
		if s.readsOnly(sql) {
			info.Flags &^= sqlclass.UnlistedCalls
			if s.risky(sql) {
				break
			}
			info.Class = sqlclass.Read
		}
	}
	return info
}

// mayCommitAsync says of a text what Classify says of those that it takes for no
// reads: that it mentions the setting, or a name that it does not show.
func mayCommitAsync(sql string) bool {
	return containsFold(sql, "synchronous_commit") || containsFold(sql, "pg_settings") || containsFold(sql, `u&"`)
}

// containsFold reports whether sql contains the lower-case text in any case.
func containsFold(sql, lower string) bool {
	for i := 0; i+len(lower) <= len(sql); i++ {
		if folded[sql[i]] == lower[0] && strings.EqualFold(sql[i:i+len(lower)], lower) {
			return true
		}
	}
	return false
}
