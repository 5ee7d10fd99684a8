package sqlclass

import "strings"

// skipComment moves past the comment at pos. Block comments nest on both
// servers: ending at the first */ would take the rest of a comment for code, or
// the rest of the code for a comment.
func (l *lexer) skipComment() bool {
	s, i := l.sql, l.pos
	if s[i] == '-' {
		for i < len(s) && s[i] != '\n' && s[i] != '\r' {
			i++
		}
		if l.dialect == SQLServer && i < len(s) && s[i] == '\r' && (i+1 >= len(s) || s[i+1] != '\n') {
			// A lone carriage return: not every version ends the comment here.
			return false
		}
		l.pos = i
		return true
	}
	depth := 0
	for i+1 < len(s) {
		switch {
		case s[i] == '/' && s[i+1] == '*':
			depth++
			i += 2
		case s[i] == '*' && s[i+1] == '/':
			depth--
			i += 2
			if depth == 0 {
				l.pos = i
				return true
			}
		default:
			i++
		}
	}
	return false
}

// plainString reads a literal in single quotes without escapes. open is the
// index of the quote, start that of the token.
//
// With standard_conforming_strings off, PostgreSQL takes a backslash before a
// quote for an escape. The setting cannot be seen from the text. The two
// readings differ only in where the literal ends; if no other quote follows, the
// second reading does not end at all and the server refuses the text. Otherwise
// the text is read a second time, see classifyBoth.
func (l *lexer) plainString(start, open int, continuesEscape bool) token {
	s, i := l.sql, open+1
	for i < len(s) && s[i] != '\'' && s[i] != '\\' {
		i++
	}
	if i+1 < len(s) && s[i] == '\'' && s[i+1] != '\'' {
		l.pos, l.afterEscape = i+1, continuesEscape
		return newToken(tokString, start, l.pos)
	}
	slashes, anySlash := 0, false
	for i < len(s) {
		switch s[i] {
		case '\\':
			slashes++
			anySlash = true
			i++
			continue
		case '\'':
			if slashes%2 == 1 && l.dialect == PostgreSQL {
				if l.escapes {
					i++
					slashes = 0
					continue
				}
				l.ambiguous = l.ambiguous || strings.IndexByte(s[i+1:], '\'') >= 0
			}
			if i+1 < len(s) && s[i+1] == '\'' {
				i += 2
				slashes = 0
				continue
			}
			if anySlash && continuesEscape {
				return l.bad(start)
			}
			l.pos = i + 1
			l.afterEscape = continuesEscape
			return newToken(tokString, start, l.pos)
		}
		slashes = 0
		i++
	}
	l.refused = true
	return l.bad(start)
}

// bitString reads B'..' and X'..', which have no escapes under any setting.
func (l *lexer) bitString(start, open int) token {
	n := strings.IndexByte(l.sql[open+1:], '\'')
	if n < 0 {
		l.refused = true
		return l.bad(start)
	}
	l.pos = open + 1 + n + 1
	return newToken(tokString, start, l.pos)
}

// escapeString reads E'..', where a backslash takes the next byte with it.
func (l *lexer) escapeString(start, open int) token {
	s, i := l.sql, open+1
	for i < len(s) {
		switch s[i] {
		case '\\':
			i += 2
			continue
		case '\'':
			if i+1 < len(s) && s[i+1] == '\'' {
				i += 2
				continue
			}
			l.pos = i + 1
			l.afterEscape = true
			return newToken(tokEscape, start, l.pos)
		}
		i++
	}
	l.refused = true
	return l.bad(start)
}

// delimited reads "x", [x] or U&"x"; a doubled closing mark stands for itself.
func (l *lexer) delimited(start, open int, closing byte, kind tokenKind) token {
	s, i := l.sql, open+1
	for i < len(s) {
		if s[i] != closing {
			i++
			continue
		}
		if i+1 < len(s) && s[i+1] == closing {
			i += 2
			continue
		}
		if i == open+1 {
			break // an empty name is an error everywhere
		}
		l.pos = i + 1
		return newToken(kind, start, l.pos)
	}
	return l.bad(start)
}

// dollar reads $1 and $tag$..$tag$. On SQL Server, which has no dollar quotes,
// it reads money literals and pseudo columns like $identity.
func (l *lexer) dollar(start int) token {
	s, i := l.sql, start+1
	if i < len(s) && charGroup[s[i]] == chDigit {
		for i < len(s) && charGroup[s[i]] == chDigit {
			i++
		}
		if l.dialect == SQLServer {
			return l.number(start + 1)
		}
		if i < len(s) && inWord(s[i]) {
			return l.bad(start) // $1abc: one token or two, depending on the version
		}
		l.pos = i
		return newToken(tokParam, start, i)
	}
	for i < len(s) && inWord(s[i]) && s[i] != '$' {
		i++
	}
	if l.dialect == SQLServer {
		if i == start+1 {
			return l.bad(start)
		}
		l.pos = i
		return newToken(tokWord, start, i)
	}
	if i >= len(s) || s[i] != '$' {
		return l.bad(start)
	}
	tag := s[start : i+1]
	n := strings.Index(s[i+1:], tag)
	if n < 0 {
		return l.bad(start)
	}
	l.pos = i + 1 + n + len(tag)
	return newToken(tokString, start, l.pos)
}

// number reads a numeric literal. What follows it directly decides: older
// PostgreSQL cuts 1abc into a number and an alias, newer ones refuse it, and in
// 1$$ or 1e'..' the two cuts disagree about where a string begins.
func (l *lexer) number(start int) token {
	s, i := l.sql, start
	digits := func() {
		for i < len(s) && (charGroup[s[i]] == chDigit || s[i] == '_') {
			i++
		}
	}
	if s[i] == '0' && i+1 < len(s) && strings.IndexByte("xXoObB", s[i+1]) >= 0 {
		i += 2
		for i < len(s) && (charGroup[s[i]] == chDigit || s[i] == '_' || 'a' <= s[i]|0x20 && s[i]|0x20 <= 'f') {
			i++
		}
	} else {
		digits()
		if i < len(s) && s[i] == '.' && !(i+1 < len(s) && s[i+1] == '.') {
			i++
			digits()
		}
		if i < len(s) && s[i]|0x20 == 'e' {
			mark := i
			i++
			if i < len(s) && (s[i] == '+' || s[i] == '-') {
				i++
			}
			if i < len(s) && charGroup[s[i]] == chDigit {
				digits()
			} else {
				i = mark
			}
		}
	}
	if i < len(s) && (inWord(s[i]) || s[i] == '\'' || s[i] == '"') {
		return l.bad(start)
	}
	l.pos = i
	return newToken(tokNumber, start, i)
}
