package sqlclass

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// spaced is a text with one more blank behind each of its tokens. It reports false where
// the text cannot be cut, or not the same by every server.
func spaced(d Dialect, sql, blank string) (string, bool) {
	var b strings.Builder
	lex, end := lexer{sql: sql, dialect: d}, int32(0)
	for {
		t := lex.next()
		switch t.kind {
		case tokBad:
			return "", false
		case tokEOF:
			return b.String() + sql[end:], !lex.ambiguous
		}
		b.WriteString(sql[end:t.end])
		b.WriteString(blank)
		end = t.end
	}
}

// requireBlanksChangeNothing checks that a text means the same with blanks between its
// tokens: what is read in one go where the tokens stand close (lists of columns and
// parameters, dotted names) is then read token by token.
func requireBlanksChangeNothing(t *testing.T, d Dialect, sql string) {
	t.Helper()
	for _, blank := range []string{" ", "\n", " -- x\n", " /* \" */ /**/"} {
		other, ok := spaced(d, sql, blank)
		if !ok {
			return
		}
		require.Equal(t, Classify(d, sql), Classify(d, other), "%q and %q", sql, other)
		require.Equal(t, named(Functions, d, sql), named(Functions, d, other), "functions of %q and %q", sql, other)
		require.Equal(t, named(Relations, d, sql), named(Relations, d, other), "relations of %q and %q", sql, other)
	}
}

func named(of func(Dialect, string, func(string) bool), d Dialect, sql string) (names []string) {
	of(d, sql, func(name string) bool {
		names = append(names, name)
		return true
	})
	return names
}

// pieces are of what texts are made, put together below without regard to sense.
var pieces = strings.Split(`SELECT|select|WITH|AS|INSERT INTO t|UPDATE|DELETE FROM t|MERGE INTO t|FOR UPDATE|FOR SHARE|INTO|VALUES|TABLE|FROM t|WHERE|AND|=|<|JOIN|ON|`+
	`EXPLAIN|ANALYZE|SET|LOCAL|COPY|BEGIN|GROUP BY|CUBE|GROUPING SETS|DISTINCT ON|LIMIT|FETCH FIRST|SEARCH|CYCLE|CREATE|VIEW|OPERATOR(pg_catalog.+)|`+
	`"a"|"a",|"a","b"|"a"."b",|"a"."b","c",|"a""b",|"",|"a|"a".|."b",|"A",|"lower"|"nextval"|"nextval",|U&"a"|U&"a",|a."b",|(a)."b",|(a)."nextval",|(update."b"|(delete.from|(insert.into|WITH x(a)"b",AS (SELECT 1) SELECT 1|WITH x(a) AS (|"#t",|`+
	`$1|$1,|$1,$2,|$1a,|$1$$,|$a$b$a$|$$x$$,|$,|?|?,|@a,|#t|##t|[a],|[1]|1,|1|1.|.5|1e5|0x1f|1_0|'a'|'a',|'a''b'|'\\'|E'a'|E'\\''|N'a'|U&'a'|X'1'|`+
	`a|a,|a.b|a.b.c,|a.b.c.d.e.f.g.h|a.*|a.1|a.e'x'|o.x|e|n|é|_|lower(|nextval(|own(|app.own(|"Own"(|set_config('a','b',true)|set_config('a','b',false)|coalesce(|in (|`+
	`pg_catalog.lower(|information_schema._pg_expandarray(|(|)|((|))|[|]|.|..|,|;|::|:|*|-|/|+|@@rowcount|NOLOCK|RAND(1)|synchronous_commit|pg_settings`, "|")

func TestBlanksChangeNothing(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, sql := range strings.Split(string(text), "\n====\n") {
			requireBlanksChangeNothing(t, PostgreSQL, sql)
			requireBlanksChangeNothing(t, SQLServer, sql)
		}
	}
	for _, sql := range []string{`WITH x(a)"b",AS (SELECT 1) SELECT 1`, `WITH x AS (SELECT 1),"y"."z",w AS (SELECT 2) SELECT 1`} {
		requireBlanksChangeNothing(t, PostgreSQL, sql)
	}
	random, reads := rand.New(rand.NewPCG(1, 2)), 0
	for range 10000 {
		var b strings.Builder
		if random.IntN(2) == 0 {
			b.WriteString("SELECT ")
		}
		for range 1 + random.IntN(10) {
			b.WriteString(pieces[random.IntN(len(pieces))])
			if random.IntN(3) > 0 {
				b.WriteByte(' ')
			}
		}
		for _, d := range []Dialect{PostgreSQL, SQLServer} {
			requireBlanksChangeNothing(t, d, b.String())
		}
		if Classify(PostgreSQL, b.String()).Class == Read {
			reads++
		}
	}
	require.Greater(t, reads, 300, "the texts have no sense at all")
}
