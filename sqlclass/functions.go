package sqlclass

import (
	"slices"
	"strings"
)

// Functions calls visit with the name of every function that the text calls, in
// the order in which they appear and as often, until visit returns false. A text
// that Classify cannot follow to its end yields the names up to that point.
//
// A name comes as it is written, with its schema if it has one: lower case,
// except for parts in quotes, which keep their quotes where they need them
// (public.total, "My Schema".total, "Total"). That is the form which
// to_regproc of PostgreSQL takes. U&"" names come as they are.
//
// Keywords with parentheses (COALESCE, CAST, EXTRACT, IN) are no functions. Within
// INSERT, UPDATE, DELETE and DDL the names are a superset: a list of columns
// after a table may be taken for a call.
//
// Functions may allocate; Classify does not.
func Functions(d Dialect, sql string, visit func(name string) bool) {
	var s scan
	s.lex = lexer{sql: sql, dialect: d}
	s.visit = func(start, end int) bool { return visit(dottedText(d, sql, start, end)) }
	s.run()
}

// Harmless reports whether a name, in the form in which Functions reports it, is
// on the built-in list of functions that read and change nothing. The list holds
// some that the server calls volatile, like random and pg_total_relation_size.
func Harmless(d Dialect, name string) bool {
	if d == SQLServer {
		return transactNames.of(keyOf(name), name)&nameHarmless != 0
	}
	if rest, ok := strings.CutPrefix(name, "information_schema."); ok {
		return slices.Contains(standardViews[:], rest)
	}
	name = strings.TrimPrefix(name, "pg_catalog.")
	return postgresNames.of(keyOf(name), name)&nameHarmless != 0 && !hasUpper(name)
}

// callPlace returns where the name of the function at hand begins and ends.
func (s *scan) callPlace() (start, end int) {
	return int(s.at(s.name.first).start), int(s.prev().end)
}

// dottedText writes the dotted name that stands in sql[start:end], without the
// blanks and comments within it.
func dottedText(d Dialect, sql string, start, end int) string {
	if text := sql[start:end]; asItIs(text) {
		return text
	}
	var b strings.Builder
	ahead := lexer{sql: sql[:end], pos: start, dialect: d}
	for t := ahead.next(); t.kind != tokEOF && t.kind != tokBad; t = ahead.next() {
		text := sql[t.start:t.end]
		switch {
		case t.kind == tokWord:
			b.WriteString(lower(text))
		case t.kind == tokQuoted && plainName(text[1:len(text)-1]):
			b.WriteString(text[1 : len(text)-1])
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}

// asItIs reports whether a dotted name has nothing in it but dots and words of lower-case
// ASCII letters, digits and underscores, so that there is nothing to be written otherwise.
func asItIs(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}

// lower folds ASCII letters alone, like the server.
func lower(word string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r | 0x20
		}
		return r
	}, word)
}

// plainName reports whether a quoted name means the same without its quotes.
func plainName(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if 'A' <= c && c <= 'Z' || !inWord(c) || c >= 0x80 || i == 0 && charGroup[c] != chLetter {
			return false
		}
	}
	return true
}
