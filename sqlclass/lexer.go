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

// token is a piece of the text, [start, end) in bytes.
type token struct {
	kind       tokenKind
	char       byte // of tokPunct and tokOp
	start, end int
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
}

// Character groups, looked up once per byte.
const (
	chOther  = iota // not part of SQL outside of quotes
	chBlank         // what the server takes for white space, and no more
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
	set(chBlank, " \t\n\r\f")
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

func isWordByte(c byte) bool {
	g := charGroup[c]
	return g == chLetter || g == chDigit || g == chDollar
}

// next returns the next token. After tokBad or tokEOF it must not be called again.
func (l *lexer) next() token {
	afterEscape := l.afterEscape
	l.afterEscape = false
	if !l.skipBlanks() {
		return token{kind: tokBad, start: l.pos, end: len(l.sql)}
	}
	start := l.pos
	if start >= len(l.sql) {
		return token{kind: tokEOF, start: start, end: start}
	}
	c := l.sql[start]
	switch charGroup[c] {
	case chLetter:
		return l.word(start)
	case chPunct:
		return l.punct(start, c)
	case chOp:
		if l.dialect == SQLServer && (c == '@' || c == '#') {
			return l.sigil(start, c)
		}
		l.pos++
		return token{kind: tokOp, char: c, start: start, end: l.pos}
	case chQuote:
		return l.plainString(start, start, afterEscape)
	case chDigit:
		return l.number(start)
	case chDouble:
		return l.delimited(start, start, '"', tokQuoted)
	case chDollar:
		return l.dollar(start)
	}
	return l.bad(start)
}

func (l *lexer) bad(start int) token {
	l.pos = len(l.sql)
	return token{kind: tokBad, start: start, end: len(l.sql)}
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
		c := s[i]
		if charGroup[c] == chBlank {
			i++
			continue
		}
		if i+1 < len(s) && (c == '-' && s[i+1] == '-' || c == '/' && s[i+1] == '*') {
			l.pos = i
			if !l.skipComment() {
				return false
			}
			i = l.pos
			continue
		}
		break
	}
	l.pos = i
	return true
}

func (l *lexer) punct(start int, c byte) token {
	switch {
	case c == '[' && l.dialect == SQLServer:
		return l.delimited(start, start, ']', tokQuoted)
	case c == '.' && start+1 < len(l.sql) && charGroup[l.sql[start+1]] == chDigit:
		return l.number(start)
	case c == ':' && start+1 < len(l.sql) && l.sql[start+1] == ':':
		l.pos = start + 2
		return token{kind: tokCast, start: start, end: l.pos}
	}
	l.pos = start + 1
	return token{kind: tokPunct, char: c, start: start, end: l.pos}
}

// word reads an identifier, a keyword or the letters in front of a literal.
func (l *lexer) word(start int) token {
	s, i := l.sql, start
	high := false
	for i < len(s) && (isWordByte(s[i]) || l.dialect == SQLServer && (s[i] == '@' || s[i] == '#')) {
		high = high || s[i] >= utf8.RuneSelf
		i++
	}
	l.pos = i
	if high && l.dialect == SQLServer && !onlyLetters(s[start:i]) {
		// SQL Server takes several Unicode blanks for white space: what looks
		// like one word may be two statements.
		return l.bad(start)
	}
	if i-start == 1 && i < len(s) {
		if t, ok := l.prefixed(start, i); ok {
			return t
		}
	}
	return token{kind: tokWord, start: start, end: i}
}

// prefixed handles E'..', N'..', B'..', X'..', U&'..' and U&"..".
func (l *lexer) prefixed(start, i int) (token, bool) {
	s := l.sql
	switch s[start] | 0x20 {
	case 'e':
		if s[i] == '\'' && l.dialect == PostgreSQL {
			return l.escapeString(start, i), true
		}
	case 'n', 'b', 'x':
		if s[i] == '\'' {
			return l.plainString(start, i, false), true
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
	for i < len(l.sql) && (isWordByte(l.sql[i]) || l.sql[i] == '@' || l.sql[i] == '#') {
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
	return token{kind: kind, start: start, end: i}
}

func onlyLetters(word string) bool {
	for _, r := range word {
		if r >= utf8.RuneSelf && !unicode.In(r, unicode.L, unicode.Nd, unicode.M) {
			return false
		}
	}
	return true
}
