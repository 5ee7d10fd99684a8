package sqlclass_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/sqlclass"
)

// TestTextsThatCannotBeCut asks for Unknown wherever the server, one of its
// versions or one of its settings might cut the text at other places.
func TestTextsThatCannotBeCut(t *testing.T) {
	tests := []struct{ name, sql string }{
		{"zero byte", "SELECT 1\x00"},
		{"invalid UTF-8", "SELECT '\xff'"},
		{"truncated UTF-8", "SELECT '\xe2\x82'"},
		{"Unicode blank is part of the word", "SELECT\u00a01"},
		{"wide blank", "SELECT\u30001"},
		{"vertical tab", "SELECT\v1"},
		{"byte order mark", "\ufeffSELECT 1"},
		{"brace", "SELECT {d '2024-01-01'}"},
		{"backslash", `SELECT 1 \gexec`},
		{"open literal", "SELECT 'a"},
		{"open literal after a doubled quote", "SELECT 'a''"},
		{"open name", `SELECT "a`},
		{"empty name", `SELECT ""`},
		{"empty name in a list", `SELECT a,"",b`},
		{"empty column in a list", `SELECT a,"b"."",c`},
		{"number, dot and literal", "SELECT 1.'a'"},
		{"open comment", "SELECT 1 /* a"},
		{"open nested comment", "SELECT 1 /* a /* b */"},
		{"open dollar quote", "SELECT $a$ x $b$"},
		{"dollar without tag", "SELECT $a"},
		{"open escape literal", `SELECT E'a\'`},
		{"escape at the end", `SELECT E'a\`},
		{"a write if the backslash escapes", `SELECT 'a\', '; DELETE FROM users; --'`},
		{"the same in a national literal", `SELECT N'a\', '; DELETE FROM users; --'`},
		{"the same behind three backslashes", `SELECT 'a\\\', '; DELETE FROM users; --'`},
		{"the same behind a doubled quote", `SELECT 'a\''; DELETE FROM users; --'`},
		{"a call if the backslash escapes", `SELECT 'a\', ' || pg_advisory_lock(1) || '', 'b'`},
		{"an unlisted call if the backslash escapes", `SELECT 'a\', ' || bump() || '', 'b'`},
		{"a write if it does not, and none if it does", `SELECT 'a\', '', 'b'; DELETE FROM users --'`},
		{"continued escape literal", "SELECT E'a'\n'b\\'c'"},
		{"continued twice", "SELECT E'a'\n'b'\n'c\\n'"},
		{"continued behind a comment", "SELECT E'a' -- c\n'b\\n'"},
		{"continued behind two comments", "SELECT E'a' /* c */ -- d\n 'b\\n'"},
		{"number and word", "SELECT 1abc"},
		{"number and literal", "SELECT 1e'a'"},
		{"number and dollar quote", "SELECT 1$$ a $$"},
		{"number and name", `SELECT 1"a"`},
		{"parameter and word", "SELECT $1abc"},
		{"parameter and dollar quote", "SELECT $1$$ a $$"},
		{"open parenthesis", "SELECT (1"},
		{"closed too often", "SELECT 1)"},
		{"mixed brackets", "SELECT (1]"},
		{"crossed brackets", "SELECT a[(1])"},
		{"nested too deeply", "SELECT " + strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100)},
		{"endless name", "SELECT " + strings.Repeat("a.", 50) + "f(1)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			info := sqlclass.Classify(sqlclass.PostgreSQL, tt.sql)
			assert.Equal(t, sqlclass.Unknown, info.Class, tt.sql)
			assert.False(t, info.Flags.Has(sqlclass.UnlistedCalls), "a catalogue must not make it a read: %s", tt.sql)
		})
	}
}

