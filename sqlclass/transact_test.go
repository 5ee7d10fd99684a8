package sqlclass_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/sqlclass"
)

func TestTransactReads(t *testing.T) {
	for _, sql := range []string{
		"SELECT 1",
		"select 1;",
		"(SELECT 1) UNION (SELECT 2)",
		"SELECT id FROM a UNION ALL SELECT id FROM b EXCEPT SELECT id FROM c",
		"SELECT * FROM [users] WHERE [users].[id] = @p1 AND [users].[deleted_at] IS NULL ORDER BY [users].[id] OFFSET 0 ROW FETCH NEXT 1 ROWS ONLY",
		"SELECT * FROM users ORDER BY (SELECT NULL) OFFSET (10) ROWS FETCH NEXT (5) ROWS ONLY",
		"SELECT TOP 10 * FROM users WITH (NOLOCK)",
		"SELECT TOP (10) PERCENT u.* FROM users u (NOLOCK) JOIN orders (NOLOCK) ON orders.uid = u.id",
		"SELECT * FROM users WITH (READUNCOMMITTED, INDEX(ix_users))",
		"SELECT * FROM dbo.users AS u WITH (READCOMMITTED) WHERE u.name = N'it''s'",
		"SELECT count(*), COUNT_BIG(*), AVG(age), STRING_AGG(name, ',') WITHIN GROUP (ORDER BY name) FROM users GROUP BY age HAVING COUNT(*) > 1",
		"SELECT ROW_NUMBER() OVER (PARTITION BY uid ORDER BY id), COUNT(*) OVER () FROM orders",
		"SELECT a, b, SUM(c) FROM t GROUP BY ROLLUP(a, b)",
		"SELECT a, b, SUM(c) FROM t GROUP BY GROUPING SETS ((a), CUBE(b), ())",
		"SELECT CAST(a AS decimal(10,2)), CONVERT(varchar(10), b, 120), TRY_CAST(c AS nvarchar(max)) FROM t",
		"SELECT DATEADD(day, -1, GETDATE()), DATEDIFF(hour, a, SYSUTCDATETIME()), EOMONTH(b) FROM t",
		"SELECT CASE WHEN EXISTS (SELECT 1 FROM t) THEN 1 ELSE 0 END",
		"SELECT IIF(a > 1, 'x', 'y'), COALESCE(a, b), ISNULL(a, 0), NULLIF(a, b), CHOOSE(1, 'a') FROM t",
		"SELECT LEFT(a, 1), RIGHT(a, 1), LEN(a), CHARINDEX('x', a), REPLACE(a, 'b', 'c'), UPPER(a) FROM t",
		"SELECT * FROM t WHERE a IN (1, 2) AND b NOT IN (SELECT c FROM d) AND (e LIKE 'x%' OR f BETWEEN 1 AND 2)",
		"SELECT * FROM t CROSS APPLY (SELECT TOP 1 * FROM u WHERE u.id = t.id) x",
		"SELECT j.a FROM t CROSS APPLY OPENJSON(t.data) WITH (a int '$.a', b nvarchar(50) '$.b') AS j",
		"SELECT value FROM STRING_SPLIT('a,b', ',')",
		"SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(id, name)",
		"SELECT * FROM (SELECT a, b FROM t) s PIVOT (SUM(b) FOR a IN ([x], [y])) p",
		"SELECT a, (SELECT b FROM u FOR XML PATH(''), ROOT('r'), TYPE) FROM t FOR JSON PATH, WITHOUT_ARRAY_WRAPPER",
		"SELECT * FROM t FOR SYSTEM_TIME AS OF '2024-01-01'",
		"WITH x AS (SELECT 1 AS n) SELECT * FROM x",
		";WITH x (n) AS (SELECT 1), y AS (SELECT n FROM x) SELECT * FROM x JOIN y ON x.n = y.n",
		"SELECT * FROM a INNER MERGE JOIN b ON a.id = b.id LEFT HASH JOIN c ON c.id = a.id OPTION (MERGE JOIN, RECOMPILE, MAXDOP 1)",
		"SELECT * FROM t OPTION (USE HINT ('DISABLE_OPTIMIZER_ROWGOAL'))",
		"SELECT [update], [delete], t.[insert], t.[from] FROM t",
		"SELECT 'DELETE FROM t', N'EXEC x', [a]]b], \"c\"\"d\" FROM t -- DROP TABLE t",
		"SELECT 'ends with a backslash\\', 'b' FROM t",
		"SELECT @@VERSION, @@SERVERNAME, DB_NAME(), SUSER_SNAME(), NEWID(), $1.50, 0xFF",
		"SELECT @x = a FROM t WHERE b = @p1",
		"SELECT is_primary_replica FROM sys.dm_hadr_database_replica_states WHERE database_id = DB_ID() AND is_local = 1",
		"SELECT DATABASEPROPERTYEX(DB_NAME(), 'Updateability')",
		"SELECT name FROM db..users",
		"SELECT größe FROM [übersicht] WHERE größe > 1",
		"SELECT count(*) FROM INFORMATION_SCHEMA.tables WHERE table_name = @p1 AND table_catalog = @p2",
	} {
		info := sqlclass.Classify(sqlclass.SQLServer, sql)
		assert.Equal(t, sqlclass.Info{Class: sqlclass.Read, Verb: sqlclass.Select}, info, sql)
	}
}

