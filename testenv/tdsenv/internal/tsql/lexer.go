// Package tsql reads the part of T-SQL that GORM and readsplit send: a lexer, a parser and the
// tree that comes of it. Text that it does not know is an error that names the text.
package tsql

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

type tokenKind uint8

const (
	tokEnd    tokenKind = iota
	tokWord             // a bare identifier or keyword
	tokQuoted           // "x" or [x]
	tokString           // 'x' or N'x'
	tokNumber
	tokHex
	tokVariable // @x
	tokGlobal   // @@x
	tokSymbol
)

type token struct {
	kind     tokenKind
	text     string // without quotes; words in lower case
	raw      string
	national bool // N'x'
	pos, end int
}

// lex splits text into tokens, the last of which is tokEnd.
func lex(text string) ([]token, error) {
	var tokens []token
	for i := 0; ; {
		i = skipBlank(text, i)
		if i < 0 {
			return nil, sqlval.Errorf(113, "Missing end comment mark '*/'.")
		}
		if i >= len(text) {
			return append(tokens, token{kind: tokEnd, pos: len(text), end: len(text)}), nil
		}
		t, err := next(text, i)
		if err != nil {
			return nil, err
		}
		t.pos, t.raw = i, text[i:t.end]
		tokens = append(tokens, t)
		i = t.end
	}
}

// skipBlank passes white space and comments, which nest in T-SQL; -1 is an open comment.
func skipBlank(text string, i int) int {
	for i < len(text) {
		switch r, n := utf8.DecodeRuneInString(text[i:]); {
		case unicode.IsSpace(r) || r == '\ufeff':
			i += n
		case strings.HasPrefix(text[i:], "--"):
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return len(text)
			}
			i += end
		case strings.HasPrefix(text[i:], "/*"):
			depth := 0
			for {
				switch {
				case i >= len(text):
					return -1
				case strings.HasPrefix(text[i:], "/*"):
					depth, i = depth+1, i+2
				case strings.HasPrefix(text[i:], "*/"):
					depth, i = depth-1, i+2
				default:
					i++
				}
				if depth == 0 {
					break
				}
			}
		default:
			return i
		}
	}
	return i
}

var symbols = []string{"<=", ">=", "<>", "!=", "!<", "!>", "+=", "-=", "*=", "/=", "::"}

func next(text string, i int) (token, error) {
	c := text[i]
	switch {
	case (c == 'N' || c == 'n') && strings.HasPrefix(text[i+1:], "'"):
		s, end := quoted(text, i+1, '\'')
		return closed(token{kind: tokString, text: s, national: true, end: end}, text, i)
	case c == '\'':
		s, end := quoted(text, i, '\'')
		return closed(token{kind: tokString, text: s, end: end}, text, i)
	case c == '"':
		s, end := quoted(text, i, '"')
		return closed(token{kind: tokQuoted, text: s, end: end}, text, i)
	case c == '[':
		s, end := quoted(text, i, ']')
		return closed(token{kind: tokQuoted, text: s, end: end}, text, i)
	case strings.HasPrefix(text[i:], "@@"):
		end := word(text, i+2)
		return token{kind: tokGlobal, text: strings.ToLower(text[i+2 : end]), end: end}, nil
	case c == '@':
		end := word(text, i+1)
		return token{kind: tokVariable, text: strings.ToLower(text[i+1 : end]), end: end}, nil
	case strings.HasPrefix(text[i:], "0x") || strings.HasPrefix(text[i:], "0X"):
		end := i + 2
		for end < len(text) && strings.IndexByte("0123456789abcdefABCDEF", text[end]) >= 0 {
			end++
		}
		return token{kind: tokHex, text: text[i+2 : end], end: end}, nil
	case digit(c) || c == '.' && i+1 < len(text) && digit(text[i+1]):
		end := number(text, i)
		return token{kind: tokNumber, text: text[i:end], end: end}, nil
	}
	if end := word(text, i); end > i {
		return token{kind: tokWord, text: strings.ToLower(text[i:end]), end: end}, nil
	}
	for _, s := range symbols {
		if strings.HasPrefix(text[i:], s) {
			return token{kind: tokSymbol, text: s, end: i + 2}, nil
		}
	}
	_, n := utf8.DecodeRuneInString(text[i:])
	return token{kind: tokSymbol, text: text[i : i+n], end: i + n}, nil
}

func closed(t token, text string, i int) (token, error) {
	if t.end < 0 {
		return t, sqlval.Errorf(105, "Unclosed quotation mark after the character string '%s'.", clip(text[i:]))
	}
	return t, nil
}

// quoted reads what stands between text[i] and the next mark that is not doubled.
func quoted(text string, i int, mark byte) (string, int) {
	var b strings.Builder
	for i++; i < len(text); i++ {
		if text[i] != mark {
			b.WriteByte(text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == mark {
			b.WriteByte(mark)
			i++
			continue
		}
		return b.String(), i + 1
	}
	return "", -1
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func number(text string, i int) int {
	seen := false
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case digit(c):
		case c == '.' && !seen:
			seen = true
		case (c == 'e' || c == 'E') && exponent(text, i+1) > 0:
			return exponent(text, i+1)
		default:
			return i
		}
	}
	return i
}

func exponent(text string, i int) int {
	if i < len(text) && (text[i] == '+' || text[i] == '-') {
		i++
	}
	start := i
	for i < len(text) && digit(text[i]) {
		i++
	}
	if i == start {
		return 0
	}
	return i
}

func word(text string, i int) int {
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '#' && r != '$' {
			break
		}
		i += n
	}
	return i
}

// clip shortens text for an error.
func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "..."
	}
	return s
}
