// Package connstring reads connection strings of SQL Server, as go-mssqldb 1.11 does,
// without compiling that driver: what is wrong with one is found before anybody connects.
package connstring

import (
	"net/url"
	"strings"
	"unicode"
)

// SQLServer reads the keys of a connection string, in lower case, as the Go
// driver does: a URL, pairs of ADO with semicolons and double quotes, or pairs of
// ODBC with braces behind "odbc:". ok is false where the driver refuses it; it refuses
// nothing that is none of the first and the last.
func SQLServer(dsn string) (p map[string]string, ok bool) {
	switch {
	case strings.HasPrefix(dsn, "sqlserver://"):
		return fromURL(dsn)
	case strings.HasPrefix(dsn, "odbc:"):
		return fromODBC(strings.TrimPrefix(dsn, "odbc:"))
	}
	return fromADO(dsn), true
}

func fromURL(dsn string) (map[string]string, bool) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, false
	}
	p := map[string]string{"server": u.Host}
	for key, values := range u.Query() {
		key = strings.ToLower(key)
		if _, twice := p[key]; twice || len(values) != 1 {
			return nil, false
		}
		p[key] = values[0]
	}
	return p, true
}

// Synonyms are other names that ADO has for what is looked at; a URL and ODBC have none.
var Synonyms = map[string]string{
	"initial catalog": "database", "data source": "server", "address": "server", "addr": "server", "network address": "server",
	"application intent": "applicationintent",
}

// fromADO reads key=value;key=value. A double quote anywhere begins what may hold
// semicolons, up to the next one, or to the end: a password with a single quote mark
// takes in all that follows.
func fromADO(text string) map[string]string {
	p := map[string]string{}
	for text != "" {
		var part string
		part, text = cutADO(text)
		key, value, _ := strings.Cut(part, "=")
		if key = strings.TrimSpace(strings.ToLower(key)); key == "" {
			continue
		}
		value = strings.TrimSpace(value)
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = strings.ReplaceAll(value[1:len(value)-1], `""`, `"`)
		}
		if other := Synonyms[key]; other != "" {
			key = other
		}
		p[key] = value
	}
	return p
}

// Doubtful reports a connection string of ADO that the driver takes, and that hardly means
// what it takes it for: a key without a value, a quote within a value.
func Doubtful(dsn string) bool {
	if strings.HasPrefix(dsn, "sqlserver://") || strings.HasPrefix(dsn, "odbc:") {
		return false
	}
	for dsn != "" {
		var part string
		part, dsn = cutADO(dsn)
		key, value, pair := strings.Cut(part, "=")
		value = strings.TrimSpace(value)
		whole := len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"'
		switch {
		case strings.TrimSpace(key) == "" && !pair:
		case !pair, strings.Contains(value, `"`) && !whole, strings.Count(value, `"`)%2 != 0:
			return true
		}
	}
	return false
}

// cutADO cuts text at the first semicolon that is not within quotes. A doubled quote
// ends and begins, which is the same.
func cutADO(text string) (part, rest string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ';' && !quoted:
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// fromODBC reads key=value;key={value}, where closing braces are doubled within braces.
func fromODBC(text string) (map[string]string, bool) {
	p := map[string]string{}
	for {
		text = strings.TrimLeftFunc(text, func(r rune) bool { return r == ';' || unicode.IsSpace(r) })
		if text == "" {
			return p, true
		}
		end := strings.IndexAny(text, "=;")
		if end == 0 {
			return nil, false
		}
		if end < 0 {
			end = len(text)
		}
		key := strings.ToLower(strings.TrimRightFunc(text[:end], unicode.IsSpace))
		if text = text[end:]; text == "" || text[0] == ';' {
			p[key] = ""
			continue
		}
		text = strings.TrimLeftFunc(text[1:], unicode.IsSpace)
		if text == "" || text[0] != '{' {
			var value string
			value, text, _ = strings.Cut(text, ";")
			p[key] = strings.TrimRightFunc(value, unicode.IsSpace)
			continue
		}
		value, left, ok := braced(text[1:])
		left = strings.TrimLeftFunc(left, unicode.IsSpace)
		if !ok || left != "" && left[0] != ';' {
			return nil, false
		}
		p[key], text = value, left
	}
}

func braced(text string) (value, left string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '}':
			b.WriteByte(text[i])
		case i+1 < len(text) && text[i+1] == '}':
			b.WriteByte('}')
			i++
		default:
			return b.String(), text[i+1:], true
		}
	}
	return "", "", false
}
