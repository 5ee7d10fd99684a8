package catalog

import "strings"

// watchAttribute has texts looked at that may call a function of that name as an
// attribute: (e).total. Package sqlclass sees no call there, but a column.
func (s *snapshot) watchAttribute(base string) {
	if !oneWord(base) {
		s.words.add(base, foundWord)
		return
	}
	s.words.add(base, foundAttribute)
	s.attributes[base] = true
}

// callsAttribute reports whether one of those names stands behind a dot, and is not
// that of an ordinary call: app.total(1) is looked at as such. Of a column of that
// name the text does not tell it.
func (s *snapshot) callsAttribute(sql string) bool {
	calls := false
	eachWord(sql, func(w spot) bool {
		var buf [maxName]byte
		if w.end-w.start > maxName || !s.attributes[string(w.fold(buf[:0]))] {
			return true
		}
		calls = w.mayFollowDot() && w.after() != '('
		return !calls
	})
	return calls
}

// spot is where a word stands in a text.
type spot struct {
	sql        string
	start, end int
}

// eachWord calls visit with every word of the text, in quotes or not, in literals and
// comments too, until visit returns false.
func eachWord(sql string, visit func(spot) bool) {
	for i := 0; i < len(sql); {
		start := i
		for i < len(sql) && folded[sql[i]] != 0 {
			i++
		}
		if i > start && !visit(spot{sql, start, i}) {
			return
		}
		if i == start {
			i++
		}
	}
}

// oneWord reports whether the places of a name in a text are those of a word: it is
// nothing but one, and the server cannot have cut it.
func oneWord(base string) bool {
	for i := range len(base) {
		if folded[base[i]] == 0 {
			return false
		}
	}
	return base != "" && len(base) < maybeCut
}

func (w spot) fold(buf []byte) []byte {
	for i := w.start; i < w.end; i++ {
		buf = append(buf, folded[w.sql[i]])
	}
	return buf
}

// is reports whether the word may stand for the name, in whatever case.
func (w spot) is(base string) bool {
	if w.end-w.start != len(base) {
		return false
	}
	for i := range len(base) {
		if folded[w.sql[w.start+i]] != folded[base[i]] {
			return false
		}
	}
	return true
}

const blanks = " \t\r\n\f\v"

// after is the first character behind the name, 0 at the end.
func (w spot) after() byte {
	rest := strings.TrimLeft(strings.TrimPrefix(w.sql[w.end:], `"`), blanks)
	if rest == "" {
		return 0
	}
	return rest[0]
}

// mayFollowDot reports whether a dot stands before the name, or a comment before
// which there may be one.
func (w spot) mayFollowDot() bool {
	before := strings.TrimSuffix(w.sql[:w.start], `"`)
	rest := strings.TrimRight(before, blanks)
	return strings.HasSuffix(rest, ".") || strings.HasSuffix(rest, "*/") ||
		strings.ContainsAny(before[len(rest):], "\r\n") && strings.Contains(rest, "--")
}
