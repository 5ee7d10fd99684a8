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
	s := c.snapshot.Load()
	return s.judge(sql, info, mayCallReads(info) && s.readsOnly(sql))
}

// Classify is Judge of what sqlclass.Classify says of sql, and reads the text once for
// both where it can.
func (c *Catalog) Classify(sql string) sqlclass.Info {
	return c.snapshot.Load().classify(sql)
}

func (s *snapshot) classify(sql string) sqlclass.Info {
	reads := true
	info := sqlclass.ClassifyCalls(sqlclass.PostgreSQL, sql, func(text string) {
		reads = reads && s.unlistedReadsOnly(text)
	})
	return s.judge(sql, info, reads)
}

// mayCallReads reports whether nothing but calls stands between a text and a Read. What
// may turn synchronous commit off is not guessed at: a function that is wrongly declared
// stable could.
func mayCallReads(info sqlclass.Info) bool {
	return info.Class == sqlclass.Unknown && info.Flags.Has(sqlclass.UnlistedCalls) && !info.Flags.Has(sqlclass.AsyncCommit)
}

// judge is Judge by what is known of the functions on no list that the text calls:
// whether they read only.
func (s *snapshot) judge(sql string, info sqlclass.Info, reads bool) sqlclass.Info {
	switch {
	case info.Class == sqlclass.Read:
		if s.risky(sql) {
			info.Class = sqlclass.Unknown
			if mayCommitAsync(sql) {
				info.Flags |= sqlclass.AsyncCommit
			}
		}
	case info.Class != sqlclass.Unknown:
	case info.Flags.Has(sqlclass.SetsLocal):
		// SET LOCAL has names and values in it, but nothing that could run.
		if info.Verb != sqlclass.Set && s.risky(sql) {
			info.Flags &^= sqlclass.SetsLocal
		}
	case reads && mayCallReads(info):
		found := s.find(sql)
		if found&foundCall != 0 && !s.readsOnly(sql) {
			break
		}
		info.Flags &^= sqlclass.UnlistedCalls
		if !s.riskyBy(found, sql) {
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
