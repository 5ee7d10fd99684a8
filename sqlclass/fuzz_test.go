package sqlclass

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzClassify checks what must hold for every text: no panic, the same answer
// behind a comment, no read that hides a command, and no read that stays one
// when a DELETE is appended.
func FuzzClassify(f *testing.F) {
	files, err := filepath.Glob("testdata/*.sql")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(f, err)
		for _, sql := range strings.Split(string(text), "\n====\n") {
			f.Add(sql, false)
			f.Add(sql, true)
		}
	}
	for _, sql := range []string{
		"SELECT * FROM t WITH (UPDLOCK)", "SELECT 1 DELETE FROM t", "SELECT [a]]b] FROM #t", "SELECT @@ROWCOUNT",
		"$", "$$", "$a", "U&\"", "E'\\", "'\\'", "1e", "0x", ".", "..", "a.", "::", "/*", "--", "(", "[", "\x00", "\xff",
	} {
		f.Add(sql, false)
		f.Add(sql, true)
	}
	f.Fuzz(func(t *testing.T, sql string, transact bool) {
		d := PostgreSQL
		if transact {
			d = SQLServer
		}
		info := Classify(d, sql)
		require.Equal(t, info, Classify(d, sql), "not deterministic")
		for _, front := range []string{"/* front */ ", "-- front\n", "\n\t ", ";"} {
			require.Equal(t, info, Classify(d, front+sql), "behind %q", front)
		}
		requireBlanksChangeNothing(t, d, sql)
		require.Equal(t, info.Flags.Has(UnlistedCalls), info.Class == Unknown && info.Flags.Has(UnlistedCalls))
		Functions(d, sql, func(name string) bool {
			require.NotEmpty(t, name)
			return true
		})
		Relations(d, sql, func(name string) bool {
			require.NotEmpty(t, name)
			return true
		})
		if info.Class != Read {
			return
		}
		require.Zero(t, info.Flags, "a read has no flags")
		checkReadTokens(t, d, sql)
		appended := Classify(d, sql+"\n; DELETE FROM t")
		require.Equal(t, Write, appended.Class, "a DELETE was appended")
		require.True(t, appended.Flags.Has(Multi))
		appended = Classify(d, sql+"\n; SELECT 1")
		require.Equal(t, Unknown, appended.Class, "a SELECT was appended")
	})
}

// checkReadTokens looks at the tokens of a read by rules of its own, simpler than
// those of the classifier and in part stricter.
func checkReadTokens(t *testing.T, d Dialect, sql string) {
	t.Helper()
	lex := lexer{sql: sql, dialect: d}
	var prev, prev2 string
	depth, ended := 0, false
	for {
		tok := lex.next()
		require.NotEqual(t, tokBad, tok.kind)
		if tok.kind == tokEOF {
			break
		}
		text := strings.ToLower(sql[tok.start:tok.end])
		if tok.kind != tokWord && tok.kind != tokPunct {
			text = "?"
		}
		if prev == "" || prev == ";" {
			require.True(t, tok.kind == tokWord || text == "(" || text == ";", "a statement begins with %s", sql[tok.start:tok.end])
		}
		switch text {
		case "(", "[":
			depth++
		case ")", "]":
			depth--
		case ";":
			ended = ended || prev != "" && prev != ";"
		}
		require.False(t, ended && text != ";", "a token behind the end of the statement")
		if prev2 == "(" {
			require.False(t, prev == "insert" && text == "into" || prev == "delete" && text == "from" ||
				prev == "merge" && text == "into", "a command in parentheses: %s %s", prev, text)
		}
		require.False(t, d == PostgreSQL && prev == "for" && (text == "update" || text == "share") && prev2 != "." && prev2 != "as",
			"FOR %s", text)
		if text == "into" {
			require.True(t, prev == "." || prev == "as", "INTO")
		}
		if d == PostgreSQL && tok.kind == tokPunct && text == "(" && prev2 != "as" {
			require.NotContains(t, []string{"nextval", "setval", "set_config", "pg_notify"}, prev)
		}
		prev2, prev = prev, text
	}
	require.Zero(t, depth)
}
