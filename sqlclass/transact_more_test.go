package sqlclass_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/sqlclass"
)

// TestTransactLocks holds every table hint: the ones that keep a lock or skip what
// is locked, and the ones that choose a way to read.
func TestTransactLocks(t *testing.T) {
	hints := map[string]sqlclass.Class{
		"UPDLOCK": sqlclass.LockingRead, "XLOCK": sqlclass.LockingRead, "HOLDLOCK": sqlclass.LockingRead,
		"SERIALIZABLE": sqlclass.LockingRead, "REPEATABLEREAD": sqlclass.LockingRead, "TABLOCK": sqlclass.LockingRead,
		"TABLOCKX": sqlclass.LockingRead, "PAGLOCK": sqlclass.LockingRead, "READPAST": sqlclass.LockingRead,
		"READCOMMITTEDLOCK": sqlclass.LockingRead,
		"NOLOCK":            sqlclass.Read, "READUNCOMMITTED": sqlclass.Read, "READCOMMITTED": sqlclass.Read, "ROWLOCK": sqlclass.Read,
		"NOWAIT": sqlclass.Read, "SNAPSHOT": sqlclass.Read, "FORCESEEK": sqlclass.Read, "FORCESCAN": sqlclass.Read,
		"NOEXPAND": sqlclass.Read, "INDEX(1)": sqlclass.Read,
	}
	for hint, want := range hints {
		for _, sql := range []string{
			"SELECT * FROM t WITH (" + hint + ") WHERE id = @p1",
			"SELECT * FROM dbo.t AS a WITH(ROWLOCK, " + hint + ")",
			"SELECT * FROM a JOIN (SELECT * FROM t WITH (" + hint + ")) x ON 1 = 1",
			"WITH c AS (SELECT * FROM t WITH (" + hint + ")) SELECT * FROM c",
		} {
			assert.Equal(t, want, sqlclass.Classify(sqlclass.SQLServer, sql).Class, sql)
		}
	}
}

// TestTransactSecondStatement puts a statement behind a SELECT without a semicolon,
// with everything that may come between.
func TestTransactSecondStatement(t *testing.T) {
	seconds := []string{
		"EXEC p", "EXECUTE ('DROP TABLE t')", "DELETE FROM t", "DELETE t", "UPDATE t SET a = 1", "INSERT t DEFAULT VALUES",
		"MERGE t USING u ON 1 = 1 WHEN MATCHED THEN DELETE;", "TRUNCATE TABLE t", "DROP TABLE t", "CREATE TABLE t (a int)",
		"ALTER TABLE t ADD b int", "GRANT SELECT ON t TO u", "REVOKE SELECT ON t FROM u", "DENY SELECT ON t TO u",
		"WAITFOR DELAY '0:0:1'", "SET NOCOUNT ON", "DECLARE @x int", "USE other", "BEGIN TRAN", "COMMIT", "ROLLBACK", "SAVE TRAN a",
		"IF 1 = 1 SELECT 2", "WHILE 1 = 1 SELECT 2", "PRINT 'x'", "RAISERROR ('x', 1, 1)", "THROW 50000, 'x', 1", "RETURN", "GOTO x",
		"BREAK", "CONTINUE", "KILL 5", "SHUTDOWN", "RECONFIGURE", "CHECKPOINT", "DBCC CHECKDB", "BACKUP DATABASE d TO DISK = 'x'",
		"RESTORE DATABASE d FROM DISK = 'x'", "BULK INSERT t FROM 'x'", "OPEN c", "CLOSE c", "FETCH NEXT FROM c", "DEALLOCATE c",
		"OPEN SYMMETRIC KEY k DECRYPTION BY PASSWORD = 'x'", "REVERT", "SETUSER 'x'", "ENABLE TRIGGER a ON t", "DISABLE TRIGGER a ON t",
		"SEND ON CONVERSATION @h", "RECEIVE * FROM q", "END CONVERSATION @h", "GET CONVERSATION GROUP @g FROM q",
		"MOVE CONVERSATION @h TO @g", "BEGIN CONVERSATION TIMER (@h) TIMEOUT = 1", "ADD SIGNATURE TO p BY CERTIFICATE c", "LINENO 5",
		"READTEXT t.a @p 1 1", "WRITETEXT t.a @p 'x'", "UPDATETEXT t.a @p 0 0 'x'", "SELECT 2", "WITH x AS (SELECT 1 a) DELETE FROM x",
		"UPDATE STATISTICS t", "LOAD DATABASE d FROM x",
	}
	for _, second := range seconds {
		for _, first := range []string{
			"SELECT 1 ", "SELECT a FROM t ", "SELECT a FROM t WHERE b = 1\n", "SELECT 'x'", "SELECT [a]", "SELECT (1)",
			"SELECT a FROM t ORDER BY a ", "SELECT a FROM t WITH (NOLOCK) ", "SELECT COUNT(*) FROM t OPTION (RECOMPILE) ", "SELECT 1 /* x */",
		} {
			info := sqlclass.Classify(sqlclass.SQLServer, first+second)
			assert.NotEqual(t, sqlclass.Read, info.Class, first+second)
			assert.NotEqual(t, sqlclass.LockingRead, info.Class, first+second)
			assert.False(t, info.Flags.Has(sqlclass.UnlistedCalls), first+second)
		}
	}
}

