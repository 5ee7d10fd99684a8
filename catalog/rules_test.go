package catalog_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/catalog"
	"github.com/readsplit/readsplit/sqlclass"
)

const rulesSchema = `
CREATE SCHEMA app; CREATE SCHEMA other; CREATE SCHEMA "My Schema";
CREATE TABLE t (id int, v text);
INSERT INTO t VALUES (1, 'x');

CREATE FUNCTION stab(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT $1';
CREATE FUNCTION immu(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION vola(int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT $1';
CREATE FUNCTION app.stab2(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT $1';
CREATE FUNCTION "My Schema"."Größe"(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT $1';
CREATE FUNCTION mixed(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT $1';
CREATE FUNCTION mixed(text) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
CREATE FUNCTION app.twice(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT $1';
CREATE FUNCTION other.twice(int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT $1';
CREATE FUNCTION said_read(int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT $1';
CREATE FUNCTION app.said_read2(int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT $1';
CREATE FUNCTION said_write(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT $1';
CREATE FUNCTION by_default(int DEFAULT pg_backend_pid(), boolean DEFAULT pg_try_advisory_lock_shared(1)) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
CREATE FUNCTION by_default2(int, int DEFAULT vola(1)) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
CREATE FUNCTION by_default3(int, int DEFAULT immu(1)) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
CREATE PROCEDURE proc() LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION on_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';

CREATE AGGREGATE agg_good(int) (sfunc = int4pl, stype = int, initcond = '0');
CREATE FUNCTION vstep(int, int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT $1 + $2';
CREATE AGGREGATE agg_bad(int) (sfunc = vstep, stype = int, initcond = '0');
CREATE AGGREGATE agg_final(int) (sfunc = int4pl, stype = int, initcond = '0', finalfunc = vola);

CREATE AGGREGATE agg_lock(bigint) (sfunc = int8pl, stype = bigint, initcond = '0', finalfunc = pg_try_advisory_lock_shared);
CREATE AGGREGATE agg_said(bigint) (sfunc = int8pl, stype = bigint, initcond = '0', finalfunc = to_hex);

CREATE TYPE pair AS (a int, b int);
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE FUNCTION app.lower(mood) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
CREATE FUNCTION app.upper(mood) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
CREATE FUNCTION app."substring"(mood) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
CREATE FUNCTION touched(t) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
CREATE FUNCTION looked(t) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
CREATE FUNCTION taken(text) RETURNS text LANGUAGE plpgsql VOLATILE AS 'BEGIN PERFORM pg_advisory_lock_shared(1); RETURN $1; END';
CREATE FUNCTION taken_default(text, int DEFAULT 1) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
CREATE FUNCTION taken_list(VARIADIC text[]) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
CREATE FUNCTION taken_stable(text) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
CREATE FUNCTION two(text, int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
CREATE PROCEDURE proc_of(text) LANGUAGE sql AS 'SELECT 1';
CREATE TABLE names (taken text, two text, proc_of text, taken_stable text);

CREATE FUNCTION vop(int, int) RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT true';
CREATE FUNCTION sop(int, int) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT true';
CREATE OPERATOR ==> (leftarg = int, rightarg = int, function = vop);
CREATE OPERATOR ==| (leftarg = int, rightarg = int, function = sop);
CREATE OPERATOR app.@@ (leftarg = int, rightarg = int, function = vop);

CREATE DOMAIN checked AS int CHECK (vola(VALUE) > 0);
CREATE DOMAIN over_checked AS checked;
CREATE DOMAIN locked AS int CHECK (pg_try_advisory_lock_shared(VALUE));
CREATE DOMAIN plain AS int CHECK (VALUE > 0 AND immu(VALUE) > 0);
CREATE TYPE comp AS (a locked, b text);
CREATE TYPE comp_over AS (c comp);
CREATE TYPE comp_of_arrays AS (c locked[]);
CREATE TYPE comp_plain AS (a plain, b int);
CREATE TYPE span AS RANGE (subtype = checked, multirange_type_name = spans);
CREATE TABLE held (id int, a locked);
CREATE TABLE "Wide Table" (id int, a locked);
INSERT INTO held VALUES (1, NULL);
CREATE TABLE held_plain (id int, a plain);
CREATE VIEW v_held AS SELECT id FROM held;
CREATE VIEW v_comp AS SELECT ROW(id, v)::comp FROM t;
CREATE VIEW v_populate AS SELECT (jsonb_populate_record(NULL::held, '{"a":1}')).id;
CREATE FUNCTION to_pair(text) RETURNS pair LANGUAGE sql VOLATILE AS 'SELECT ROW(1, 2)::pair';
CREATE CAST (text AS pair) WITH FUNCTION to_pair(text);

CREATE VIEW v_plain AS SELECT lower(v) AS l, count(*) OVER () AS n, id::numeric(10,2) AS d, now() AS at FROM t WHERE v LIKE 'x%';
CREATE VIEW v_stab AS SELECT stab(id), app.stab2(id), agg_good(id) OVER () FROM t;
CREATE VIEW v_vola AS SELECT vola(id) FROM t;
CREATE VIEW v_advisory AS SELECT pg_try_advisory_lock_shared(id) FROM t;
CREATE VIEW v_setting AS SELECT s FROM t, LATERAL set_config('app.a', v, true) s;
CREATE VIEW v_sequence AS SELECT last_value FROM (SELECT 1 AS last_value) s WHERE EXISTS (SELECT pg_notify('a', 'b'));
CREATE VIEW v_nested AS SELECT * FROM (SELECT * FROM v_advisory) s;
CREATE VIEW v_nested2 AS WITH x AS (SELECT * FROM v_nested) SELECT * FROM x;
CREATE VIEW v_locks AS SELECT * FROM t FOR SHARE;
CREATE VIEW v_aggregate AS SELECT agg_bad(id) FROM t;
CREATE VIEW v_window AS SELECT agg_bad(id) OVER () FROM t;
CREATE VIEW v_final AS SELECT agg_final(id) FROM t;
CREATE VIEW v_agg_lock AS SELECT agg_lock(id) FROM t;
CREATE VIEW v_operator AS SELECT id ==> id FROM t;
CREATE VIEW v_catalog_operator AS SELECT id OPERATOR(app.@@) id FROM t;
CREATE VIEW v_good_operator AS SELECT id ==| id FROM t;
CREATE VIEW v_domain AS SELECT id::over_checked FROM t;
CREATE VIEW v_domains AS SELECT ARRAY[id]::checked[] FROM t;
CREATE VIEW v_cast AS SELECT v::pair FROM t;
CREATE VIEW v_said_read AS SELECT said_read(id), app.said_read2(id) FROM t;
CREATE VIEW v_said_write AS SELECT said_write(id) FROM t;
CREATE VIEW v_said_builtin AS SELECT ascii(v) FROM t;
CREATE VIEW v_subquery AS SELECT (SELECT vola(1)) FROM t WHERE id IN (SELECT id FROM t);
CREATE VIEW v_text AS SELECT ':funcid 2880 :hasForUpdate true'::text AS ":funcid 2880 :hasForUpdate true" FROM t;
CREATE VIEW "My Schema"."V Größe" AS SELECT * FROM v_vola;
CREATE VIEW "My Schema"."plain_Name" AS SELECT 1;
CREATE VIEW a_view_with_a_name_that_is_as_long_as_names_of_the_server_can_b AS SELECT vola(1);
CREATE VIEW other.v_plain2 AS SELECT 1 AS one;
CREATE VIEW app.v_plain2 AS SELECT vola(1) AS one;
CREATE MATERIALIZED VIEW m_vola AS SELECT * FROM v_vola;

CREATE TABLE secret (id int); ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON secret USING (pg_try_advisory_lock_shared(id));
CREATE TABLE secret_user (id int); ALTER TABLE secret_user ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON secret_user FOR SELECT USING (EXISTS (SELECT FROM v_nested));
CREATE TABLE tenant (id int); ALTER TABLE tenant ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON tenant USING (id = current_setting('app.tenant', true)::int AND stab(id) = id);
CREATE POLICY q ON tenant FOR INSERT WITH CHECK (vola(id) > 0);
CREATE TABLE off (id int);
CREATE POLICY p ON off USING (vola(id) > 0);
CREATE VIEW v_secret AS SELECT * FROM secret;

CREATE UNLOGGED TABLE quick (id int);
CREATE VIEW v_quick AS SELECT * FROM quick;
CREATE TABLE parted (id int) PARTITION BY RANGE (id);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id);
CREATE UNLOGGED TABLE parted11 PARTITION OF parted1 FOR VALUES FROM (0) TO (5);
CREATE TABLE whole (id int) PARTITION BY RANGE (id);
CREATE TABLE whole1 PARTITION OF whole FOR VALUES FROM (0) TO (10);
`