func TestTransactRefusals(t *testing.T) {
	const (
		set   = sqlclass.SetsSession
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
		{"SELECT * FROM t WITH (UPDLOCK)", sqlclass.LockingRead, sqlclass.Select, 0},
		{"SELECT * FROM t WITH (ROWLOCK, XLOCK, READPAST)", sqlclass.LockingRead, sqlclass.Select, 0},
		{"SELECT * FROM t (HOLDLOCK)", sqlclass.LockingRead, sqlclass.Select, 0},
		{"SELECT * FROM t AS a WITH (TABLOCKX, SERIALIZABLE)", sqlclass.LockingRead, sqlclass.Select, 0},
		{"SELECT * FROM (SELECT * FROM t WITH (REPEATABLEREAD)) x", sqlclass.LockingRead, sqlclass.Select, 0},

		{"SELECT * INTO u FROM t", sqlclass.Write, sqlclass.Select, ddl},
		{"SELECT * INTO #u FROM t", sqlclass.Write, sqlclass.Select, ddl},
		{"SELECT NEXT VALUE FOR dbo.numbers", sqlclass.Write, sqlclass.Select, 0},
		{"SELECT 1 DELETE FROM t", sqlclass.Write, sqlclass.Select, multi},
		{"SELECT 1 delete t", sqlclass.Write, sqlclass.Select, multi},
		{"SELECT a FROM t UPDATE t SET a = 1", sqlclass.Write, sqlclass.Select, multi},
		{"SELECT a FROM t INSERT t VALUES (1)", sqlclass.Write, sqlclass.Select, multi},
		{"SELECT a FROM t MERGE INTO t USING u ON 1 = 1 WHEN MATCHED THEN DELETE;", sqlclass.Write, sqlclass.Select, multi},
		{"SELECT a FROM t DROP TABLE t", sqlclass.Write, sqlclass.Select, multi | ddl},
		{"SELECT a FROM t TRUNCATE TABLE t", sqlclass.Write, sqlclass.Select, multi | ddl},
		{"SELECT 1; DELETE FROM t", sqlclass.Write, sqlclass.Select, multi},
		{"SELECT 1 SELECT 2", sqlclass.Unknown, sqlclass.Select, multi},
		{"SELECT a FROM t EXEC p", sqlclass.Unknown, sqlclass.Select, multi},
		{"SELECT a FROM t EXECUTE p", sqlclass.Unknown, sqlclass.Select, multi},
		{"SELECT a FROM t SET NOCOUNT ON", sqlclass.Unknown, sqlclass.Select, multi},
		{"SELECT a FROM t WAITFOR DELAY '0:0:1'", sqlclass.Unknown, sqlclass.Select, multi},
		{"SELECT a FROM t IF 1 = 1 PRINT 'x'", sqlclass.Unknown, sqlclass.Select, multi},
		{"SELECT a FROM t DECLARE @x int", sqlclass.Unknown, sqlclass.Select, multi},
		{"SELECT a FROM t USE other", sqlclass.Unknown, sqlclass.Select, multi},
		{"SELECT a FROM t COMMIT", sqlclass.Unknown, sqlclass.Select, multi | tx},
		{"SELECT a FROM t FETCH NEXT FROM c", sqlclass.Unknown, sqlclass.Select, multi},
		{"SELECT a FROM t KILL 5", sqlclass.Unknown, sqlclass.Select, multi},
		{"SELECT 1\u00a0DELETE FROM t", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT 1 -- a\rDELETE FROM t", sqlclass.Unknown, sqlclass.Select, 0},
		{"WITH x AS (SELECT 1 AS n) DELETE FROM x", sqlclass.Write, sqlclass.Delete, 0},
		{"WITH x AS (SELECT 1 AS n) UPDATE x SET n = 2", sqlclass.Write, sqlclass.Update, 0},

		{"SELECT * FROM #t", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT * FROM [#t]", sqlclass.Unknown, sqlclass.Select, 0},
		{`SELECT * FROM "##t" WHERE "id" = 1`, sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT * FROM tempdb..[#t]", sqlclass.Unknown, sqlclass.Select, 0},
		{"CREATE TABLE [#t] (a int)", sqlclass.Write, sqlclass.Define, ddl | set},
		{"SELECT * FROM tempdb..##t", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT @@IDENTITY", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT @@ROWCOUNT", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT SCOPE_IDENTITY()", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT SESSION_CONTEXT(N'a')", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT * FROM OPENQUERY(srv, 'DELETE FROM t')", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT * FROM srv.db.dbo.t", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT * FROM srv...t", sqlclass.Unknown, sqlclass.Select, 0},
		{"SELECT dbo.f(1)", sqlclass.Unknown, sqlclass.Select, calls},
		{"SELECT * FROM f(1)", sqlclass.Unknown, sqlclass.Select, calls},
		{"SELECT * FROM t CROSS APPLY dbo.f(t.id) x", sqlclass.Unknown, sqlclass.Select, calls},
		{"SELECT a.value('x', 'int') FROM t", sqlclass.Unknown, sqlclass.Select, calls},
		{"SELECT geometry::Point(1, 2, 0)", sqlclass.Unknown, sqlclass.Select, calls},

		{"INSERT INTO t VALUES (1)", sqlclass.Write, sqlclass.Insert, 0},
		{"INSERT INTO [t] ([a]) OUTPUT INSERTED.[id] VALUES (@p1)", sqlclass.Write, sqlclass.Insert, 0},
		{"UPDATE t SET a = 1 OUTPUT INSERTED.a WHERE b = 2", sqlclass.Write, sqlclass.Update, 0},
		{"DELETE FROM t", sqlclass.Write, sqlclass.Delete, 0},
		{"DELETE t WHERE a = 1", sqlclass.Write, sqlclass.Delete, 0},
		{"MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN UPDATE SET a = 1;", sqlclass.Write, sqlclass.Merge, 0},
		{"CREATE TABLE t (a int)", sqlclass.Write, sqlclass.Define, ddl},
		{"CREATE TABLE #t (a int)", sqlclass.Write, sqlclass.Define, ddl | set},
		{"TRUNCATE TABLE t", sqlclass.Write, sqlclass.Define, ddl},
		{"UPDATE STATISTICS t", sqlclass.Write, sqlclass.Update, 0},
		{"BULK INSERT t FROM 'f'", sqlclass.Write, sqlclass.Copy, 0},
		{"IF EXISTS (SELECT 1 FROM t) DELETE FROM t", sqlclass.Write, sqlclass.Other, 0},
		{"DECLARE @x int = 1 UPDATE t SET a = @x", sqlclass.Write, sqlclass.Other, 0},

		{"EXEC p 1", sqlclass.Unknown, sqlclass.Call, 0},
		{"EXECUTE p", sqlclass.Unknown, sqlclass.Call, 0},
		{"p 1", sqlclass.Unknown, sqlclass.Other, 0},
		{"VALUES (1)", sqlclass.Unknown, sqlclass.Other, 0},
		{"EXPLAIN SELECT 1", sqlclass.Unknown, sqlclass.Other, 0},
		{"SET NOCOUNT ON", sqlclass.Unknown, sqlclass.Set, set},
		{"SET TRANSACTION ISOLATION LEVEL SNAPSHOT", sqlclass.Unknown, sqlclass.Set, set},
		{"USE other", sqlclass.Unknown, sqlclass.Other, set},
		{"BEGIN TRANSACTION", sqlclass.Unknown, sqlclass.Begin, tx},
		{"BEGIN TRAN x", sqlclass.Unknown, sqlclass.Begin, tx},
		{"BEGIN SELECT 1 END", sqlclass.Unknown, sqlclass.Other, 0},
		{"COMMIT TRANSACTION", sqlclass.Unknown, sqlclass.Commit, tx},
		{"COMMIT WITH (DELAYED_DURABILITY = ON)", sqlclass.Unknown, sqlclass.Commit, tx | sqlclass.AsyncCommit},
		{"ROLLBACK", sqlclass.Unknown, sqlclass.Rollback, tx},
		{"ROLLBACK TRANSACTION", sqlclass.Unknown, sqlclass.Rollback, tx},
		{"ROLLBACK TRANSACTION sp1", sqlclass.Unknown, sqlclass.RollbackTo, tx},
		{"SAVE TRANSACTION sp1", sqlclass.Unknown, sqlclass.Savepoint, tx},
		{"DECLARE @x int = 1; SELECT @x", sqlclass.Unknown, sqlclass.Other, multi},
	}
	for _, tt := range tests {
		want := sqlclass.Info{Class: tt.class, Verb: tt.verb, Flags: tt.flags}
		got := sqlclass.Classify(sqlclass.SQLServer, tt.sql)
		assert.Equal(t, want, got, "%s\nwant %s %s %q\ngot  %s %s %q", tt.sql,
			want.Class, want.Verb, want.Flags, got.Class, got.Verb, got.Flags)
	}
}
