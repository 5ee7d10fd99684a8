package catalog

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// maxName is how many bytes of a name the server keeps. It cuts longer ones
// silently, so that two different texts may name one object.
const maxName = 63

// name is what a dotted name stands for, as the catalogue has it: folded and
// without quotes. schema is "" when the text has none.
type name struct{ schema, base string }

// String writes n in the one form in which names are compared: quotes only where
// they are needed. ParseName reads it back.
func (n name) String() string {
	if n.schema == "" {
		return quoted(n.base)
	}
	return quoted(n.schema) + "." + quoted(n.base)
}

// folded maps each byte that may be part of an unquoted name to its lower case, and
// every other byte to 0. Like the server, it folds ASCII alone.
var folded = func() (t [256]byte) {
	for c := range t {
		switch b := byte(c); {
		case 'A' <= b && b <= 'Z':
			t[c] = b | 0x20
		case 'a' <= b && b <= 'z', '0' <= b && b <= '9', b == '_', b == '$', b >= utf8.RuneSelf:
			t[c] = b
		}
	}
	return t
}()

func startsWord(c byte) bool {
	return folded[c] != 0 && c != '$' && (c < '0' || c > '9')
}

// quoted writes a name of the catalogue in SQL.
func quoted(raw string) string {
	plain := raw != "" && startsWord(raw[0])
	for i := 0; plain && i < len(raw); i++ {
		plain = folded[raw[i]] == raw[i]
	}
	if plain {
		return raw
	}
	return `"` + strings.ReplaceAll(raw, `"`, `""`) + `"`
}

var (
	errEmpty    = errors.New("a part of it is empty: write function or schema.function")
	errOpen     = errors.New("a quote in it is not closed: close it, and write a quote within a name twice")
	errChars    = errors.New(`it is no name as SQL has it: write function or schema.function without arguments, other characters than letters, digits, _ and $ in double quotes`)
	errParts    = errors.New("it has more than two parts: write function or schema.function")
	errLong     = errors.New("a part of it is longer than 63 bytes, which is all that the server keeps: cut it")
	errEncoding = errors.New("it is not UTF-8 text: correct it")
)

// parseName reads a name as it is written in SQL: function, schema.function, each
// part with or without double quotes.
func parseName(text string) (name, error) {
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		return name{}, errEncoding
	}
	var parts []string
	for rest := text; ; {
		part, after, err := parsePart(strings.Trim(rest, " \t\r\n\f"))
		if err != nil {
			return name{}, err
		}
		parts = append(parts, part)
		after = strings.TrimLeft(after, " \t\r\n\f")
		if after == "" {
			break
		}
		if after[0] != '.' {
			return name{}, errChars
		}
		rest = after[1:]
	}
	switch len(parts) {
	case 1:
		return name{base: parts[0]}, nil
	case 2:
		return name{schema: parts[0], base: parts[1]}, nil
	}
	return name{}, errParts
}

func parsePart(text string) (part, after string, err error) {
	switch {
	case text == "", text[0] == '.':
		return "", "", errEmpty
	case text[0] == '"':
		part, after, err = parseQuoted(text)
	case startsWord(text[0]):
		b := make([]byte, 0, len(text))
		for len(b) < len(text) && folded[text[len(b)]] != 0 {
			b = append(b, folded[text[len(b)]])
		}
		part, after = string(b), text[len(b):]
	default:
		return "", "", errChars
	}
	switch {
	case err != nil:
		return "", "", err
	case len(part) > maxName:
		return "", "", errLong
	}
	return part, after, nil
}

func parseQuoted(text string) (part, after string, err error) {
	for i := 1; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		if i+1 < len(text) && text[i+1] == '"' {
			i++
			continue
		}
		if i == 1 {
			return "", "", errEmpty
		}
		return strings.ReplaceAll(text[1:i], `""`, `"`), text[i+1:], nil
	}
	return "", "", errOpen
}

// lookUp turns a name as package sqlclass reports it into one of the catalogue. It
// reports false for one whose meaning cannot be told from the text: U&"..", or one
// that the server cuts. A leading database is dropped; there is only this one.
func lookUp(text string) (name, bool) {
	if strings.IndexByte(text, '"') < 0 {
		var n name
		rest := text
		if i := strings.LastIndexByte(rest, '.'); i >= 0 {
			n.base, rest = rest[i+1:], rest[:i]
			n.schema = rest[strings.LastIndexByte(rest, '.')+1:]
		} else {
			n.base = rest
		}
		return n, n.base != "" && len(n.base) <= maxName && len(n.schema) <= maxName
	}
	n, err := parseName(text)
	if errors.Is(err, errParts) {
		_, after, _ := parsePart(text)
		n, err = parseName(strings.TrimPrefix(after, "."))
	}
	return n, err == nil
}
