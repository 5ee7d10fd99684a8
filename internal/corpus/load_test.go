package corpus

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// statement is one text of the corpus. It ends with a semicolon at the end of a
// line, which is not part of it. Lines in front of it give it properties:
//
//	--| effect: why a standby that accepts it has changed something
//	--| since: 17                   the first version that understands it
//	--| fails: 42P01                an error that says nothing about reading or writing
//	--| behind: a view              the text alone cannot show why it is refused
//	--| every effect: ...           for the rest of the file
type statement struct {
	origin string
	line   int
	sql    string
	effect string
	since  int
	fails  string
	behind bool
}

// load reads the whole corpus in the order of the files.
func load(t testing.TB) []statement {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "statements", "*.sql"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var all []statement
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all = append(all, parse(t, strings.TrimSuffix(filepath.Base(file), ".sql"), string(text))...)
	}
	return all
}

func parse(t testing.TB, origin, text string) []statement {
	t.Helper()
	var list []statement
	var lines []string
	var every string
	next := statement{origin: origin}
	for i, line := range strings.Split(text, "\n") {
		property, marked := strings.CutPrefix(line, "--| ")
		switch {
		case marked && len(lines) == 0:
			key, value, found := strings.Cut(property, ": ")
			require.True(t, found, "%s:%d: a property is 'key: value'", origin, i+1)
			switch key {
			case "effect":
				next.effect = value
			case "every effect":
				every = value
			case "behind":
				next.behind = true
			case "fails":
				next.fails = value
			case "since":
				n, err := strconv.Atoi(value)
				require.NoError(t, err, "%s:%d", origin, i+1)
				next.since = n
			default:
				require.Fail(t, "unknown property", "%s:%d: %s", origin, i+1, key)
			}
			continue
		case len(lines) == 0 && line == "":
			continue
		case len(lines) == 0:
			next.line = i + 1
		}
		lines = append(lines, line)
		if !strings.HasSuffix(line, ";") {
			continue
		}
		next.sql = strings.TrimSuffix(strings.Join(lines, "\n"), ";")
		if next.effect == "" {
			next.effect = every
		}
		list = append(list, next)
		lines, next = nil, statement{origin: origin}
	}
	require.Empty(t, lines, "%s: the last statement has no semicolon at its end", origin)
	return list
}

// TestCorpusIsLarge keeps the corpus from shrinking, and from growing by copies.
func TestCorpusIsLarge(t *testing.T) {
	all := load(t)
	require.GreaterOrEqual(t, len(all), 1500)
	seen := map[string]int{}
	for _, s := range all {
		require.Zero(t, seen[s.origin+s.sql], "%s:%d stands there twice: %s", s.origin, s.line, s.sql)
		seen[s.origin+s.sql] = s.line
	}
}
