package catalog_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/catalog"
	"github.com/readsplit/readsplit/sqlclass"
)

// What somebody else changes is noticed by looking.
func TestChangesAreNoticed(t *testing.T) {
	primary, _ := database(t, `
		CREATE SCHEMA s;
		CREATE TABLE t (id int);
		CREATE TABLE part (id int);
		CREATE FUNCTION f() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
		CREATE FUNCTION s.g() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
		CREATE FUNCTION vola(int) RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT true';
		CREATE FUNCTION op(int, int) RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT true';
		CREATE DOMAIN d AS int;
		CREATE TYPE pair AS (a int);
		CREATE TYPE holder AS (a int);
		CREATE FUNCTION to_pair(int) RETURNS pair LANGUAGE sql VOLATILE AS 'SELECT ROW($1)::pair';
		CREATE VIEW v AS SELECT 1 AS id`)
	c, err := catalog.New(catalog.Config{DB: primary, Every: 5 * time.Millisecond})
	require.NoError(t, err)
	c.LookOften()
	c.Start()
	defer c.Close()
	wait(t, c)
	for _, step := range []struct {
		change, sql string
		read        bool
	}{
		{"SELECT 1", "SELECT f()", true},
		{"ALTER FUNCTION f() VOLATILE", "SELECT f()", false},
		{"ALTER FUNCTION f() IMMUTABLE", "SELECT f()", true},
		{"CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT 1'", "SELECT f()", false},
		{"DROP FUNCTION f(int)", "SELECT f()", true},
		{"CREATE FUNCTION f2() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1'", "SELECT f2()", true},
		{"ALTER FUNCTION f2() RENAME TO f3", "SELECT f2()", false},
		{"DROP FUNCTION f3()", "SELECT f3()", false},
		{"ALTER SCHEMA s RENAME TO s2", "SELECT s.g()", false},
		{"CREATE OR REPLACE VIEW v AS SELECT 1 AS id WHERE vola(1)", "SELECT * FROM v", false},
		{"CREATE OR REPLACE VIEW v AS SELECT 1 AS id", "SELECT * FROM v", true},
		{"CREATE OR REPLACE VIEW v AS SELECT 1 AS id WHERE pg_try_advisory_lock(1)", "SELECT * FROM v", false},
		{"ALTER VIEW v RENAME TO w", "SELECT * FROM w", false},
		{"DROP VIEW w", "SELECT * FROM w", true},
		{"ALTER TABLE t SET UNLOGGED", "SELECT * FROM t", false},
		{"ALTER TABLE t RENAME TO t2", "SELECT * FROM t2", false},
		{"ALTER TABLE t2 RENAME TO t", "SELECT * FROM t2", true},
		{"ALTER TABLE t SET LOGGED", "SELECT * FROM t", true},
		{"CREATE POLICY p ON t USING (vola(id)); ALTER TABLE t ENABLE ROW LEVEL SECURITY", "SELECT * FROM t", false},
		{"ALTER POLICY p ON t USING (id = 1)", "SELECT * FROM t", true},
		{"CREATE POLICY q ON t FOR SELECT USING (vola(id))", "SELECT * FROM t", false},
		{"DROP POLICY q ON t", "SELECT * FROM t", true},
		{"ALTER POLICY p ON t USING (vola(id))", "SELECT * FROM t", false},
		{"ALTER TABLE t DISABLE ROW LEVEL SECURITY", "SELECT * FROM t", true},
		{"CREATE UNLOGGED TABLE child (id int)", "SELECT * FROM part", true},
		{"ALTER TABLE child INHERIT part", "SELECT * FROM part", false},
		{"ALTER TABLE part RENAME TO part2", "SELECT * FROM part2", false},
		{"ALTER TABLE part2 RENAME TO part", "SELECT * FROM part", false},
		{"ALTER TABLE child NO INHERIT part", "SELECT * FROM part", true},
		{"CREATE OPERATOR ==> (leftarg = int, rightarg = int, function = op)", "SELECT 1 ==> 2", false},
		{"DROP OPERATOR ==> (int, int)", "SELECT 1 ==> 2", true},
		{"ALTER DOMAIN d ADD CONSTRAINT c CHECK (vola(VALUE))", "SELECT 1::d", false},
		{"ALTER TYPE holder ADD ATTRIBUTE b d", "SELECT NULL::holder", false},
		{"ALTER TYPE holder ALTER ATTRIBUTE b TYPE int", "SELECT NULL::holder", true},
		{"ALTER TABLE t ADD COLUMN b d[]", "SELECT NULL::t", false},
		{"ALTER TABLE t RENAME TO t2", "SELECT NULL::t2", false},
		{"ALTER TABLE t2 RENAME TO t", "SELECT NULL::t2", true},
		{"ALTER TABLE t DROP COLUMN b", "SELECT NULL::t", true},
		{"CREATE TYPE span AS RANGE (subtype = d)", "SELECT NULL::span", false},
		{"DROP TYPE span", "SELECT NULL::span", true},
		{"ALTER DOMAIN d DROP CONSTRAINT c", "SELECT 1::d", true},
		{"CREATE CAST (int AS pair) WITH FUNCTION to_pair(int)", "SELECT 1::pair", false},
		{"DROP CAST (int AS pair)", "SELECT 1::pair", true},
	} {
		exec(t, primary, step.change)
		within(t, 20*time.Second, step.change+": "+step.sql, func() bool {
			return (judge(c, step.sql).Class == sqlclass.Read) == step.read
		})
	}
	loads := c.Status().Loads
	exec(t, primary, "TRUNCATE child; CREATE TABLE t3 (id int PRIMARY KEY); INSERT INTO t3 SELECT generate_series(1, 100); ANALYZE")
	exec(t, primary, "CREATE FUNCTION last() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1'")
	within(t, 20*time.Second, "the last change", func() bool { return judge(c, "SELECT last()").Class == sqlclass.Read })
	assert.Equal(t, loads+1, c.Status().Loads, "tables, rows and TRUNCATE are no reason to load everything")
}

