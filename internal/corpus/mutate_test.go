package corpus

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mutator makes new texts of those of the corpus. Most are no SQL; what a standby
// makes of the others is what matters.
type mutator struct {
	rng     *rand.Rand
	origins []string
	cut     map[string][][]string // the corpus by origin, cut into pieces
	texts   [][]string            // of the origin at hand
}

// pieces cuts a text roughly: words, literals, comments, blanks, single characters.
// It is not the lexer under test, and need not be right.
var pieces = regexp.MustCompile(`(?s)\s+|--[^\n]*|/\*.*?\*/|[eEnNuUbBxX]?&?'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\w*\$.*?\$\w*\$|[\w$]+|::|.`)

func newMutator(t testing.TB, seed uint64, all []statement) *mutator {
	t.Helper()
	m := &mutator{rng: rand.New(rand.NewPCG(seed, 1)), cut: map[string][][]string{}}
	for _, s := range all {
		cut := pieces.FindAllString(s.sql, -1)
		require.Equal(t, s.sql, strings.Join(cut, ""))
		m.cut[s.origin] = append(m.cut[s.origin], cut)
	}
	m.origins = slices.Sorted(maps.Keys(m.cut))
	return m
}

// turn goes on to the statements of another origin, whose names fit each other.
func (m *mutator) turn() string {
	origin := m.origins[m.pick(len(m.origins))]
	m.texts = m.cut[origin]
	return origin
}

// dangers are pieces that turn a read into something else where they fit.
var dangers = []string{
	" FOR UPDATE", " FOR SHARE", " FOR NO KEY UPDATE", " FOR KEY SHARE OF t", " INTO made", " INTO TEMP made",
	"pg_advisory_lock(1)", "pg_try_advisory_xact_lock(2)", "nextval('shop.users_id_seq')", "set_config('app.user', 'x', false)",
	"shop.claim_job('default')", "postgresql.take_lock(3)", "postgresql.shout('x')", "postgresql.next_number()",
	"(DELETE FROM shop.users RETURNING id)", "; SELECT pg_advisory_lock(4)", "; DELETE FROM shop.users", "; SET work_mem = '5MB'",
	"setseed(0.5)", "lo_create(0)", "txid_current()", "pg_stat_reset()", "query_to_xml('SELECT pg_advisory_lock(5)', false, false, '')",
	`U&"pg\005fadvisory_lock"(6)`, `"pg_advisory_lock"(7)`, "pg_catalog.pg_advisory_lock(8)", "postgresql.locking", "postgresql.scratch",
	"(SELECT 1 FROM shop.users FOR UPDATE)", "(SELECT count(*) FROM postgresql.over_locking)", "(TABLE postgresql.numbered)",
	"currval('shop.users_id_seq')", "ANALYZE ", "LATERAL postgresql.take_lock(9) AS l", "(users).claim_job", "(SELECT u.shout FROM shop.users u)",
	"'", "\"", "$$", "$a$", "--", "/*", "*/", "E'\\'", "'\\'", "\\", "\n", ";", "(", ")", "[", "]", ",", ".", "::", "AS", "WITH x AS ", "\u00a0", "\v",
}

func (m *mutator) pick(n int) int { return m.rng.IntN(n) }

func (m *mutator) text() []string {
	return append([]string(nil), m.texts[m.pick(len(m.texts))]...)
}

// next returns a new text.
func (m *mutator) next() string {
	cut := m.text()
	for range 1 + m.pick(2)*m.pick(3) {
		cut = m.change(cut)
	}
	return strings.Join(cut, "")
}

func (m *mutator) change(cut []string) []string {
	if len(cut) == 0 {
		return m.text()
	}
	i, j := m.pick(len(cut)), m.pick(len(cut))
	switch m.pick(14) {
	case 0:
		cut[i], cut[j] = cut[j], cut[i]
	case 1:
		return append(cut[:i:i], cut[i+1:]...)
	case 2:
		return append(cut[:i:i], append([]string{cut[i]}, cut[i:]...)...)
	case 3: // the front of one, the end of another
		other := m.text()
		return append(cut[:i:i], other[m.pick(len(other)):]...)
	case 4: // a piece of another
		other := m.text()
		cut[i] = other[m.pick(len(other))]
	case 5, 6:
		return append(cut[:i:i], append([]string{dangers[m.pick(len(dangers))]}, cut[i:]...)...)
	case 7:
		cut[i] = dangers[m.pick(len(dangers))]
	case 8: // an expression in place of a name, a number or a literal
		for range 8 {
			if k := m.pick(len(cut)); isOperand(cut[k]) {
				cut[k] = dangers[6+m.pick(22)]
				break
			}
		}
	case 9:
		cut[i] = otherCase(cut[i], m.pick(3))
	case 10: // blanks are comments
		if strings.TrimSpace(cut[i]) == "" {
			cut[i] = []string{"/* ' */", "--'\n", "/**/", "\n", "\t", "/* /* */ */", ""}[m.pick(7)]
		}
	case 11:
		return append(m.wrapper(), append(cut, ")")...)
	case 12: // the whole statement as an operand of another
		other := m.text()
		k := m.pick(len(other))
		return append(other[:k:k], append([]string{"(", strings.Join(cut, ""), ")"}, other[min(k+1, len(other)):]...)...)
	case 13:
		return append(cut, []string{" ", dangers[m.pick(len(dangers))]}...)
	}
	return cut
}

// wrapper begins a text in which the statement is closed by a parenthesis.
func (m *mutator) wrapper() []string {
	return []string{[]string{
		"SELECT * FROM (", "WITH w AS (", "SELECT EXISTS (", "SELECT ARRAY(", "SELECT (", "(", "EXPLAIN ANALYZE (", "EXPLAIN (ANALYZE) SELECT (",
		"SELECT 1 WHERE 1 IN (", "WITH a AS MATERIALIZED (SELECT 1) SELECT (", "SELECT * FROM shop.users u, LATERAL (", "SELECT 1 UNION ALL (",
		"SELECT coalesce((", "SELECT * FROM ROWS FROM (", "SELECT 1 ORDER BY (", "VALUES (", "SELECT x[", "DELETE FROM shop.users WHERE id = (",
	}[m.pick(18)]}
}

func isOperand(piece string) bool {
	c := (piece + " ")[0]
	return c == '\'' || c == '*' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z'
}

func otherCase(piece string, how int) string {
	switch how {
	case 0:
		return strings.ToUpper(piece)
	case 1:
		return strings.ToLower(piece)
	}
	return `"` + strings.Trim(piece, `"`) + `"`
}
