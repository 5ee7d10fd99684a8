package corpus

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/sqlclass"
)

// builtins lists the server's own functions with the types of their arguments, as
// they can be called in SQL.
const builtins = `
SELECT p.proname, p.prokind, coalesce(string_agg(pg_catalog.format_type(t.oid, NULL), '|' ORDER BY a.pos), '')
  FROM pg_catalog.pg_proc p
  LEFT JOIN LATERAL unnest(p.proargtypes::oid[]) WITH ORDINALITY AS a(type, pos) ON true
  LEFT JOIN pg_catalog.pg_type t ON t.oid = a.type
  LEFT JOIN pg_catalog.pg_aggregate g ON g.aggfnoid = p.oid
 WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind IN ('f', 'a', 'w') AND coalesce(g.aggkind, 'n') = 'n'
   AND NOT (p.proargtypes::oid[] || p.prorettype) && ARRAY['internal', 'cstring', 'trigger', 'event_trigger', '"any"']::regtype[]::oid[]
 GROUP BY p.oid, p.proname, p.prokind ORDER BY p.proname, p.oid`

// arguments are values for the types for which NULL would keep a function from
// running at all.
var arguments = map[string]string{
	"text": "'a'", "name": "'a'", "character": "'a'", "bytea": `'\x61'`, "boolean": "true", `"char"`: "'a'", "anyelement": "1", "anyarray": "ARRAY[1]",
	"anynonarray": "1", "anyenum": "'fine'::postgresql.mood", "anycompatible": "1", "anycompatiblearray": "ARRAY[1]", "anyrange": "int4range(1, 2)",
	"anymultirange": "int4multirange(int4range(1, 2))", "record": "ROW(1, 2)", "json": `'{"a": [1]}'`, "jsonb": `'{"a": [1]}'`, "jsonpath": "'$.a'",
	"date": "'2024-01-15'", "timestamp without time zone": "'2024-01-15'", "timestamp with time zone": "'2024-01-15'", "interval": "'1 hour'",
	"time without time zone": "'10:00'", "time with time zone": "'10:00+00'", "uuid": "'11111111-1111-1111-1111-111111111111'", "oid": "1259", "xid": "'3'",
	"xid8": "'3'", "tid": "'(0,1)'", "regclass": "'pg_class'", "regtype": "'int4'", "regconfig": "'simple'", "regdictionary": "'simple'", "inet": "'10.0.0.1'",
	"cidr": "'10.0.0.0/8'", "macaddr": "'08:00:2b:01:02:03'", "point": "'(1,1)'", "box": "'(2,2),(0,0)'", "lseg": "'[(0,0),(1,1)]'", "path": "'[(0,0),(1,1)]'",
	"polygon": "'((0,0),(1,1),(2,0))'", "circle": "'<(0,0),2>'", "line": "'{1,-1,0}'", "tsvector": "'a:1'", "tsquery": "'a'", "xml": "'<a/>'", "pg_lsn": "'0/1000000'",
	"bit": "B'101'", "bit varying": "B'101'", "text[]": "'{a}'", "integer[]": "'{1}'", "oid[]": "'{1259}'", "pg_snapshot": "'10:20:10,14'", "money": "'1'",
}

func argument(typ string) string {
	switch typ {
	case "smallint", "integer", "bigint", "real", "double precision", "numeric":
		return "1::" + typ
	}
	if value, ok := arguments[typ]; ok {
		if strings.HasPrefix(typ, "any") || typ == "record" {
			return value
		}
		return value + "::" + typ
	}
	return "NULL::" + typ
}

// TestHarmlessFunctions calls every function of the server that the list names
// harmless, on a standby: each must be a read for it and leave nothing behind.
func TestHarmlessFunctions(t *testing.T) {
	c := cluster(t)
	conn := connect(t, c.Replica(0), "shop")
	defer disconnect(conn)
	rows, err := conn.Exec(t.Context(), builtins).ReadAll()
	require.NoError(t, err)
	before := observe(t, conn)
	called, ran := 0, 0
	for _, row := range rows[0].Rows {
		name, kind, types := string(row[0]), string(row[1]), string(row[2])
		if !sqlclass.Harmless(sqlclass.PostgreSQL, name) {
			continue
		}
		var args []string
		if types != "" {
			for typ := range strings.SplitSeq(types, "|") {
				args = append(args, argument(typ))
			}
		}
		sql := fmt.Sprintf(`SELECT pg_catalog."%s"(%s)`, name, strings.Join(args, ", "))
		if kind == "w" {
			sql += " OVER ()"
		}
		require.Equal(t, sqlclass.Read, sqlclass.Classify(sqlclass.PostgreSQL, sql).Class, sql)
		called++
		state := run(t, conn, sql)
		if state == "" {
			ran++
		}
		if (truth{state: state}).refused() {
			assert.True(t, sameOnPrimary(t, state, sql), "a standby refuses with %s: %s", state, sql)
		}
		require.False(t, conn.IsClosed(), sql)
		if called%25 == 0 {
			require.Empty(t, difference(before, observe(t, conn)), "one of the last 25 functions, the last of them: %s", sql)
		}
	}
	require.Empty(t, difference(before, observe(t, conn)))
	t.Logf("%d harmless functions called, %d of them without an error", called, ran)
	assert.Greater(t, ran, 1500)
}

// sameOnPrimary reports whether the primary refuses a statement in the same way.
func sameOnPrimary(t *testing.T, state, sql string) bool {
	conn := connect(t, cluster(t).Primary(), "shop")
	defer disconnect(conn)
	return run(t, conn, sql) == state
}
