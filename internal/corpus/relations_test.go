package corpus

import (
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/sqlclass"
)

// usedRelations are what the view named probe reads directly, as its dependencies say.
const usedRelations = `
SELECT DISTINCT c.relname FROM pg_catalog.pg_rewrite r
  JOIN pg_catalog.pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
  JOIN pg_catalog.pg_class c ON c.oid = d.refobjid
 WHERE r.ev_class = 'probe'::regclass AND c.oid <> r.ev_class AND c.relkind IN ('r', 'v', 'm', 'p', 'f')`

// TestRelationsMissNothing makes a view of every query of the corpus: what the
// server says that it depends on, Relations must have named. A relation that it
// misses is a view whose side effect nobody sees.
func TestRelationsMissNothing(t *testing.T) {
	c := cluster(t)
	views, relations := 0, 0
	var origin string
	var conn *pgconn.PgConn
	for _, s := range load(t) {
		if strings.Contains(s.sql, "$1") || sqlclass.Classify(sqlclass.PostgreSQL, s.sql).Verb > sqlclass.Table {
			continue
		}
		if conn == nil || origin != s.origin {
			if conn != nil {
				disconnect(conn)
			}
			origin, conn = s.origin, connect(t, c.Primary(), s.origin)
		}
		require.Empty(t, run(t, conn, "BEGIN"))
		if run(t, conn, "CREATE TEMP VIEW probe AS SELECT 1 AS one WHERE EXISTS ("+s.sql+"\n)") == "" {
			views++
			named := map[string]bool{}
			sqlclass.Relations(sqlclass.PostgreSQL, s.sql, func(name string) bool {
				named[bareName(name)] = true
				return true
			})
			rows, err := conn.Exec(t.Context(), usedRelations).ReadAll()
			require.NoError(t, err)
			for _, row := range rows[0].Rows {
				used := string(row[0])
				if !mentions(s.sql, used) {
					continue
				}
				relations++
				assert.True(t, named[used], "%s:%d reads %s, which Relations does not name: %s", s.origin, s.line, used, oneLine(s.sql))
			}
		}
		require.Empty(t, run(t, conn, "ROLLBACK"))
	}
	disconnect(conn)
	t.Logf("%d views over %d relations", views, relations)
	assert.Greater(t, views, 700)
	assert.Greater(t, relations, 900)
}

var literalOrCast = regexp.MustCompile(`'[^']*'|::"?\w+"?(\."?\w+"?)?`)

// mentions reports whether a text has a relation's name outside of literals and
// casts. 'users'::regclass, a row type and the result of a function are
// dependencies too, and read nothing.
func mentions(sql, name string) bool {
	word := regexp.MustCompile(`(?i)(^|\W)` + regexp.QuoteMeta(name) + `($|\W)`)
	return word.MatchString(literalOrCast.ReplaceAllString(sql, " "))
}

// bareName is the last part of a name, without its quotes.
func bareName(name string) string {
	if strings.HasSuffix(name, `"`) {
		name = strings.TrimSuffix(name, `"`)
		return strings.ReplaceAll(name[strings.LastIndex(strings.ReplaceAll(name, `""`, "__"), `"`)+1:], `""`, `"`)
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}
