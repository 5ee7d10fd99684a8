package sqlclass

import "strings"

// wordKey is the end of a word in lower case, up to keyLength bytes, the last one
// lowest. Bytes that are in no word are 0 in it, so that a word of up to keyLength
// bytes is known by its key and its length.
type wordKey uint64

const keyLength = 8

func keyOf(word string) (key wordKey) {
	for i := range len(word) {
		key = key.and(folded[word[i]])
	}
	return key
}

func (k wordKey) and(c byte) wordKey { return k<<8 | wordKey(c) }

// hash is for a word of n bytes: of longer words many end alike.
func (k wordKey) hash(n int) uint64 { return (uint64(k) + uint64(n)) * 0x9e3779b97f4a7c15 >> 32 }

func hasUpper(text string) bool {
	for i := range len(text) {
		if c := text[i]; 'A' <= c && c <= 'Z' {
			return true
		}
	}
	return false
}

// inQuotes returns the name that a token in quotes stands for, if it needs no second
// look: quotes within it are doubled, and no name that is looked for has any.
func inQuotes(sql string, t token) string { return sql[t.start+1 : t.end-1] }

// isName reports whether a token stands for the lower-case name: an unquoted word in
// any case, a name in quotes as it is. SQL Server compares quoted names like others,
// under most collations without case.
func isName(d Dialect, sql string, t token, name string) bool {
	switch t.kind {
	case tokWord:
		return equalFold(sql[t.start:t.end], name)
	case tokQuoted:
		return d == SQLServer && equalFold(inQuotes(sql, t), name) || inQuotes(sql, t) == name
	}
	return false
}

// kindsOf returns on which lists the name is that a token stands for.
func (l *lexer) kindsOf(t token) nameKinds {
	var word string
	switch t.kind {
	case tokWord:
		word = l.sql[t.start:t.end]
	case tokQuoted:
		word = inQuotes(l.sql, t)
		if l.dialect == PostgreSQL && hasUpper(word) {
			return 0
		}
	default:
		return 0
	}
	return l.names().of(keyOf(word), word)
}

func (l *lexer) names() *nameIndex {
	if l.dialect == SQLServer {
		return transactNames
	}
	return postgresNames
}

var postgresNames = indexOf(
	nameList{&postgresHarmless, nameHarmless}, nameList{&postgresWrites, nameWrites},
	nameList{&postgresSession, nameSession}, nameList{&postgresRefused, nameRefused},
	nameList{&postgresReserved, nameReserved}, nameList{&postgresKeywords, nameKeyword},
)

var transactNames = indexOf(
	nameList{&transactHarmless, nameHarmless}, nameList{&transactRefused, nameRefused},
	nameList{&transactReserved, nameReserved}, nameList{&transactKeywords, nameKeyword},
	nameList{&transactVariables, nameVariable},
)

// underscored is a name in two parts; the second begins with an underscore, by which
// it is looked for: that is rare enough to make the search cheap.
type underscored struct{ before, after string }

// mentions reports whether the text contains one of the names in any case.
func mentions(text string, names []underscored) bool {
	for i := 0; ; i++ {
		n := strings.IndexByte(text[i:], '_')
		if n < 0 {
			return false
		}
		i += n
		for k := range names {
			before, after := names[k].before, names[k].after
			if i >= len(before) && i+len(after) <= len(text) && text[i+1]|0x20 == after[1] &&
				equalFold(text[i-len(before):i], before) && equalFold(text[i:i+len(after)], after) {
				return true
			}
		}
	}
}

// equalFold reports whether s is the lower-case word, in any case.
func equalFold(s, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