// Without looking, Refresh is what makes a change known.
func TestRefreshMakesAChangeKnown(t *testing.T) {
	primary, _ := database(t, `CREATE FUNCTION f() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1'`)
	c := running(t, catalog.Config{DB: primary, Every: -1})
	require.Equal(t, sqlclass.Read, judge(c, "SELECT f()").Class)

	exec(t, primary, "ALTER FUNCTION f() VOLATILE; CREATE VIEW v AS SELECT f()")
	c.Refresh()
	assert.Equal(t, sqlclass.Unknown, judge(c, "SELECT f()").Class)
	wait(t, c)
	assert.Equal(t, sqlclass.Info{Verb: sqlclass.Select, Flags: sqlclass.UnlistedCalls}, judge(c, "SELECT f()"))
	assert.Equal(t, sqlclass.Info{Verb: sqlclass.Select}, judge(c, "SELECT * FROM v"))
	assert.Equal(t, 2, c.Status().Loads)
}

func TestPrimaryDownAtStart(t *testing.T) {
	primary, _ := database(t, `CREATE FUNCTION f() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1'`)
	server := cluster(t).Primary()
	undo, err := server.Stop(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster(t).UndoAll()) })

	told := make(chan error, 100)
	c, err := catalog.New(catalog.Config{DB: primary, Every: 5 * time.Millisecond, OnError: func(err error) { told <- err }})
	require.NoError(t, err)
	c.Start()
	t.Cleanup(c.Close)
	first := <-told
	assert.ErrorContains(t, first, "readsplit: read the catalogue: ")
	assert.NotContains(t, first.Error(), "password")
	within(t, 10*time.Second, "the status has the error", func() bool { return c.Status().Err != nil })
	assert.Equal(t, sqlclass.Unknown, judge(c, "SELECT f()").Class)
	assert.Equal(t, sqlclass.Read, judge(c, "SELECT 1").Class)

	require.NoError(t, undo())
	wait(t, c)
	assert.Equal(t, sqlclass.Read, judge(c, "SELECT f()").Class)
	within(t, 10*time.Second, "the status has no error", func() bool { return c.Status().Err == nil })
	assert.Empty(t, told, "told once, however often it failed")
}

// A standby may be behind: a load from there proves nothing after a change.
func TestStandbyIsNotAsked(t *testing.T) {
	_, standby := database(t, `CREATE FUNCTION f() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1'`)
	told := make(chan error, 1)
	c, err := catalog.New(catalog.Config{DB: standby, OnError: func(err error) { told <- err }})
	require.NoError(t, err)
	c.Start()
	defer c.Close()
	assert.EqualError(t, <-told, "readsplit: read the catalogue: the server is in recovery, so that its catalogue may be old: name the primary")
	assert.Equal(t, sqlclass.Unknown, judge(c, "SELECT f()").Class)
}

// A migration that holds the lock of every table and view does not hold up a load.
func TestLocksAreNotWaitedFor(t *testing.T) {
	primary, _ := database(t, `
		CREATE TABLE t (id int);
		CREATE FUNCTION f() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
		CREATE VIEW v AS SELECT pg_try_advisory_lock(id) FROM t`)
	tx, err := primary.BeginTx(t.Context(), &sql.TxOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback()) }()
	_, err = tx.ExecContext(t.Context(), "LOCK TABLE t, v IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	c := running(t, catalog.Config{DB: primary})
	assert.Equal(t, sqlclass.Read, judge(c, "SELECT f()").Class)
	assert.Equal(t, sqlclass.Unknown, judge(c, "SELECT * FROM v").Class)
}

// The functions behind the server's own casts and operators read only: views call them
// without a trace, and would all be risky otherwise.
func TestBuiltInCastsAreReads(t *testing.T) {
	primary, _ := database(t, "")
	c := running(t, catalog.Config{DB: primary, Every: -1})
	rows, err := primary.QueryContext(t.Context(), `
		SELECT DISTINCT p.proname FROM pg_cast c JOIN pg_proc p ON p.oid = c.castfunc WHERE p.provolatile <> 'v'
		UNION SELECT proname FROM pg_proc p JOIN pg_operator o ON o.oprcode = p.oid WHERE p.oid < 16384`)
	require.NoError(t, err)
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var function string
		require.NoError(t, rows.Scan(&function))
		assert.Equal(t, sqlclass.Read, judge(c, `SELECT "`+function+`"(1)`).Class, function)
	}
	require.NoError(t, rows.Err())
	assert.Greater(t, n, 500)
	if cluster(t).Major() >= 17 {
		assert.Equal(t, sqlclass.Read, judge(c, "SELECT to_bin(5)").Class)
	}
	assert.Equal(t, sqlclass.Unknown, judge(c, "SELECT pg_sleep(0)").Class)
}