// Each statement with what becomes of it: true is a Read.
var rules = []struct {
	sql  string
	read bool
}{
	// Functions on no list.
	{"SELECT stab(1), immu(2) FROM t", true},
	{"SELECT STAB(1)", true},
	{"SELECT public.stab(1), app.stab2(1), app . stab2 (1)", true},
	{`SELECT "My Schema"."Größe"(1)`, true},
	{"SELECT vola(1)", false},
	{"SELECT public.vola(1)", false},
	{"SELECT stab(1), vola(1)", false},
	{"SELECT mixed(1)", false}, // one overload is volatile
	{"SELECT app.twice(1)", true},
	{"SELECT other.twice(1)", false},
	{"SELECT twice(1)", false}, // which one is meant depends on the search path
	{"SELECT no_such(1)", false},
	{"SELECT app.stab(1)", false}, // it is in another schema
	{"SELECT said_read(1), app.said_read2(1)", true},
	{"SELECT said_read2(1)", true}, // there is one of that name, and it is declared
	{"SELECT said_write(1)", false},
	{"SELECT by_default()", false},
	{"SELECT by_default2(1)", false},
	{"SELECT by_default3(1)", true},
	{"SELECT proc()", false},
	{"SELECT on_change()", false},
	{"SELECT agg_good(id) FROM t", true},
	{"SELECT agg_bad(id) FROM t", false},
	{"SELECT agg_final(id) FROM t", false},
	{"SELECT agg_lock(id) FROM t", false}, // its final function is the server's own
	{"SELECT agg_said(id) FROM t", false},
	{"SELECT pg_temp.f(1)", false},
	{"WITH x AS (SELECT stab(1)) SELECT * FROM x", true},
	{"SELECT stab(id) FROM v_vola", false},
	{"SELECT stab(id) FROM t FOR UPDATE", false},
	{"SELECT stab(1), pg_advisory_lock_shared(1)", false},
	{"SELECT stab(1); SELECT 1", false},
	{"EXPLAIN SELECT stab(1)", true},

	// Built-in names.
	{"SELECT lower(v) FROM t", false},
	{"SELECT pg_catalog.lower(v) FROM t", true},
	{"SELECT upper(v), length(v) FROM t", true},
	{"SELECT substring(v, 1, 2) FROM t", false},
	{"SELECT substring(v FROM 1) FROM t", false},
	{"SELECT lower FROM (SELECT 1 AS lower) s", true},
	{"SELECT s.lower FROM (SELECT 1 AS lower) s", false}, // it could call app.lower(s)
	{"SELECT ascii(v) FROM t", false},                    // declared in WriteFunctions
	{"SELECT pg_catalog.ascii(v) FROM t", false},
	{"SELECT (v).ascii FROM t", false},
	{"SELECT t.touched FROM t", false},
	{"SELECT (t).touched FROM t", false},
	{"SELECT t.looked FROM t", true},
	{"SELECT (v).taken FROM t", false},
	{"SELECT ('a'::text).taken", false},
	{`SELECT (v)."taken_default" FROM t`, false},
	{"SELECT (v).TAKEN_list FROM t", false},
	{"SELECT (v).taken_stable FROM t", true},
	{"SELECT (v). /* */ taken FROM t", false},
	{"SELECT (v)./* */taken FROM t", false},
	{"SELECT (v). -- of it\n taken FROM t", false},
	{"SELECT (v) .\ttaken::text FROM t", false},
	{`SELECT (v).U&"taken" FROM t`, false},
	{"SELECT names.taken FROM names", false}, // a column is not told from an attribute
	{"SELECT taken, 'x' AS taken_list\nFROM names WHERE taken = 'a'", true},
	{"SELECT two, proc_of, taken_stable FROM names", true},

	// Views.
	{"SELECT * FROM v_plain", true},
	{"SELECT * FROM v_stab", true},
	{"SELECT * FROM v_vola", false},
	{"SELECT * FROM public . V_VOLA AS x", false},
	{`SELECT * FROM "public"."v_vola"`, false},
	{`SELECT * FROM U&"v_vola"`, false},
	{`SELECT * FROM U&"v_plain"`, false}, // what it names is not shown
	{"TABLE v_vola", false},
	{"SELECT 1 FROM t JOIN v_vola ON true", false},
	{"SELECT 1 FROM t, v_vola", false},
	{"SELECT 1 WHERE EXISTS (SELECT FROM v_vola)", false},
	{"SELECT v_vola FROM (SELECT 1 AS v_vola) s", true},
	{"SELECT 'v_vola' FROM t -- v_vola", true},
	{"SELECT * FROM v_advisory", false},
	{"SELECT * FROM v_setting", false},
	{"SELECT * FROM v_sequence", false},
	{"SELECT * FROM v_nested", false},
	{"SELECT * FROM v_nested2", false},
	{"SELECT * FROM v_locks", false},
	{"SELECT * FROM v_aggregate", false},
	{"SELECT * FROM v_window", false},
	{"SELECT * FROM v_final", false},
	{"SELECT * FROM v_agg_lock", false},
	{"SELECT * FROM v_comp", false},
	{"SELECT * FROM v_populate", false},
	{"SELECT * FROM v_held", true},
	{"SELECT * FROM v_operator", false},
	{"SELECT * FROM v_catalog_operator", false},
	{"SELECT * FROM v_good_operator", true},
	{"SELECT * FROM v_domain", false},
	{"SELECT * FROM v_domains", false},
	{"SELECT * FROM v_cast", false},
	{"SELECT * FROM v_said_read", true},
	{"SELECT * FROM v_said_write", false},
	{"SELECT * FROM v_said_builtin", false},
	{"SELECT * FROM v_subquery", false},
	{"SELECT * FROM v_text", true},
	{`SELECT * FROM "My Schema"."V Größe"`, false},
	{`SELECT * FROM "My Schema"."plain_Name"`, true},
	{"SELECT * FROM a_view_with_a_name_that_is_as_long_as_names_of_the_server_can_b", false},
	{"SELECT * FROM a_view_with_a_name_that_is_as_long_as_names_of_the_server_can_be", false},
	{"SELECT * FROM app.v_plain2", false},
	{"SELECT * FROM other.v_plain2", true},
	{"SELECT * FROM v_plain2", false},
	{"SELECT * FROM m_vola", true},
	{"SHOW search_path", true},

	// Tables.
	{"SELECT * FROM secret", false},
	{"SELECT * FROM v_secret", false},
	{"SELECT * FROM secret_user", false},
	{"SELECT * FROM tenant", true},
	{"SELECT * FROM off", true},
	{"SELECT * FROM quick", false},
	{"SELECT * FROM v_quick", false},
	{"SELECT * FROM parted", false},
	{"SELECT * FROM parted1", false},
	{"SELECT * FROM parted11", false},
	{"SELECT * FROM whole", true},

	// Operators, domains and casts.
	{"SELECT id ==> id FROM t", false},
	{"SELECT id ==| id FROM t", true},
	{"SELECT 1::checked", false},
	{"SELECT CAST(1 AS over_checked)", false},
	{"SELECT '{1}'::locked[]", false},
	{"SELECT 1::plain", true},
	{"SELECT ROW(1, 'a')::comp", false},
	{"SELECT '(1,a)'::public.comp", false},
	{"SELECT * FROM jsonb_populate_record(NULL::comp, '{}')", false},
	{"SELECT NULL::comp_over", false},
	{"SELECT NULL::comp_of_arrays", false},
	{"SELECT '[1,2)'::span", false},
	{"SELECT '{[1,2)}'::spans", false},
	{"SELECT ROW(1, 2)::comp_plain", true},
	{"SELECT * FROM held", true}, // what is stored was checked
	{`SELECT "held"."id", HELD . "a" FROM "held" WHERE "held"."a" IS NULL`, true},
	{"SELECT x.id FROM public.held x JOIN held y ON x.id = y.id", true},
	{"SELECT * FROM jsonb_populate_record(NULL::held, '{}')", false},
	{"SELECT NULL::held FROM held", false},
	{`SELECT (NULL::"public"."held").id`, false},
	{`SELECT NULL::"Wide Table"`, false},
	{"SELECT * FROM jsonb_populate_record(NULL::held_plain, '{}')", true},
	{"SELECT v::pair FROM t", false},
}

