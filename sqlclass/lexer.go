package sqlclass

import (
	"unicode"
	"unicode/utf8"
)

// tokenKind is what the lexer tells apart. Words are not yet keywords: whether
// UPDATE is a command or a column depends on what stands around it.
type tokenKind uint8

const (
	tokEOF    tokenKind = iota
	tokBad              // unterminated or not lexable with certainty
	tokWord             // unquoted identifier or keyword
	tokQuoted           // "x" or [x]
	tokOpaque           // U&"x": an identifier whose name the text does not show
	tokString           // any literal in quotes or dollar quotes
	tokEscape           // E'x': a literal whose value the text does not show as it is
	tokNumber
	tokParam // $1, or @name on SQL Server
	tokOp    // one operator character
	tokCast  // ::
	tokPunct // ( ) [ ] , ; . : and the rest of single characters
)

// token is a piece of the text, [start, end) in bytes. Tokens are copied for
// every word, so they are kept small; longer texts are not classified.
type token struct {
	kind       tokenKind
	char       byte // of tokPunct and tokOp
	start, end int32
}

func newToken(kind tokenKind, start, end int) token {
	return token{kind: kind, start: int32(start), end: int32(end)}
}

func newCharToken(kind tokenKind, char byte, start, end int) token {
	return token{kind: kind, char: char, start: int32(start), end: int32(end)}
}

// lexer cuts a text into tokens the way the server does. Where two servers, two
// versions or two settings would cut differently, it answers tokBad: a lexer
// that is out of step with the server reads code as a string and hides a write.
type lexer struct {
	sql     string
	pos     int
	dialect Dialect
	// afterEscape remembers that the last token was an E'' literal. A literal
	// that follows on the next line continues it and has its escapes too.
	afterEscape bool
	// escapes reads plain literals as with standard_conforming_strings off;
	// ambiguous says that a literal would then end elsewhere, refused that no
	// server takes the text: a literal does not end. See plainString.
	escapes, ambiguous, refused bool
}

// Character groups, looked up once per byte.
const (
	chOther  = iota // not part of SQL outside of quotes
	chLetter        // starts a word; all bytes above 0x7f are letters to PostgreSQL
	chDigit
	chOp
	chPunct
	chQuote  // '
	chDouble // "
	chDollar
)

