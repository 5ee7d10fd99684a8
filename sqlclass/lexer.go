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
	key     wordKey // of the last token, if it is a word
	// afterEscape remembers that the last token was an E'' literal. A literal
	// that follows on the next line continues it and has its escapes too.
	afterEscape bool
	// escapes reads plain literals as with standard_conforming_strings off;
	// ambiguous says that a literal would then end elsewhere, refused that no
	// server takes the text: a literal does not end. See plainString.
	escapes, ambiguous, refused bool
}

// Character groups, looked up once for each token.
const (
	chOther  = iota // not part of SQL outside of quotes
	chBlank         // what PostgreSQL takes for white space, and no more
	chLetter        // starts a word; all bytes above 0x7f are letters to PostgreSQL
	chDigit
	chDouble  // "
	chSingle  // a token by itself: ( ) ] , ;
	chDot     // .
	chColon   // :
	chBracket // [
	chOp
	chSlash  // - and /, which may begin a comment
	chSigil  // @ and #
	chQuote  // '
	chDollar // $
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
	set(chDouble, `"`)
	set(chSingle, "()],;")
	set(chDot, ".")
	set(chColon, ":")
	set(chBracket, "[")
	set(chOp, "~!^&|`?+*%<>=")
	set(chSlash, "-/")
	set(chSigil, "@#")
	set(chQuote, "'")
	set(chDollar, "$")
	for c := 0x80; c <= 0xff; c++ {
		t[c] = chLetter
	}
	return t
}()

// folded maps the bytes that go on with a word to their lower case, all others to 0.
// Like the server it folds ASCII letters alone.
var folded = func() (t [256]byte) {
	for c, group := range charGroup {
		switch {
		case 'A' <= c && c <= 'Z':
			t[c] = byte(c) | 0x20
		case group == chLetter, group == chDigit, group == chDollar:
			t[c] = byte(c)
		}
	}
	return t
}()

// mayFollowDigits are the bytes with which a number may go on, or that make it doubtful
// where it ends.
var mayFollowDigits = func() (t [256]bool) {
	for c := range t {
		t[c] = folded[c] != 0 || c == '.' || c == '\'' || c == '"'
	}
	return t
}()

func inWord(c byte) bool { return folded[c] != 0 }

// next returns the next token. After tokBad or tokEOF it must not be called again.
func (l *lexer) next() token {
	afterEscape := l.afterEscape
	l.afterEscape = false
	l.key = 0
	s, i := l.sql, l.pos
	if i < len(s) && s[i] == ' ' {
		i++
	}
	for i < len(s) {
		c := s[i]
		switch charGroup[c] {
		case chBlank:
			i++
			continue
		case chLetter:
			start, key := i, wordKey(0)
			for i < len(s) && folded[s[i]] != 0 {
				key = key.and(folded[s[i]])
				i++
			}
			l.pos, l.key = i, key
			if l.dialect == SQLServer || i-start == 1 && i < len(s) && (s[i] == '\'' || s[i] == '&') {
				return l.word(start)
			}
			return newToken(tokWord, start, i)
		case chDigit:
			end := i + 1
			for end < len(s) && charGroup[s[end]] == chDigit {
				end++
			}
			if end < len(s) && mayFollowDigits[s[end]] {
				return l.number(i)
			}
			l.pos = end
			return newToken(tokNumber, i, end)
		case chDouble:
			end := i + 1
			for end < len(s) && s[end] != '"' {
				end++
			}
			if end == i+1 || end+1 >= len(s) || s[end+1] == '"' {
				return l.delimited(i, i, '"', tokQuoted)
			}
			l.pos = end + 1
			return newToken(tokQuoted, i, end+1)
		case chSingle:
			return l.single(tokPunct, c, i)
		case chDot:
			if i+1 < len(s) && charGroup[s[i+1]] == chDigit {
				return l.number(i)
			}
			return l.single(tokPunct, c, i)
		case chColon:
			if i+1 < len(s) && s[i+1] == ':' {
				l.pos = i + 2
				return newToken(tokCast, i, l.pos)
			}
			return l.single(tokPunct, c, i)
		case chBracket:
			if l.dialect == SQLServer {
				return l.delimited(i, i, ']', tokQuoted)
			}
			return l.single(tokPunct, c, i)
		case chSlash:
			if opensComment(s[i:]) {
				return l.afterComments(i, afterEscape)
			}
			return l.single(tokOp, c, i)
		case chSigil:
			if l.dialect == SQLServer {
				return l.sigil(i, c)
			}
			return l.single(tokOp, c, i)
		case chOp:
			return l.single(tokOp, c, i)
		case chQuote:
			return l.plainString(i, i, afterEscape)
		case chDollar:
			return l.dollar(i)
		}
		l.refused = l.refused || c == '\\'
		return l.bad(i)
	}
	return newToken(tokEOF, i, i)
}

func (l *lexer) single(kind tokenKind, c byte, start int) token {
	l.pos = start + 1
	return newCharToken(kind, c, start, start+1)
}

// afterComments returns the token behind the comments of which the first begins at start.
func (l *lexer) afterComments(start int, afterEscape bool) token {
	for l.pos = start; opensComment(l.sql[l.pos:]); {
		if !l.skipComment() {
			return newToken(tokBad, l.pos, len(l.sql))
		}
		for l.pos < len(l.sql) && charGroup[l.sql[l.pos]] == chBlank {
			l.pos++
		}
	}
	l.afterEscape = afterEscape
	return l.next()
}

func opensComment(s string) bool {
	return len(s) > 1 && (s[0] == '-' && s[1] == '-' || s[0] == '/' && s[1] == '*')
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

// mayFollow reports whether the next token may be a word that begins with one of two
// letters. It is quicker than peek, for what is seldom so.
func (l *lexer) mayFollow(a, b byte) bool {
	i := l.pos
	for i < len(l.sql) && charGroup[l.sql[i]] == chBlank {
		i++
	}
	if i == len(l.sql) {
		return false
	}
	c := folded[l.sql[i]]
	return c == a || c == b || charGroup[l.sql[i]] == chSlash // a comment, and a word behind it
}

// word goes on where next has read an identifier or a keyword from start to pos that may
// be longer, or the letters in front of a literal.
func (l *lexer) word(start int) token {
	s, i := l.sql, l.pos
	if l.dialect == SQLServer {
		for i < len(s) && (inWord(s[i]) || s[i] == '@' || s[i] == '#') {
			i++
		}
		if !onlyLetters(s[start:i]) {
			// SQL Server takes several Unicode blanks for white space: what
			// looks like one word may be two statements.
			return l.bad(start)
		}
		l.pos = i
	}
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
	for i < len(l.sql) && (inWord(l.sql[i]) || l.sql[i] == '@' || l.sql[i] == '#') {
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