func TestRules(t *testing.T) {
	primary, standby := database(t, rulesSchema)
	exec(t, primary, "ALTER DATABASE testrules SET search_path = public, app") // for new connections
	require.NoError(t, cluster(t).WaitCaughtUp(t.Context()))
	standby.SetMaxIdleConns(0)
	c := running(t, catalog.Config{
		DB:             primary,
		ReadFunctions:  []string{"said_read", "app.Said_Read2"},
		WriteFunctions: []string{"said_write", "ascii", "to_hex"},
	})
	for _, rule := range rules {
		info := judge(c, rule.sql)
		assert.Equal(t, info, c.Classify(rule.sql), rule.sql)
		assert.Equal(t, rule.read, info.Class == sqlclass.Read, rule.sql)
		if rule.read {
			assert.Zero(t, info.Flags, rule.sql)
			_, err := standby.ExecContext(t.Context(), rule.sql)
			assert.NoError(t, err, "a read that a standby refuses: %s", rule.sql)
		}
	}
	assert.Equal(t, []string{"app.lower", "app.substring", "public.taken", "public.touched"}, functions(c.Status().Risks),
		"without those that nothing is likely to name but a call")
	if t.Failed() {
		for _, r := range c.Status().Risks {
			t.Log(r)
		}
	}
}

