package tsql_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

func TestParse(t *testing.T) {
	for text, statements := range map[string]int{
		"":                  0,
		";;":                0,
		"SELECT 1 SELECT 2": 2,
		"/* a /* nested */ comment */ SELECT 'it''s' -- and this\n":                                                                     1,
		`SET IDENTITY_INSERT "a" ON;INSERT INTO "a" ("id") VALUES (@p1);SET IDENTITY_INSERT "a" OFF;`:                                   3,
		"DECLARE @a int = 1, @b nvarchar(max) IF @a = 1 BEGIN SELECT 1; SELECT 2 END; ELSE SELECT 3":                                    3,
		"SELECT TOP (3) [x].* FROM dbo.[a b] AS x WITH (NOLOCK, INDEX) WHERE 1 = 1":                                                     -102,
		"SELECT a = b FROM [db].dbo.t ORDER BY 1 OFFSET 5 ROWS FETCH NEXT 1 ROW ONLY":                                                   1,
		"MERGE INTO t USING (VALUES(1)) AS excluded (id) ON t.id = excluded.id WHEN NOT MATCHED THEN INSERT (id) VALUES (excluded.id);": 1,
		"MERGE INTO t USING (VALUES(1)) AS e (id) ON t.id = e.id WHEN NOT MATCHED THEN INSERT (id) VALUES (1)":                          -102,
		"SELECT 'open":              -105,
		"SELECT /* open":            -113,
		"SELECT CAST(1 AS nothing)": -2715,
		"CREATE TABLE t (id int REFERENCES u(id) ON DELETE CASCADE)": -102,
		"SELECT row_number() OVER (ORDER BY id) FROM t":              -102,
		"SELECT 1 FOR UPDATE": -102,
	} {
		stmts, err := tsql.Parse(text)
		if statements >= 0 {
			require.NoError(t, err, text)
			require.Len(t, stmts, statements, text)
			continue
		}
		var e *sqlval.Error
		require.ErrorAs(t, err, &e, text)
		require.EqualValues(t, -statements, e.Number, text)
	}
	_, err := tsql.Parse("SELECT * FROM a WHERE x CONTAINS 'y'")
	require.ErrorContains(t, err, "CONTAINS", "the error names what it does not know")
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"SELECT TOP 1 a.*, count(*) AS n FROM a LEFT JOIN b ON a.id = b.id WHERE a.x IN (1, @p1) AND NOT EXISTS (SELECT 1) GROUP BY a.x HAVING 1=1 ORDER BY 1 DESC OFFSET 1 ROWS",
		"UPDATE [t] SET a += 1 OUTPUT INSERTED.* WHERE b LIKE N'%x' ESCAPE '!'", "DELETE FROM t WHERE a BETWEEN 0x1F AND 1.5e3",
		"CREATE TABLE t (id bigint IDENTITY(1,1), d decimal(25, 0) DEFAULT (1), CONSTRAINT c CHECK (d > 0), PRIMARY KEY (id))",
		"((((((((", "BEGIN BEGIN BEGIN END", "IF 1=1 IF 1=1 ELSE", "CASE WHEN", "@p1 int, @p2 nvarchar(max)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = tsql.Parse(text)       // must return
		_, _ = tsql.ParseParams(text) // likewise
	})
}
