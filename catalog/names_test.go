package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/sqlclass"
)

func TestParseName(t *testing.T) {
	long := strings.Repeat("x", maxName)
	for text, want := range map[string]name{
		"total":                     {base: "total"},
		"Total":                     {base: "total"},
		" app . Total\t":            {"app", "total"},
		`"Total"`:                   {base: "Total"},
		`"My Schema"."a""b.c"`:      {"My Schema", `a"b.c`},
		`"plain".x$1`:               {"plain", "x$1"},
		"GRÖSSE":                    {base: "grÖsse"}, // ASCII alone is folded
		"_":                         {base: "_"},
		long + `."` + long + `"`:    {long, long},
		`"x"."` + `(` + `"`:         {"x", "("},
		"größe.\"U&\"":              {"größe", "U&"},
		"select":                    {base: "select"},
		`"` + " leading blank\"":    {base: " leading blank"},
		"pg_catalog.pg_size_pretty": {"pg_catalog", "pg_size_pretty"},
	} {
		n, err := parseName(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, n, text)
		again, err := parseName(n.String())
		require.NoError(t, err, text)
		assert.Equal(t, n, again, text)
	}
	for text, want := range map[string]error{
		"": errEmpty, " ": errEmpty, ".f": errEmpty, "a.": errEmpty, `""`: errEmpty, `a.""`: errEmpty, "a..b": errEmpty,
		`"f`: errOpen, `"f""`: errOpen, `a."b`: errOpen,
		"f()": errChars, "f(int)": errChars, "a b": errChars, "1f": errChars, "$f": errChars, "a-b": errChars,
		"f;": errChars, `"a"b`: errChars, `U&"f"`: errChars, "[f]": errChars, "*": errChars,
		"a.b.c": errParts, `"a"."b"."c"."d"`: errParts,
		long + "x": errLong, `a."` + long + `x"`: errLong,
		"a\x00": errEncoding, "a\xff": errEncoding,
	} {
		_, err := parseName(text)
		assert.Equal(t, want, err, "%q", text)
	}
}

func TestDeclaredNames(t *testing.T) {
	_, err := New(Config{
		ReadFunctions:  []string{"ok", "f(int)", "nextval", "pg_catalog.pg_sleep", "app.nextval", "md5"},
		WriteFunctions: []string{"a.b.c", "lower", "pg_sleep"},
	})
	require.Error(t, err)
	assert.Equal(t, strings.Join([]string{
		`readsplit: Config.ReadFunctions[1] is "f(int)": it is no name as SQL has it: write function or schema.function without arguments, other characters than letters, digits, _ and $ in double quotes`,
		`readsplit: Config.WriteFunctions[0] is "a.b.c": it has more than two parts: write function or schema.function`,
		`readsplit: Config.ReadFunctions[2] is "nextval": a built-in function of that name must not run on a replica: remove it, or name the schema of your own function`,
		`readsplit: Config.ReadFunctions[3] is "pg_catalog.pg_sleep": a built-in function of that name must not run on a replica: remove it, or name the schema of your own function`,
	}, "\n"), err.Error())
}

// A name must be found in the catalogue however it is written.
func TestLookUp(t *testing.T) {
	for written, want := range map[string]name{
		"Total": {base: "total"}, "APP.total": {"app", "total"}, "db.app.total": {"app", "total"},
		`"Total"`: {base: "Total"}, `"total"`: {base: "total"}, `db."App"."x y"`: {"App", "x y"}, `"d.b"."App".t`: {"App", "t"},
		`"größe"`: {base: "größe"}, "größe": {base: "größe"}, `"a.b".c`: {"a.b", "c"}, `"a""b"`: {base: `a"b`},
	} {
		called := 0
		sqlclass.Functions(sqlclass.PostgreSQL, "SELECT "+written+"(1)", func(text string) bool {
			called++
			n, ok := lookUp(text)
			assert.True(t, ok, written)
			assert.Equal(t, want, n, written)
			return true
		})
		sqlclass.Relations(sqlclass.PostgreSQL, "SELECT * FROM "+written, func(text string) bool {
			called++
			n, ok := lookUp(text)
			assert.True(t, ok, written)
			assert.Equal(t, want, n, written)
			return true
		})
		assert.Equal(t, 2, called, written)
	}
	for _, text := range []string{"", "a.", `U&"a"`, `a.U&"b"`, strings.Repeat("x", maxName+1), `"` + strings.Repeat("x", maxName+1) + `"`} {
		_, ok := lookUp(text)
		assert.False(t, ok, text)
	}
}

func FuzzParseName(f *testing.F) {
	for _, seed := range []string{"total", ` App . "X""y" `, `"a.b".c`, "größe", "f(int)", `"`, "1", "a\xff", "$.$"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseName(text)
		if err != nil {
			return
		}
		again, err := parseName(n.String())
		require.NoError(t, err, "%q", n.String())
		require.Equal(t, n, again)
		found, ok := lookUp(n.String())
		require.True(t, ok, "%q", n.String())
		require.Equal(t, n, found)
	})
}