var charGroup = func() (t [256]uint8) {
	set := func(group uint8, chars string) {
		for i := 0; i < len(chars); i++ {
			t[chars[i]] = group
		}
	}
	set(chLetter, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
	set(chDigit, "0123456789")
	set(chOp, "~!@#^&|`?+-*/%<>=")
	set(chPunct, "()[],;.:")
	set(chQuote, "'")
	set(chDouble, `"`)
	set(chDollar, "$")
	for c := 0x80; c <= 0xff; c++ {
		t[c] = chLetter
	}
	return t
}()

// mayBeSkipped are the bytes that white space and comments begin with.
var mayBeSkipped = [256]bool{' ': true, '\t': true, '\n': true, '\r': true, '\f': true, '-': true, '/': true}

var oneBlank = [256]uint8{' ': 1}

// wordByte are the bytes that go on with a word.
var wordByte = func() (t [256]bool) {
	for c, group := range charGroup {
		t[c] = group == chLetter || group == chDigit || group == chDollar
	}
	return t
}()

// next returns the next token. After tokBad or tokEOF it must not be called again.
func (l *lexer) next() token {
	afterEscape := l.afterEscape
	l.afterEscape = false
	start := l.pos
	if start < len(l.sql) {
		// Whether one blank comes is a toss-up, so no branch is spent on it.
		start += int(oneBlank[l.sql[start]])
	}
	if start < len(l.sql) && mayBeSkipped[l.sql[start]] {
		l.pos = start
		if !l.skipBlanks() {
			return newToken(tokBad, l.pos, len(l.sql))
		}
		start = l.pos
	}
	if start >= len(l.sql) {
		return newToken(tokEOF, start, start)
	}
	c := l.sql[start]
	switch charGroup[c] {
	case chLetter:
		return l.word(start)
	case chPunct:
		if c == ',' || c == '(' || c == ')' {
			l.pos = start + 1
			return newCharToken(tokPunct, c, start, l.pos)
		}
		return l.punct(start, c)
	case chOp:
		if l.dialect == SQLServer && (c == '@' || c == '#') {
			return l.sigil(start, c)
		}
		l.pos = start + 1
		return newCharToken(tokOp, c, start, l.pos)
	case chQuote:
		return l.plainString(start, start, afterEscape)
	case chDigit:
		return l.number(start)
	case chDouble:
		return l.delimited(start, start, '"', tokQuoted)
	case chDollar:
		return l.dollar(start)
	}
	l.refused = l.refused || c == '\\'
	return l.bad(start)
}

func (l *lexer) bad(start int) token {
	l.pos = len(l.sql)
	return newToken(tokBad, start, len(l.sql))
}

// peek returns the next token without moving.
func (l *lexer) peek() token {
	ahead := *l
	return ahead.next()
}

// skipBlanks moves past white space and comments. It reports false for a
// comment that does not end.
func (l *lexer) skipBlanks() bool {
	s, i := l.sql, l.pos
	for i < len(s) {
		switch s[i] {
		case ' ', '\t', '\n', '\r', '\f': // what PostgreSQL takes for white space, and no more
			i++
			continue
		case '-', '/':
			if i+1 < len(s) && (s[i] == '-' && s[i+1] == '-' || s[i] == '/' && s[i+1] == '*') {
				l.pos = i
				if !l.skipComment() {
					return false
				}
				i = l.pos
				continue
			}
		}
		break
	}
	l.pos = i
	return true
}

func (l *lexer) punct(start int, c byte) token {
	switch c {
	case '[':
		if l.dialect == SQLServer {
			return l.delimited(start, start, ']', tokQuoted)
		}
	case '.':
		if start+1 < len(l.sql) && charGroup[l.sql[start+1]] == chDigit {
			return l.number(start)
		}
	case ':':
		if start+1 < len(l.sql) && l.sql[start+1] == ':' {
			l.pos = start + 2
			return newToken(tokCast, start, l.pos)
		}
	}
	l.pos = start + 1
	return newCharToken(tokPunct, c, start, l.pos)
}

// word reads an identifier, a keyword or the letters in front of a literal.
func (l *lexer) word(start int) token {
	s, i := l.sql, start
	for i < len(s) && wordByte[s[i]] {
		i++
	}
	if l.dialect == SQLServer {
		for i < len(s) && (wordByte[s[i]] || s[i] == '@' || s[i] == '#') {
			i++
		}
		if !onlyLetters(s[start:i]) {
			// SQL Server takes several Unicode blanks for white space: what
			// looks like one word may be two statements.
			return l.bad(start)
		}
	}
	l.pos = i
	if i-start == 1 && i < len(s) {
		if t, ok := l.prefixed(start, i); ok {
			return t
		}
	}
	return newToken(tokWord, start, i)
}

// prefixed handles E'..', N'..', B'..', X'..', U&'..' and U&"..".
func (l *lexer) prefixed(start, i int) (token, bool) {
	s := l.sql
	switch s[start] | 0x20 {
	case 'e':
		if s[i] == '\'' && l.dialect == PostgreSQL {
			return l.escapeString(start, i), true
		}
	case 'n':
		if s[i] == '\'' {
			return l.plainString(start, i, false), true
		}
	case 'b', 'x':
		if s[i] == '\'' {
			return l.bitString(start, i), true
		}
	case 'u':
		if l.dialect != PostgreSQL || s[i] != '&' || i+1 >= len(s) {
			return token{}, false
		}
		switch s[i+1] {
		case '\'':
			t := l.plainString(start, i+1, false)
			if t.kind == tokString {
				t.kind = tokEscape
			}
			return t, true
		case '"':
			return l.delimited(start, i+1, '"', tokOpaque), true
		}
	}
	return token{}, false
}

// sigil reads @variable, @@variable, #temp and ##temp of SQL Server.
func (l *lexer) sigil(start int, c byte) token {
	i := start
	for i < len(l.sql) && l.sql[i] == c {
		i++
	}
	begin := i
	for i < len(l.sql) && (wordByte[l.sql[i]] || l.sql[i] == '@' || l.sql[i] == '#') {
		if l.sql[i] >= utf8.RuneSelf {
			return l.bad(start)
		}
		i++
	}
	if i == begin {
		return l.bad(start)
	}
	l.pos = i
	kind := tokParam
	if c == '#' {
		kind = tokWord
	}
	return newToken(kind, start, i)
}

func onlyLetters(word string) bool {
	for _, r := range word {
		if r >= utf8.RuneSelf && !unicode.In(r, unicode.L, unicode.Nd, unicode.M) {
			return false
		}
	}
	return true
}