func functions(risks []catalog.Risk) (names []string) {
	for _, r := range risks {
		if r.Kind == "function" {
			names = append(names, r.Name)
		}
	}
	return names
}

// A statement that sets a parameter until the end of its transaction is a write by
// whatever else it does.
func TestSettingWithARisk(t *testing.T) {
	primary, _ := database(t, rulesSchema)
	c := running(t, catalog.Config{DB: primary})
	for text, want := range map[string]sqlclass.Flags{
		"SELECT set_config('app.a', 'b', true)":                             sqlclass.SetsLocal,
		"SELECT set_config('app.a', 'b', true), * FROM t":                   0, // to the lexer any relation may be a view
		"SELECT set_config('app.a', 'b', true), * FROM v_vola":              0,
		"SELECT set_config('app.a', 'b', true), * FROM quick":               0,
		"SELECT set_config('app.a', 'b', true), 1::checked":                 0,
		"SELECT set_config('app.a', 'b', true), (v).taken FROM t":           0,
		"SELECT set_config('app.a', 'b', true), id ==> id FROM t":           0,
		"SELECT set_config('app.a', 'b', true), * FROM other.v_plain2":      0,
		"SELECT set_config('synchronous_commit', 'off', true) FROM v_locks": sqlclass.AsyncCommit,
		"SET LOCAL app.checked = 'checked'":                                 sqlclass.SetsLocal,
		"SELECT set_config('app.a', 'b', true), stab(id) FROM v_vola":       0,
		"SELECT set_config('app.a', 'b', false), id FROM t":                 sqlclass.SetsSession,
	} {
		info := judge(c, text)
		assert.Equal(t, info, c.Classify(text), text)
		assert.Equal(t, sqlclass.Unknown, info.Class, text)
		assert.Equal(t, want, info.Flags, text)
	}
}