// TestTransactElsewhere holds what reaches another server, changes its connection,
// or takes something that only the primary has.
func TestTransactElsewhere(t *testing.T) {
	for sql, want := range map[string]sqlclass.Class{
		"SELECT * FROM OPENQUERY(srv, 'SELECT 1')":              sqlclass.Unknown,
		"SELECT * FROM OPENROWSET('p', 'c', 'SELECT 1') AS r":   sqlclass.Unknown,
		"SELECT * FROM OPENROWSET(BULK 'f', SINGLE_CLOB) AS r":  sqlclass.Unknown,
		"SELECT * FROM OPENDATASOURCE('p', 'c').db.dbo.t":       sqlclass.Unknown,
		"SELECT * FROM OPENXML(@h, '/a')":                       sqlclass.Unknown,
		"SELECT * FROM srv.db.dbo.t":                            sqlclass.Unknown,
		"SELECT NEXT VALUE FOR dbo.s OVER (ORDER BY id) FROM t": sqlclass.Write,
		"SELECT x = NEXT  VALUE /* a */ FOR s":                  sqlclass.Write,
		"INSERT INTO t OUTPUT INSERTED.id INTO @ids VALUES (1)": sqlclass.Write,
		"SELECT * FROM (DELETE FROM t OUTPUT deleted.id) AS d":  sqlclass.Write,
		"SELECT IDENTITY(int, 1, 1) AS id INTO copy FROM t":     sqlclass.Write,
		"[p]; SELECT 1":                            sqlclass.Unknown, // the first of a batch needs no EXEC
		"[p]\nSELECT 1":                            sqlclass.Unknown,
		"\"p\" SELECT 1":                           sqlclass.Unknown,
		"SELECT 1; [p]":                            sqlclass.Unknown,
		"EXEC sp_getapplock 'x', 'Exclusive'":      sqlclass.Unknown,
		"EXEC sp_set_session_context N'tenant', 5": sqlclass.Unknown,
		"EXEC sp_executesql N'SELECT 1'":           sqlclass.Unknown,
		"EXECUTE AS USER = 'bob'":                  sqlclass.Unknown,
		"sp_rename 'a', 'b'":                       sqlclass.Unknown,
		"{call p(1)}":                              sqlclass.Unknown,
		"SELECT {fn NOW()}":                        sqlclass.Unknown,
		"WAITFOR (RECEIVE * FROM q), TIMEOUT 5":    sqlclass.Unknown,
		"SELECT APPLOCK_TEST('public', 'x', 'Shared', 'Session')": sqlclass.Unknown,
		"SELECT NEWSEQUENTIALID()":                                sqlclass.Unknown,
		"SELECT RAND(5)":                                          sqlclass.Unknown,
		"SELECT RAND(), NEWID(), CRYPT_GEN_RANDOM(8)":             sqlclass.Read,
		"SELECT CASE WHEN a = 1 THEN 2 END conversation FROM t":   sqlclass.Unknown,
		"SELECT conversation, t.conversation FROM conversation":   sqlclass.Read,
		"SELECT PARSENAME('a.b', 1)":                              sqlclass.Read,
		"DECLARE @t TABLE (a int) INSERT INTO @t VALUES (1)":      sqlclass.Write,
		"CREATE PROCEDURE p AS SELECT 1":                          sqlclass.Write,
		"SELECT 'GO', N'EXEC p', [EXEC], \"DELETE\" FROM t":       sqlclass.Read,
	} {
		assert.Equal(t, want, sqlclass.Classify(sqlclass.SQLServer, sql).Class, sql)
	}
}
