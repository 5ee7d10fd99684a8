package sqlclass_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/sqlclass"
)

func relations(d sqlclass.Dialect, sql string) []string {
	var names []string
	sqlclass.Relations(d, sql, func(name string) bool {
		names = append(names, name)
		return true
	})
	return names
}

func TestRelations(t *testing.T) {
	tests := []struct {
		sql  string
		want []string
	}{
		{"SELECT 1", nil},
		{"SELECT * FROM users;", []string{"users"}},
		{"SELECT * FROM\nusers", []string{"users"}},
		{"SELECT  *  FROM  users", []string{"users"}},
		{"SELECT * FROM/* a */users--b", []string{"users"}},
		{"SELECT * FROM Public . Users", []string{"public.users"}},
		{`SELECT * FROM "users", "Users", "a b"."c""d", U&"x\0041"`, []string{"users", `"Users"`, `"a b"."c""d"`, `U&"x\0041"`}},
		{"SELECT * FROM ONLY users, ONLY (orders)", []string{"users", "orders"}},
		{"SELECT ' FROM users' FROM orders", []string{"orders"}},
		{"SELECT $$ FROM users $$ /* FROM users */ FROM orders", []string{"orders"}},
		{"SELECT * FROM a, b AS x, c y, d", []string{"a", "b", "c", "d"}},
		{"SELECT * FROM a set, b values, c", []string{"a", "b", "c"}},
		{"SELECT * FROM a JOIN b USING (id, x) LEFT JOIN c ON c.id = f(a.id, b.id), d", []string{"a", "b", "c", "d"}},
		{"SELECT * FROM (a CROSS JOIN b) JOIN ((c JOIN d ON true) JOIN e ON true) ON true", []string{"a", "b", "c", "d", "e"}},
		{"SELECT a, b FROM t WHERE c IN (1, 2) ORDER BY d, e", []string{"t"}},
		{"SELECT a[b, c] FROM t JOIN u ON u.x = ANY (ARRAY[t.y, t.z]), v", []string{"t", "u", "v"}},
		{"SELECT extract(year FROM born), trim(both FROM name), substring(name FROM 2 FOR 3) FROM users", []string{"users"}},
		{"SELECT extract(year FROM (SELECT max(d) FROM a)) FROM b", []string{"a", "b"}},
		{"SELECT a IS DISTINCT FROM b, c IS NOT DISTINCT FROM d FROM t", []string{"t"}},
		{"SELECT a AS from, b AS table, t.from, t.join, c AS join FROM t", []string{"t"}},
		{"SELECT update u, delete, insert FROM t", []string{"t"}},
		{"SELECT a update FROM t", []string{"t"}},
		{"SELECT * FROM f(1) AS x(a, b), g(2), t", []string{"t"}},
		{"SELECT * FROM t u(a, b), LATERAL (SELECT * FROM v) w, LATERAL h(1)", []string{"t", "v"}},
		{"SELECT * FROM ROWS FROM (f(1), g(2)) AS x, rows", []string{"rows"}},
		{"SELECT * FROM (VALUES (1), (2)) v, values, t", []string{"values", "t"}},
		{"SELECT * FROM t TABLESAMPLE system (10), u", []string{"t", "u"}},
		{"SELECT * FROM a *, b", []string{"a", "b"}},
		{"SELECT (SELECT x FROM a), EXISTS (SELECT FROM b) FROM c", []string{"a", "b", "c"}},
		{"(SELECT * FROM a) UNION (TABLE b) EXCEPT SELECT * FROM c", []string{"a", "b", "c"}},
		{"((SELECT * FROM a) UNION SELECT * FROM b)", []string{"a", "b"}},
		{"TABLE users", []string{"users"}},
		{"TABLE ONLY app.users", []string{"app.users"}},
		{"VALUES (1, (SELECT x FROM a))", []string{"a"}},
		{"WITH x AS (SELECT * FROM a), y AS MATERIALIZED (TABLE b) SELECT * FROM x JOIN c ON true", []string{"a", "b", "x", "c"}},
		{"WITH x AS (DELETE FROM a USING b RETURNING c, d) SELECT * FROM x", []string{"a", "b", "x"}},
		{"SELECT * FROM a FOR UPDATE OF a", []string{"a"}},
		{"SELECT * FROM a FOR NO KEY UPDATE NOWAIT", []string{"a"}},
		{"SELECT a INTO TEMP TABLE b FROM c", []string{"b", "c"}},
		{"SELECT a INTO temp FROM c", []string{"temp", "c"}},
		{"EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM a, b", []string{"a", "b"}},
		{"EXPLAIN ANALYZE UPDATE a SET x = 1", []string{"a"}},
		{`INSERT INTO "users" ("name", "from") VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET a = excluded.a, b = 1 RETURNING "id", x`, []string{"users"}},
		{"INSERT INTO a (x, y) SELECT x, y FROM b, c WHERE true", []string{"a", "b", "c"}},
		{"UPDATE users SET a = (SELECT x FROM y), b = 2 FROM z, w WHERE true RETURNING a, b", []string{"users", "y", "z", "w"}},
		{"UPDATE ONLY users u SET a = 1", []string{"users"}},
		{"DELETE FROM ONLY users USING a, b WHERE c = d", []string{"users", "a", "b"}},
		{"MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = 1 WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1, 2)", []string{"t", "s"}},
		{"MERGE INTO t USING (SELECT * FROM s) x ON true WHEN MATCHED THEN DELETE", []string{"t", "s"}},
		{"COPY users (a, b) FROM STDIN", []string{"users"}},
		{"COPY users TO STDOUT", []string{"users"}},
		{"COPY (SELECT * FROM users) TO STDOUT", []string{"users"}},
		{"TRUNCATE a, ONLY b, c", []string{"a", "b", "c"}},
		{"TRUNCATE TABLE a, b RESTART IDENTITY", []string{"a", "b"}},
		{"LOCK TABLE a, b IN SHARE MODE", []string{"a", "b"}},
		{"LOCK a", []string{"a"}},
		{"CREATE TABLE IF NOT EXISTS users (id int)", []string{"users"}},
		{"ALTER TABLE IF EXISTS ONLY users ADD a int", []string{"users"}},
		{"DROP TABLE IF EXISTS users", []string{"users"}},
		{"CREATE INDEX i ON users (a, b)", []string{"users"}},
		{"GRANT SELECT, UPDATE ON users TO bob", []string{"users"}},
		{"CREATE TABLE x AS SELECT * FROM a, b", []string{"x", "a", "b"}},
		{"CREATE VIEW v AS SELECT * FROM a JOIN b ON b.id = a.id", []string{"a", "b"}},
		{"PREPARE p AS SELECT * FROM a", []string{"a"}},
		{"DECLARE c CURSOR FOR SELECT * FROM a", []string{"a"}},
		{"FETCH 1 FROM c", nil},
		{"REVOKE ALL ON a FROM bob", []string{"a"}},
		{"SELECT * FROM a; SELECT * FROM b", []string{"a", "b"}},
		{"SELECT * FROM a, 'open", []string{"a"}},
		{"SELECT * FROM größe", []string{"größe"}},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, relations(sqlclass.PostgreSQL, tt.sql), tt.sql)
	}
}

