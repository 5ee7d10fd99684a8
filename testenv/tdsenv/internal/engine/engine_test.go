package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/engine"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// server is a host with one database, and no group.
type server struct{ w *engine.Writer }

func (server) ServerName() string                                   { return "SQL1" }
func (s server) Database(string) (engine.Database, error)           { return s, nil }
func (s server) Databases() []engine.Database                       { return []engine.Database{s} }
func (server) View(string, engine.Database) (*engine.Rowset, error) { return nil, nil }
func (server) IsPrimary(string) any                                 { return nil }
func (server) Property(string) any                                  { return nil }
func (server) Name() string                                         { return "app" }
func (server) ID() int64                                            { return 5 }
func (s server) State() (*engine.State, error)                      { return s.w.Head(), nil }
func (s server) Writer() (*engine.Writer, error)                    { return s.w, nil }
func (server) Updateability() string                                { return "READ_WRITE" }

// answer is a sink that keeps everything as text.
type answer struct{ lines []string }

func (a *answer) Columns([]engine.Column) error { return nil }
func (a *answer) Row(row []any) error {
	var cells []string
	for _, v := range row {
		text, err := sqlval.Cast(v, sqlval.NVarCharType(sqlval.Max))
		if err != nil {
			return err
		}
		if text == nil {
			text = "NULL"
		}
		cells = append(cells, text.(string))
	}
	a.lines = append(a.lines, strings.Join(cells, "|"))
	return nil
}
func (a *answer) Done(uint16, int64, bool) error { return nil }
func (a *answer) Error(e *sqlval.Error) error {
	a.lines = append(a.lines, e.Error())
	return nil
}
func (a *answer) Info(string) error                      { return nil }
func (a *answer) Transaction(engine.Event, uint64) error { return nil }
func (a *answer) Database(string, string) error          { return nil }

func session() *engine.Session {
	s := server{engine.NewWriter(engine.Empty(), func(*engine.State) error { return nil })}
	return engine.NewSession(s, s)
}

func run(ctx context.Context, s *engine.Session, text string) ([]string, error) {
	var a answer
	err := s.Run(ctx, text, nil, &a)
	return a.lines, err
}

// Each query with the rows that a server answers.
func TestExpressions(t *testing.T) {
	s := session()
	_, err := run(t.Context(), s, `CREATE TABLE t (id int PRIMARY KEY, a nvarchar(20), b decimal(10,2), c int);
		INSERT INTO t VALUES (1, 'One', 1.5, NULL), (2, 'two ', 2.25, 7), (3, NULL, 3, 7)`)
	require.NoError(t, err)
	for query, want := range map[string]string{
		"SELECT 7 / 2, 7 % 2, -7 / 2, CAST(7 AS decimal(2,0)) / CAST(2 AS decimal(1,0)), 1 + 2 * 3": "3|1|-3|3.500000|7",
		"SELECT 'a' + 'b', CONCAT('a', NULL, 1), LEN('ab  '), UPPER('x')":                           "ab|a1|2|X",
		"SELECT SUBSTRING('hello', 2, 3), LEFT('hello', 2), RIGHT('hello', 2)":                      "ell|he|lo",
		"SELECT ISNULL(NULL, 5), COALESCE(NULL, NULL, 'x'), NULLIF(1, 1)":                           "5|x|NULL",
		"SELECT IIF(1 = 1, 'y', 'n'), CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END":                   "y|b",
		"SELECT id FROM t WHERE a = 'ONE'":                                                          "1",
		"SELECT id FROM t WHERE a = 'two'":                                                          "2",
		"SELECT id FROM t WHERE a LIKE '[m-p]%'":                                                    "1",
		"SELECT id FROM t WHERE c IS NULL OR NOT (c <> 7 OR c IS NULL) ORDER BY id DESC":            "3,2,1",
		"SELECT id FROM t WHERE id NOT IN (1, 2)":                                                   "3",
		"SELECT id FROM t WHERE c NOT IN (1, NULL)":                                                 "",
		"SELECT id FROM t WHERE id BETWEEN 2 AND 3 AND id = 2":                                      "2",
		"SELECT id FROM t WHERE id = (SELECT max(id) FROM t x WHERE x.id < 3)":                      "2",
		"SELECT o.id FROM t o WHERE EXISTS (SELECT 1 FROM t i WHERE i.id = o.id + 2)":               "1",
		"SELECT c, count(*), sum(b), avg(id), count(c), count(DISTINCT c) FROM t GROUP BY c":        "NULL|1|1.50|1|0|0,7|2|5.25|2|2|1",
		"SELECT count(*), max(b), min(a) FROM t WHERE id > 99":                                      "0|NULL|NULL",
		"SELECT DISTINCT c FROM t ORDER BY c":                                                       "NULL,7",
		"SELECT TOP 1 id FROM t ORDER BY b DESC":                                                    "3",
		"SELECT id FROM t ORDER BY id OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY":                         "2",
		"SELECT 1 UNION ALL SELECT 1 UNION SELECT 2":                                                "1,2",
		"SELECT x.id, y.id FROM t x LEFT JOIN t y ON y.id = x.c - 5 ORDER BY x.id":                  "1|NULL,2|2,3|2",
		"SELECT x.n FROM (SELECT id * 2 AS n FROM t) x WHERE x.n > 4":                               "6",
		"SELECT CAST('2026-02-03' AS date), DATEDIFF(day, '2026-01-01', '2026-02-03')":              "2026-02-03 00:00:00.0000000|33",
		"SELECT CAST(9999999999999999999999999 AS numeric(25,0)) - 1":                               "9999999999999999999999998",
		"SELECT 2147483647 + 1":                                                                     "Arithmetic overflow error converting expression to data type int. (8115)",
		"SELECT id FROM t WHERE id":                                                                 "An expression of non-boolean type specified in a context where a condition is expected. (4145)",
		"DECLARE @n int; SELECT @n = id FROM t WHERE id = 2; SELECT @n, @@ROWCOUNT":                 "2|1",
		"UPDATE t SET id = id + 1; SELECT min(id), max(id) FROM t; UPDATE t SET id = id - 1":        "2|4",
		"EXEC sp_executesql N'SELECT @x + 1', N'@x int', @x = 4":                                    "5",
	} {
		lines, err := run(t.Context(), s, query)
		require.NoError(t, err, query)
		assert.Equal(t, want, strings.Join(lines, ","), query)
	}
}

