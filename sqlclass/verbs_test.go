package sqlclass_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/sqlclass"
)

func TestVerbsAndFlags(t *testing.T) {
	const (
		local = sqlclass.SetsLocal
		set   = sqlclass.SetsSession
		async = sqlclass.AsyncCommit
		multi = sqlclass.Multi
		ddl   = sqlclass.DDL
		tx    = sqlclass.TxControl
		calls = sqlclass.UnlistedCalls
	)
	tests := []struct {
		sql   string
		class sqlclass.Class
		verb  sqlclass.Verb
		flags sqlclass.Flags
	}{
		{"", sqlclass.Unknown, sqlclass.Other, 0},
		{"-- nothing", sqlclass.Unknown, sqlclass.Other, 0},
		{"SELECT 1", sqlclass.Read, sqlclass.Select, 0},
		{"(SELECT 1)", sqlclass.Read, sqlclass.Select, 0},
		{"((VALUES (1)))", sqlclass.Read, sqlclass.Values, 0},
		{"VALUES (1)", sqlclass.Read, sqlclass.Values, 0},
		{"TABLE t", sqlclass.Read, sqlclass.Table, 0},
		{"SHOW work_mem", sqlclass.Read, sqlclass.Show, 0},
		{"EXPLAIN SELECT 1", sqlclass.Read, sqlclass.Explain, 0},
		{"EXPLAIN (ANALYZE) DELETE FROM t", sqlclass.Write, sqlclass.Explain, 0},
		{"WITH x AS (SELECT 1) SELECT 1", sqlclass.Read, sqlclass.Select, 0},
		{"WITH x AS (SELECT 1) TABLE x", sqlclass.Read, sqlclass.Table, 0},
		{"WITH x AS (SELECT 1) VALUES (1)", sqlclass.Read, sqlclass.Values, 0},
		{"WITH x AS (SELECT 1) INSERT INTO t TABLE x", sqlclass.Write, sqlclass.Insert, 0},
		{"WITH x AS (SELECT 1) UPDATE t SET a = 1", sqlclass.Write, sqlclass.Update, 0},
		{"WITH x AS (SELECT 1) DELETE FROM t", sqlclass.Write, sqlclass.Delete, 0},
		{"WITH x AS (SELECT 1) MERGE INTO t USING x ON true WHEN MATCHED THEN DELETE", sqlclass.Write, sqlclass.Merge, 0},
		{"WITH x AS (DELETE FROM t) SELECT 1", sqlclass.Write, sqlclass.Select, 0},
		{"WITH x AS (WITH y AS (SELECT 1) INSERT INTO t TABLE y RETURNING a) SELECT 1", sqlclass.Write, sqlclass.Select, 0},
		{"INSERT INTO t VALUES (1)", sqlclass.Write, sqlclass.Insert, 0},
		{"UPDATE t SET a = 1", sqlclass.Write, sqlclass.Update, 0},
		{"DELETE FROM t", sqlclass.Write, sqlclass.Delete, 0},
		{"MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE", sqlclass.Write, sqlclass.Merge, 0},

		{"SET work_mem = '8MB'", sqlclass.Unknown, sqlclass.Set, set},
		{"SET SESSION work_mem = '8MB'", sqlclass.Unknown, sqlclass.Set, set},
		{"SET LOCAL work_mem = '8MB'", sqlclass.Unknown, sqlclass.Set, local},
		{"set local role app", sqlclass.Unknown, sqlclass.Set, local},
		{"SET ROLE bob", sqlclass.Unknown, sqlclass.Set, set},
		{"SET TIME ZONE 'UTC'", sqlclass.Unknown, sqlclass.Set, set},
		{"SET CONSTRAINTS ALL DEFERRED", sqlclass.Unknown, sqlclass.Set, tx},
		{"SET TRANSACTION READ ONLY", sqlclass.Unknown, sqlclass.SetTransaction, tx},
		{"SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", sqlclass.Unknown, sqlclass.Set, set},
		{"RESET ALL", sqlclass.Unknown, sqlclass.Reset, set},
		{"DISCARD ALL", sqlclass.Unknown, sqlclass.Discard, set},
		{"SELECT set_config('app.user', $1, true)", sqlclass.Unknown, sqlclass.Select, local},
		{"SELECT pg_catalog.set_config('a', concat($1, array[1, 2]), TRUE), set_config('b', '', True)", sqlclass.Unknown, sqlclass.Select, local},
		{"SELECT set_config('a', $1, true), set_config('b', $2, false)", sqlclass.Unknown, sqlclass.Select, set},
		{"SELECT set_config('a', $1, NOT true)", sqlclass.Unknown, sqlclass.Select, set},
		{"SELECT set_config('a', $1, is_local => true)", sqlclass.Unknown, sqlclass.Select, set},
		{"SELECT set_config('a', $1, true OR false)", sqlclass.Unknown, sqlclass.Select, set},
		{"SELECT set_config('a', 'x,true)', $2)", sqlclass.Unknown, sqlclass.Select, set},
		{"SELECT set_config('a', $1, true), n FROM hiding_view", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT set_config('a', (SELECT name FROM t), true)", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT set_config('a', $1, true), f(1)", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT set_config('a', $1, true), nextval('s')", sqlclass.Write, sqlclass.Select, 0},
		{"SELECT set_config('a', $1, true) FROM t FOR UPDATE", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT set_config('a', $1, true); SELECT 1", sqlclass.Unknown, sqlclass.Select, sqlclass.Multi},
		{"SELECT setseed(0.5)", sqlclass.Unknown, sqlclass.Select, set},
		{"SELECT pg_advisory_lock(1)", sqlclass.Unknown, sqlclass.Select, set},
		{"SELECT pg_advisory_xact_lock(1)", sqlclass.Unknown, sqlclass.Select, 0},
		{"LISTEN a", sqlclass.Unknown, sqlclass.Listen, set},
		{"UNLISTEN *", sqlclass.Unknown, sqlclass.Listen, set},
		{"NOTIFY a", sqlclass.Write, sqlclass.Notify, 0},
		{"PREPARE p AS SELECT 1", sqlclass.Unknown, sqlclass.Prepare, set},
		{"EXECUTE p", sqlclass.Unknown, sqlclass.Execute, 0},
		{"DEALLOCATE p", sqlclass.Unknown, sqlclass.Deallocate, set},
		{"LOAD 'x'", sqlclass.Unknown, sqlclass.Other, set},

		{"BEGIN", sqlclass.Unknown, sqlclass.Begin, tx},
		{"BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", sqlclass.Unknown, sqlclass.Begin, tx},
		{"START TRANSACTION", sqlclass.Unknown, sqlclass.Begin, tx},
		{"COMMIT", sqlclass.Unknown, sqlclass.Commit, tx},
		{"COMMIT AND CHAIN", sqlclass.Unknown, sqlclass.Commit, tx},
		{"END", sqlclass.Unknown, sqlclass.Commit, tx},
		{"ROLLBACK", sqlclass.Unknown, sqlclass.Rollback, tx},
		{"ABORT", sqlclass.Unknown, sqlclass.Rollback, tx},
		{"SAVEPOINT sp1", sqlclass.Unknown, sqlclass.Savepoint, tx},
		{"RELEASE SAVEPOINT sp1", sqlclass.Unknown, sqlclass.Release, tx},
		{"ROLLBACK TO SAVEPOINT sp1", sqlclass.Unknown, sqlclass.RollbackTo, tx},
		{"ROLLBACK WORK TO sp1", sqlclass.Unknown, sqlclass.RollbackTo, tx},
		{"PREPARE TRANSACTION 'a'", sqlclass.Unknown, sqlclass.PrepareTransaction, tx},
		{"PREPARE transaction AS SELECT 1", sqlclass.Unknown, sqlclass.Prepare, set},
		{"COMMIT PREPARED 'a'", sqlclass.Write, sqlclass.CommitPrepared, tx},
		{"ROLLBACK PREPARED 'a'", sqlclass.Write, sqlclass.RollbackPrepared, tx},

		{"CREATE TABLE t (a int)", sqlclass.Write, sqlclass.Define, ddl},
		{"CREATE TABLE temp (a int)", sqlclass.Write, sqlclass.Define, ddl},
		{"CREATE TEMP TABLE t (a int)", sqlclass.Write, sqlclass.Define, ddl | set},
		{"CREATE LOCAL TEMPORARY TABLE t (a int)", sqlclass.Write, sqlclass.Define, ddl | set},
		{"CREATE OR REPLACE TEMP VIEW v AS SELECT 1", sqlclass.Write, sqlclass.Define, ddl | set},
		{"SELECT 1 INTO TEMP t", sqlclass.Write, sqlclass.Select, ddl | set},
		{"ALTER TABLE t ADD a int", sqlclass.Write, sqlclass.Define, ddl},
		{"DROP TABLE t", sqlclass.Write, sqlclass.Define, ddl},
		{"TRUNCATE t", sqlclass.Write, sqlclass.Define, ddl},
		{"COMMENT ON TABLE t IS 'x'", sqlclass.Write, sqlclass.Define, ddl},
		{"GRANT SELECT ON t TO bob", sqlclass.Write, sqlclass.Define, ddl},
		{"REVOKE SELECT ON t FROM bob", sqlclass.Write, sqlclass.Define, ddl},
		{"SECURITY LABEL ON TABLE t IS 'x'", sqlclass.Write, sqlclass.Define, ddl},
		{"IMPORT FOREIGN SCHEMA s FROM SERVER x INTO y", sqlclass.Write, sqlclass.Define, ddl},
		{"REASSIGN OWNED BY a TO b", sqlclass.Write, sqlclass.Define, ddl},
		{"VACUUM", sqlclass.Write, sqlclass.Maintenance, 0},
		{"ANALYZE t", sqlclass.Write, sqlclass.Maintenance, 0},
		{"REINDEX TABLE t", sqlclass.Write, sqlclass.Maintenance, 0},
		{"REFRESH MATERIALIZED VIEW v", sqlclass.Write, sqlclass.Maintenance, 0},
		{"CHECKPOINT", sqlclass.Unknown, sqlclass.Maintenance, 0},
		{"COPY t FROM STDIN", sqlclass.Write, sqlclass.Copy, 0},
		{"COPY t (a, b) FROM '/tmp/x'", sqlclass.Write, sqlclass.Copy, 0},
		{"COPY (SELECT a FROM t) TO STDOUT", sqlclass.Unknown, sqlclass.Copy, 0},
		{"CALL p()", sqlclass.Unknown, sqlclass.Call, 0},
		{"DO $$ BEGIN END $$", sqlclass.Unknown, sqlclass.Do, 0},
		{"LOCK TABLE t", sqlclass.Unknown, sqlclass.Lock, 0},
		{"DECLARE c CURSOR FOR SELECT 1", sqlclass.Unknown, sqlclass.Cursor, 0},
		{"FETCH 1 FROM c", sqlclass.Unknown, sqlclass.Cursor, 0},
		{"MOVE 1 FROM c", sqlclass.Unknown, sqlclass.Cursor, 0},
		{"CLOSE c", sqlclass.Unknown, sqlclass.Cursor, 0},

		{"SELECT 1; SELECT 2", sqlclass.Unknown, sqlclass.Select, multi},
		{"SELECT 1; DELETE FROM t", sqlclass.Write, sqlclass.Select, multi},
		{"BEGIN; DELETE FROM t; COMMIT", sqlclass.Write, sqlclass.Begin, multi | tx},
		{"SET a = 1; CREATE TABLE t (a int)", sqlclass.Write, sqlclass.Set, multi | set | ddl},
		{"SELECT f(); SELECT 1", sqlclass.Unknown, sqlclass.Select, multi},

		{"SELECT f()", sqlclass.Unknown, sqlclass.Select, calls},
		{"EXPLAIN SELECT f()", sqlclass.Unknown, sqlclass.Explain, calls},
		{"SELECT f() FOR UPDATE", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT f(), pg_sleep(1)", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT f(), nextval('s')", sqlclass.Write, sqlclass.Select, 0},
		{"SELECT f() INTO t", sqlclass.Write, sqlclass.Select, ddl},
		{"SELECT f(", sqlclass.Unknown, sqlclass.Select, 0},
		{"INSERT INTO t SELECT f()", sqlclass.Write, sqlclass.Insert, 0},

		{"SET synchronous_commit = off", sqlclass.Unknown, sqlclass.Set, set | async},
		{"SET LOCAL Synchronous_Commit TO off", sqlclass.Unknown, sqlclass.Set, async | local},
		{`SET "synchronous_commit" TO off`, sqlclass.Unknown, sqlclass.Set, set | async},
		{`SET U&"synchronous\005fcommit" TO off`, sqlclass.Unknown, sqlclass.Set, set | async},
		{"RESET synchronous_commit", sqlclass.Unknown, sqlclass.Reset, set | async},
		{"SELECT set_config('synchronous_commit', 'off', false)", sqlclass.Unknown, sqlclass.Select, set | async},
		{"SELECT set_config($1, $2, false)", sqlclass.Unknown, sqlclass.Select, set | async},
		{"SELECT set_config('synchronous' || '_commit', 'off', false)", sqlclass.Unknown, sqlclass.Select, set | async},
		{`SELECT set_config(E'synchronous\x5fcommit', 'off', false)`, sqlclass.Unknown, sqlclass.Select, set | async},
		{"INSERT INTO t SELECT set_config($1, 'off', true)", sqlclass.Write, sqlclass.Insert, async},
		{"UPDATE pg_settings SET setting = $1 WHERE name = $2", sqlclass.Write, sqlclass.Update, async},
		{"ALTER ROLE bob SET synchronous_commit = off", sqlclass.Write, sqlclass.Define, ddl | async},
		{"DO $$ BEGIN SET LOCAL synchronous_commit = off; END $$", sqlclass.Unknown, sqlclass.Do, async},
		{"SELECT f('synchronous_commit')", sqlclass.Unknown, sqlclass.Select, calls | async},
		{"SHOW synchronous_commit", sqlclass.Read, sqlclass.Show, 0},
		{"SELECT current_setting('synchronous_commit')", sqlclass.Read, sqlclass.Select, 0},
	}
	for _, tt := range tests {
		want := sqlclass.Info{Class: tt.class, Verb: tt.verb, Flags: tt.flags}
		got := sqlclass.Classify(sqlclass.PostgreSQL, tt.sql)
		got.Flags &^= sqlclass.Redefines // TestRedefines
		assert.Equal(t, want, got, "%s\nwant %s %s %q\ngot  %s %s %q", tt.sql,
			want.Class, want.Verb, want.Flags, got.Class, got.Verb, got.Flags)
	}
}

// DDL that leaves alone what functions and views do is told apart from the rest.
func TestRedefines(t *testing.T) {
	for sql, want := range map[string]bool{
		"CREATE TABLE t (id int)":               false,
		"CREATE TEMP TABLE t AS SELECT 1":       false,
		"TRUNCATE orders":                       false,
		"CREATE INDEX ON t (id)":                false,
		"ALTER TABLE t ADD COLUMN title text":   false,
		"DROP TABLE t":                          false,
		"COMMENT ON TABLE t IS 'x'":             false,
		"SELECT * INTO copied FROM t":           false,
		"SELECT my_view FROM t":                 false, // no DDL
		"CREATE OR REPLACE VIEW v AS SELECT 1":  true,
		"alter function f(int) volatile":        true,
		"CREATE UNLOGGED TABLE t (id int)":      true,
		"ALTER TABLE t SET LOGGED":              true,
		"ALTER TABLE t RENAME TO v":             true,
		"CREATE POLICY p ON t USING (f())":      true,
		"CREATE TABLE t PARTITION OF u DEFAULT": true,
		"CREATE EXTENSION hstore":               true,
		"CREATE TABLE t (id int); CREATE RULE r AS ON SELECT TO t DO INSTEAD SELECT 1": true,
	} {
		assert.Equal(t, want, sqlclass.Classify(sqlclass.PostgreSQL, sql).Flags.Has(sqlclass.Redefines), sql)
	}
}

func TestNames(t *testing.T) {
	assert.Equal(t, "postgresql", sqlclass.PostgreSQL.String())
	assert.Equal(t, "sqlserver", sqlclass.SQLServer.String())
	assert.Equal(t, "invalid", sqlclass.Dialect(9).String())
	assert.Equal(t, "unknown", sqlclass.Class(0).String())
	assert.Equal(t, "locking_read", sqlclass.LockingRead.String())
	assert.Equal(t, "invalid", sqlclass.Class(9).String())
	assert.Equal(t, "other", sqlclass.Verb(0).String())
	assert.Equal(t, "invalid", sqlclass.Verb(200).String())
	assert.Equal(t, "", sqlclass.Flags(0).String())
	assert.Equal(t, "sets_session|ddl", (sqlclass.SetsSession | sqlclass.DDL).String())
	seen := map[string]bool{}
	for v := sqlclass.Other; v <= sqlclass.Cursor; v++ {
		assert.NotEmpty(t, v.String())
		assert.False(t, seen[v.String()], "%s is the name of two verbs", v)
		seen[v.String()] = true
	}
}