// TestTextsThatCanBeCut holds what looks odd and is still certain.
func TestTextsThatCanBeCut(t *testing.T) {
	tests := []struct{ name, sql string }{
		{"parameters", "SELECT $1, $23::int, $3||$4 FROM t WHERE a=$5"},
		{"question marks", "SELECT * FROM t WHERE a = ? AND b = ?"},
		{"named", "SELECT * FROM t WHERE a = @name OR b = :name"},
		{"JSON operators", `SELECT d->>'a', d #>> '{a}', d @> $1, d ?| $2, d ?& $3 FROM t`},
		{"form feed", "SELECT\f1"},
		{"carriage return ends a comment", "SELECT 1 -- a\r+ 1"},
		{"comment at the end", "SELECT 1 --"},
		{"minus and comment", "SELECT 1 ---1\n"},
		{"star before a comment", "SELECT 2 */* a */3"},
		{"slash before a comment", "SELECT 4 //* a */2"},
		{"operator cut by a comment", "SELECT a @-- b\n c FROM t"},
		{"nested comment", "SELECT /* /* ; */ DELETE FROM t */ 1"},
		{"quote in a comment", "SELECT 1 /* ' */ -- '"},
		{"comment in a name", `SELECT "a--b", "c/*d" FROM t`},
		{"quote in a name", `SELECT "a'b" FROM t`},
		{"doubled quotes in a name", `SELECT "a""b" FROM t`},
		{"dollar in a word", "SELECT a$b$c FROM t"},
		{"dollar quote in a dollar quote", "SELECT $a$ $b$ ' $b$ $a$"},
		{"tag that begins like the other", "SELECT $a$ $ab$ $a$"},
		{"empty dollar quote", "SELECT $$$$"},
		{"dollar quote with digits", "SELECT $a1$ ' $a1$"},
		{"even backslashes", `SELECT 'a\\', 'b'`},
		{"backslash within", `SELECT 'a\b', 'c'`},
		{"backslash before the last quote", `SELECT * FROM t WHERE a LIKE $1 ESCAPE '\'`},
		{"backslash before a quote, and another quote later", `SELECT 'a\', 'b'`},
		{"the same in a national literal", `SELECT N'a\', 'b'`},
		{"three backslashes", `SELECT 'a\\\', 'b'`},
		{"backslash before a doubled quote", `SELECT 'a\''b'`},
		{"a read both ways", `SELECT 'a\', ' -- '`},
		{"bits have no escapes", `SELECT B'1', X'1F' FROM t WHERE a LIKE b ESCAPE '\'`},
		{"one character of escape, and literals", `SELECT * FROM users WHERE name LIKE $1 ESCAPE '\' OR email = 'x' OR tag = ''`},
		{"escape literal and plain one", `SELECT E'a\'b', 'c'`},
		{"escape literal and a literal with a backslash", `SELECT E'a', 'b\c'`},
		{"doubled quote in an escape literal", `SELECT E'a''b\\'`},
		{"word before a literal", "SELECT date'2024-01-01', interval'1 day'"},
		{"numbers", "SELECT 1.5e+10, .5e-3, 1., 0x1F, 0b101, 0o17, 1_000"},
		{"slices", "SELECT a[1:2][:3], b[$1] FROM t"},
		{"deep but not too deep", "SELECT " + strings.Repeat("(", 60) + "1" + strings.Repeat(")", 60)},
		{"Unicode names", "SELECT größe FROM 表 WHERE größe > 1"},
		{"many comments", strings.Repeat("/**/", 1<<20) + "SELECT 1" + strings.Repeat("--\n", 1<<20)},
		{"many blanks", "\n\t SELECT\r\n1\f"},
		{"leading semicolons", ";; SELECT 1 ;;"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, sqlclass.Read, sqlclass.Classify(sqlclass.PostgreSQL, tt.sql).Class, tt.sql)
		})
	}
}

// TestHiddenWrites puts a write behind everything that could swallow it.
func TestHiddenWrites(t *testing.T) {
	fronts := []string{
		"SELECT 'a'", "SELECT 'it''s'", `SELECT 'a\\'`, `SELECT E'a\''`, `SELECT E'a\\'`, `SELECT "a""b"`, "SELECT $$'$$",
		"SELECT $a$ $$ $a$", "SELECT /* ' */ 1", "SELECT /* /* */ */ 1", "SELECT 1 -- '\n", "SELECT 1 -- a\r",
		"SELECT U&'a'", `SELECT U&"a"`, "SELECT B'1'", "SELECT N'a'", "SELECT a$b", "SELECT 1 */* ' */2", "SELECT '--'", "SELECT '/*'",
	}
	for _, front := range fronts {
		sql := front + "; DELETE FROM users"
		info := sqlclass.Classify(sqlclass.PostgreSQL, sql)
		assert.Equal(t, sqlclass.Write, info.Class, sql)
		assert.True(t, info.Flags.Has(sqlclass.Multi), sql)
	}
}
