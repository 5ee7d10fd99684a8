package sqlclass_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/sqlclass"
)

func calls(d sqlclass.Dialect, sql string) []string {
	var names []string
	sqlclass.Functions(d, sql, func(name string) bool {
		names = append(names, name)
		return true
	})
	return names
}

func TestFunctions(t *testing.T) {
	tests := []struct {
		sql  string
		want []string
	}{
		{"SELECT 1", nil},
		{"SELECT lower(name), LOWER(name), Now() FROM t", []string{"lower", "lower", "now"}},
		{"SELECT f(g(h(1)), i())", []string{"f", "g", "h", "i"}},
		{"SELECT public.f(1), App . F (2)", []string{"public.f", "app.f"}},
		{`SELECT "f"(1), "F"(1), "a b"."c""d"(1), "app".f(1), "1x"(1), "x1"(1)`,
			[]string{"f", `"F"`, `"a b"."c""d"`, "app.f", `"1x"`, "x1"}},
		{`SELECT U&"f\0041"(1)`, []string{`U&"f\0041"`}},
		{"SELECT f /* a */ -- b\n ( 1 )", []string{"f"}},
		{"SELECT größe(1), ÄB(2)", []string{"größe", "Äb"}},
		{"SELECT coalesce(a, nullif(b, c)), cast(d AS numeric(10,2)), extract(year FROM e) FROM t", nil},
		{"SELECT a::varchar(10), ARRAY(SELECT 1), ROW(1, 2), EXISTS (SELECT 1), a IN (1), a = ANY (b) FROM t", nil},
		{"SELECT count(*) FILTER (WHERE a) OVER (ORDER BY b) FROM t", []string{"count"}},
		{"WITH x(a, b) AS (SELECT f(1), 2), y(c) AS (SELECT g(1)) SELECT * FROM x, y", []string{"f", "g"}},
		{"SELECT * FROM f(1) AS x(a, b), g(2) y(c), unnest(z) WITH ORDINALITY AS u(a, n)", []string{"f", "g", "unnest"}},
		{"SELECT * FROM t u(a, b)", nil},
		{"SELECT a FROM t GROUP BY ROLLUP(a, f(b)), CUBE(g(c)), GROUPING SETS (ROLLUP(d))", []string{"f", "g"}},
		{"SELECT cube(a) FROM t", []string{"cube"}},
		{"SELECT 'f(1)', $$ f(1) $$, \"f(1)\" /* f(1) */ -- f(1)", nil},
		{"SELECT a OPERATOR(pg_catalog.+) f(1)", []string{"f"}},
		{"INSERT INTO t(a) VALUES (f(1))", []string{"f"}},
		{"SELECT f(1); SELECT g(2)", []string{"f", "g"}},
		{"SELECT f(1), 'open", []string{"f"}},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, calls(sqlclass.PostgreSQL, tt.sql), tt.sql)
	}
	assert.Equal(t, []string{"dbo.f", "len", "[my schema].f", "g"},
		calls(sqlclass.SQLServer, "SELECT dbo.f(1), LEN(a), [my schema].f(1), [g](1) FROM t (NOLOCK)"))
}

func TestFunctionsStops(t *testing.T) {
	var names []string
	sqlclass.Functions(sqlclass.PostgreSQL, "SELECT f(1), g(2), h(3)", func(name string) bool {
		names = append(names, name)
		return len(names) < 2
	})
	assert.Equal(t, []string{"f", "g"}, names)
}

// TestClassifyCalls: one pass finds what two do, and of a text that lacks nothing but
// its calls to be a read, exactly those calls.
func TestClassifyCalls(t *testing.T) {
	unlisted := func(d sqlclass.Dialect, sql string) []string {
		var names []string
		info := sqlclass.ClassifyCalls(d, sql, func(name string) { names = append(names, name) })
		assert.Equal(t, sqlclass.Classify(d, sql), info, sql)
		return names
	}
	assert.Equal(t, []string{"f", "app.g", `"H"`, `U&"i"`, "pg_catalog.j", "a.b.c.k"},
		unlisted(sqlclass.PostgreSQL, `SELECT F(lower(a)), App . g(1), "H"(2), U&"i"(3), "lower"(b), pg_catalog.j(1), a.b.c.k(2), coalesce(c)`))
	assert.Equal(t, []string{"dbo.f", "g"}, unlisted(sqlclass.SQLServer, "SELECT dbo.f(1), LEN(a), [g](2)"))
	assert.Empty(t, unlisted(sqlclass.PostgreSQL, "SELECT lower(a), nextval('s') FROM t"))
	for _, sql := range append(statements(t, "unlisted.sql"), statements(t, "read.sql")...) {
		var want []string
		for _, name := range calls(sqlclass.PostgreSQL, sql) {
			if !sqlclass.Harmless(sqlclass.PostgreSQL, name) {
				want = append(want, name)
			}
		}
		assert.Equal(t, want, unlisted(sqlclass.PostgreSQL, sql), sql)
	}
}

func TestHarmless(t *testing.T) {
	for name, want := range map[string]bool{
		"lower": true, "pg_catalog.lower": true, "random": true, "pg_total_relation_size": true,
		"information_schema._pg_expandarray": true, "information_schema._PG_EXPANDARRAY": false,
		"information_schema.lower": false, "_pg_expandarray": false, "app._pg_expandarray": false,
		"": false, "LOWER": false, `"Lower"`: false, "app.lower": false, "pg_catalog.app.lower": false,
		"nextval": false, "set_config": false, "pg_sleep": false, "add_tax": false, "pg_catalog.": false,
		"a_name_that_is_longer_than_every_name_that_could_ever_be_on_one_of_the_lists": false,
	} {
		assert.Equal(t, want, sqlclass.Harmless(sqlclass.PostgreSQL, name), name)
	}
	assert.True(t, sqlclass.Harmless(sqlclass.SQLServer, "getdate"))
	assert.False(t, sqlclass.Harmless(sqlclass.SQLServer, "dbo.getdate"))
}
