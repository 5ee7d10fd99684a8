package readonlyguard

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/sqlclass"
)

// The whole judgement of texts, in both languages: nil passes.
func TestJudgeText(t *testing.T) {
	writes := func(verb string) *Error { return &Error{Verb: verb, Reason: Writes} }
	locks := func(verb string) *Error { return &Error{Verb: verb, Reason: Locks} }
	notProven := func(verb string) *Error { return &Error{Verb: verb, Reason: NotProven} }
	calls := func(verb string, names ...string) *Error {
		return &Error{Verb: verb, Reason: CallsFunctions, Functions: names}
	}
	const pg, ms = sqlclass.PostgreSQL, sqlclass.SQLServer
	tests := []struct {
		dialect sqlclass.Dialect
		text    string
		want    *Error
	}{
		{pg, "SELECT 1", nil},
		{pg, "TABLE authors", nil},
		{pg, "VALUES (1)", nil},
		{pg, "SHOW search_path", nil},
		{pg, "EXPLAIN ANALYZE SELECT 1", nil},
		{pg, "EXPLAIN ANALYZE DELETE FROM t", writes("EXPLAIN")},
		{pg, "SELECT * FROM t FOR NO KEY UPDATE SKIP LOCKED", locks("SELECT")},
		{pg, "LOCK TABLE t IN SHARE MODE", locks("LOCK")},
		{pg, "SELECT * INTO u FROM t", writes("SELECT")},
		{pg, "SELECT nextval('s')", writes("SELECT")},
		{pg, "insert into t values (1)", writes("INSERT")},
		{pg, "MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE", writes("MERGE")},
		{pg, "TRUNCATE t", writes("")},
		{pg, "VACUUM", writes("")},
		{pg, "COPY t FROM STDIN", writes("COPY")},
		{pg, "NOTIFY c", writes("NOTIFY")},
		{pg, "SELECT 1; SELECT 2", notProven("SELECT")},
		{pg, "SELECT 1; DROP TABLE t", writes("SELECT")},
		{pg, "SET a = 1; SET b = 2", notProven("SET")},
		{pg, "CALL p()", notProven("CALL")},
		{pg, "EXECUTE p", notProven("EXECUTE")},
		{pg, "PREPARE p AS DELETE FROM t", notProven("PREPARE")},
		{pg, "DECLARE c CURSOR FOR SELECT 1", notProven("")},
		{pg, "", notProven("")},
		{pg, "SELECT 'unterminated", notProven("SELECT")},
		{pg, "SELECT mine(1), good(2)", calls("SELECT", "mine")},
		{pg, "SELECT good(2), lower(Good('x'))", nil},
		{pg, "SELECT Bad.good(2)", calls("SELECT", "bad.good")},
		{pg, "SELECT app.good(2), app.good(3)", nil},
		{pg, `SELECT "Mine"(1)`, calls("SELECT", `"Mine"`)},
		{pg, "SELECT good(1) FROM t FOR SHARE", notProven("SELECT")},
		{pg, "COMMIT PREPARED 'x'", writes("COMMIT PREPARED")},

		{pg, "SET LOCAL lock_timeout = '1s'", nil},
		{pg, "SET TRANSACTION READ ONLY", nil},
		{pg, "RESET ALL", nil},
		{pg, "DISCARD ALL", nil},
		{pg, "DEALLOCATE p", nil},
		{pg, "BEGIN", nil},
		{pg, "COMMIT", nil},
		{pg, "ROLLBACK", nil},
		{pg, "SAVEPOINT a", nil},
		{pg, "RELEASE SAVEPOINT a", nil},
		{pg, "ROLLBACK TO SAVEPOINT a", nil},
		{pg, "SELECT set_config('app.tenant', $1, true)", nil},
		{pg, "SELECT pg_catalog.set_config('a', 'b', true), lower('x')", nil},
		{pg, "SELECT set_config('a', mine('b'), true)", notProven("SELECT")},
		{pg, "SELECT app.set_config('a', 'b')", calls("SELECT", "app.set_config")},
		{pg, "SELECT set_config('a', 'b', true), pg_advisory_lock(1)", notProven("SELECT")},
		{pg, "SELECT pg_advisory_lock(1)", notProven("SELECT")},
		{pg, "DELETE FROM t WHERE set_config('a', 'b', true) = ''", writes("DELETE")},

		{ms, "SELECT TOP 1 * FROM t", nil},
		{ms, "SELECT * FROM t WITH (UPDLOCK)", locks("SELECT")},
		{ms, "INSERT INTO t OUTPUT inserted.id VALUES (1)", writes("INSERT")},
		{ms, "SAVE TRANSACTION sp1", nil},
		{ms, "save tran [a b]", notProven("SAVEPOINT")},
		{ms, "SAVE TRANSACTION sp1 EXEC p", notProven("SAVEPOINT")},
		{ms, "ROLLBACK TRANSACTION sp1;", nil},
		{ms, "ROLLBACK", nil},
		{ms, "COMMIT WORK", nil},
		{ms, "COMMIT EXEC p", notProven("COMMIT")},
		{ms, "COMMIT p", notProven("COMMIT")},
		{ms, "BEGIN TRAN", nil},
		{ms, "BEGIN TRANSACTION t1", nil},
		{ms, "BEGIN TRAN EXEC p", notProven("BEGIN")},
		{ms, "SET NOCOUNT ON", nil},
		{ms, "SET LOCK_TIMEOUT -1", nil},
		{ms, "SET NOCOUNT ON EXEC p", notProven("SET")},
		{ms, "SET NOCOUNT ON; EXEC p", notProven("SET")},
		{ms, "SET NOCOUNT ON DELETE FROM t", writes("SET")},
		{ms, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED", nil},
		{ms, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT EXEC p", notProven("SET")},
		{ms, "EXEC p", notProven("CALL")},
	}
	allowed := Options{AllowFunctions: []string{"GOOD", "app.good"}}.allowed()
	for _, tt := range tests {
		t.Run(tt.dialect.String()+" "+tt.text, func(t *testing.T) {
			assert.Equal(t, tt.want, judgeText(tt.dialect, tt.text, allowed, nil))
		})
	}
}

func TestCheckSQL(t *testing.T) {
	read := ReadOnly(t.Context())
	assert.NoError(t, CheckSQL(t.Context(), sqlclass.PostgreSQL, "DELETE FROM t", Options{}))
	assert.NoError(t, CheckSQL(read, sqlclass.PostgreSQL, "SELECT 1", Options{}))

	want := &Error{Operation: "statement", Verb: "DELETE", Reason: Writes}
	assert.Equal(t, want, CheckSQL(read, sqlclass.PostgreSQL, "DELETE FROM t", Options{ReturnErrors: true}))
	defer func() { assert.Equal(t, want, recover()) }()
	_ = CheckSQL(read, sqlclass.PostgreSQL, "DELETE FROM t", Options{})
}
