package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/sqlclass"
)

func TestWordIndex(t *testing.T) {
	long := strings.Repeat("long_", 12) + "abc" // 63 bytes
	var x wordIndex
	x.add("open_orders", foundRelation)
	x.add("My View", foundRelation)
	x.add("lower", foundCall)
	x.add("dom", foundWord)
	x.add(long, foundRelation)
	for text, want := range map[string]found{
		"":                                    0,
		"SELECT * FROM orders":                0,
		"SELECT * FROM open_orders":           foundRelation,
		`SELECT * FROM"OPEN_ORDERS"`:          foundRelation,
		"SELECT 'open_orders'":                foundRelation,
		"SELECT * FROM open_orders2":          0,
		"SELECT * FROM xopen_orders":          0,
		`SELECT * FROM "My View"`:             foundRelation,
		`SELECT my FROM t`:                    foundRelation, // the first word is enough
		`SELECT "view" FROM t`:                0,
		"SELECT Lower(x)::DOM FROM t":         foundCall | foundWord,
		"SELECT * FROM " + long:               foundRelation,
		"SELECT * FROM " + long + "d":         foundRelation,
		"SELECT * FROM " + long[:62]:          0,
		`SELECT * FROM U&"x"`:                 foundWord,
		`SELECT * FROM u&"x"`:                 foundWord,
		`SELECT * FROM U &"x"`:                0,
		"SELECT $$" + strings.Repeat("x", 60): 0,
	} {
		assert.Equal(t, want, x.scan(text), text)
	}
	assert.Equal(t, foundRelation|foundCall|foundWord, x.kinds)

	var nameless wordIndex
	nameless.add("-- ", foundRelation)
	assert.Equal(t, foundRelation, nameless.scan("SELECT 1"))
	nameless = wordIndex{}
	nameless.add(strings.Repeat("x y", 21), foundRelation) // the server may have cut its only word
	assert.Equal(t, foundRelation, nameless.scan("SELECT 1"))
}

// What the lexer finds, the index must have found before.
func FuzzWordsAreASuperset(f *testing.F) {
	for _, seed := range []string{
		"SELECT f(1) FROM a, b.c JOIN \"D e\" ON g.h(i) = 2", `SELECT "x""y"(1) FROM "--"`, "TABLE größe",
		"SELECT * FROM $a$x$a$ t", "SELECT x'ab'::v", "SELECT * FROM " + strings.Repeat("x", 70),
		`SELECT * FROM "` + strings.Repeat("x y", 23) + `"`, `SELECT * FROM U&"a"`, "SELECT*FROM/**/v--",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if sqlclass.Classify(sqlclass.PostgreSQL, text).Class == sqlclass.Unknown {
			return
		}
		visit := func(reported string) bool {
			n, ok := lookUp(reported)
			if !ok {
				if i := strings.LastIndexAny(reported, `."`); i < 0 { // one long word
					n.base = reported[:maxName]
				} else {
					return true
				}
			}
			var x wordIndex
			x.add(n.base, foundRelation)
			require.NotZero(t, x.scan(text), "%q in %q", n.base, text)
			return true
		}
		sqlclass.Functions(sqlclass.PostgreSQL, text, visit)
		sqlclass.Relations(sqlclass.PostgreSQL, text, visit)
	})
}