// What the rules are for: a standby takes the lock behind a view, which the next one
// to come back to that connection will find, and it refuses an unlogged table.
func TestWhatAStandbyDoes(t *testing.T) {
	_, standby := database(t, rulesSchema)
	conn, err := standby.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "SELECT * FROM v_nested2")
	require.NoError(t, err)
	locks := 0
	require.NoError(t, conn.QueryRowContext(t.Context(),
		"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()").Scan(&locks))
	assert.Equal(t, 1, locks)
	_, err = conn.ExecContext(t.Context(), "SELECT * FROM parted")
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "0A000", refused.Code)
}

// An ordinary role that may use none of it sees the same risks.
func TestOrdinaryRole(t *testing.T) {
	primary, _ := database(t, rulesSchema)
	exec(t, primary, `REVOKE ALL ON SCHEMA app, other, "My Schema", public FROM public; CREATE ROLE nobody LOGIN PASSWORD 'only-in-a-test'`)
	t.Cleanup(func() {
		_, err := cluster(t).Primary().DB().Exec("DROP ROLE nobody")
		require.NoError(t, err)
	})
	all := running(t, catalog.Config{DB: primary})
	db := open(t, cluster(t).Primary().DSNFor("testordinaryrole")+" user=nobody password=only-in-a-test")
	few := running(t, catalog.Config{DB: db})
	require.NotEmpty(t, few.Status().Risks)
	assert.Equal(t, all.Status().Risks, few.Status().Risks)
	assert.Equal(t, all.Status().Functions, few.Status().Functions)
}