func TestTransactRelations(t *testing.T) {
	tests := []struct {
		sql  string
		want []string
	}{
		{"SELECT * FROM [users]", []string{"users"}},
		{"SELECT * FROM [dbo].[users] u WITH (NOLOCK), [my schema].[t] WITH (INDEX(a, b)), v", []string{"dbo.users", "[my schema].t", "v"}},
		{"SELECT TOP 10 * FROM db..t", []string{"db..t"}},
		{"SELECT * FROM t (NOLOCK) JOIN u (UPDLOCK) ON 1 = 1", []string{"t", "u"}},
		{"SELECT * FROM a limit, b offset, c OPTION (MERGE JOIN, RECOMPILE), d", []string{"a", "b", "c"}},
		{"SELECT * FROM a INNER MERGE JOIN b ON 1 = 1 CROSS APPLY (SELECT TOP 1 * FROM c) x", []string{"a", "b", "c"}},
		{"SELECT * FROM #t, ##u", []string{"#t", "##u"}},
		{"SELECT 1 SELECT * FROM a, b", []string{"a", "b"}},
		{"INSERT INTO [t] ([a], b) OUTPUT INSERTED.[id] VALUES (@p1)", []string{"t"}},
		{"INSERT t VALUES (1)", []string{"t"}},
		{"INSERT TOP (5) INTO t SELECT * FROM u", []string{"t", "u"}},
		{"UPDATE TOP ((1)) dbo.t SET a = 1", []string{"dbo.t"}},
		{"UPDATE u SET a = (SELECT b FROM c) FROM users u", []string{"c", "users", "u"}},
		{"UPDATE t SET a = 1 SELECT * FROM u", []string{"t", "u"}},
		{"DELETE t WHERE a = 1", []string{"t"}},
		{"DELETE FROM t OUTPUT deleted.a INTO log WHERE 1 = 1", []string{"t", "log"}},
		{"DELETE u FROM users AS u JOIN orders o ON 1 = 1", []string{"users", "orders", "u"}},
		{"DELETE TOP (5) FROM t", []string{"t"}},
		{"MERGE t USING s ON 1 = 1 WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES (1);", []string{"t", "s"}},
		{"TRUNCATE TABLE t", []string{"t"}},
		{"UPDATE STATISTICS t", []string{"t"}},
		{"SELECT * INTO #u FROM t", []string{"#u", "t"}},
		{"DROP TABLE IF EXISTS t", []string{"t"}},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, relations(sqlclass.SQLServer, tt.sql), tt.sql)
	}
}

func TestRelationsStops(t *testing.T) {
	var names []string
	sqlclass.Relations(sqlclass.PostgreSQL, "SELECT * FROM a, b, c; SELECT * FROM d", func(name string) bool {
		names = append(names, name)
		return len(names) < 2
	})
	assert.Equal(t, []string{"a", "b"}, names)
}