func TestConstraints(t *testing.T) {
	s := session()
	_, err := run(t.Context(), s, `CREATE TABLE p (id int PRIMARY KEY, u nvarchar(5) UNIQUE, n int CHECK (n > 0));
		CREATE TABLE c (id int PRIMARY KEY, p int CONSTRAINT fk REFERENCES p(id)); CREATE UNIQUE INDEX some ON c (p) WHERE id > 10;
		INSERT INTO p VALUES (1, 'a', 1); INSERT INTO c VALUES (1, 1), (2, 1), (11, 1)`)
	require.NoError(t, err)
	for query, number := range map[string]string{
		"INSERT INTO p VALUES (2, 'A', 1)":       "(2627)",
		"INSERT INTO p VALUES (2, 'b', 0)":       "(547)",
		"INSERT INTO c VALUES (3, 9)":            "(547)",
		"DELETE FROM p":                          "(547)",
		"INSERT INTO c VALUES (12, 1)":           "(2601)",
		"INSERT INTO p VALUES (2, 'toolong', 1)": "(2628)",
		"DROP TABLE p":                           "(3726)",
		"UPDATE p SET nothing = 1":               "(207)",
	} {
		lines, err := run(t.Context(), s, query)
		require.NoError(t, err, query)
		require.Len(t, lines, 1, query)
		require.Contains(t, lines[0], number, query)
	}
	lines, err := run(t.Context(), s, "SELECT count(*) FROM p; SELECT count(*) FROM c")
	require.NoError(t, err)
	require.Equal(t, []string{"1", "3"}, lines)
}

func FuzzRun(f *testing.F) {
	f.Add("CREATE TABLE t (id int IDENTITY PRIMARY KEY, a nvarchar(5)); INSERT INTO t (a) VALUES ('x'); SELECT * FROM t WHERE a LIKE '%[a-z'")
	f.Add("DECLARE @a int = 1; SELECT @a / 0; SELECT CAST('1e9' AS bigint), 0x01 + 1, -9223372036854775808 / -1")
	f.Add("MERGE INTO t USING (VALUES (1)) AS e (id) ON t.id = e.id WHEN MATCHED THEN UPDATE SET id = 1;")
	f.Add("BEGIN TRAN; SAVE TRAN a; ROLLBACK TRAN a; COMMIT; SELECT DATEADD(day, 1, '2026-01-01'), ROUND(1.25, 1), AVG(1)")
	f.Fuzz(func(_ *testing.T, text string) {
		if strings.Contains(strings.ToLower(text), "waitfor") {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s := session()
		defer s.Close()
		_, _ = run(ctx, s, text) // must return, whatever it answers
	})
}
