// Package connstring reads connection strings of SQL Server, as go-mssqldb does, without
// compiling that driver: what is wrong with one is found before anybody connects.
package connstring

import (
	"net/url"
	"strings"
)

// SQLServer reads the keys of a connection string, in lower case, as the Go
// driver does: a URL, pairs of ADO with semicolons and double quotes, or pairs of
// ODBC with braces behind "odbc:".
func SQLServer(dsn string) (map[string]string, bool) {
	switch {
	case strings.HasPrefix(dsn, "sqlserver://"):
		return fromURL(dsn)
	case strings.HasPrefix(dsn, "odbc:"):
		return parsePairs(strings.TrimPrefix(dsn, "odbc:"), '{', '}')
	}
	return parsePairs(dsn, '"', '"')
}

func fromURL(dsn string) (map[string]string, bool) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, false
	}
	p := map[string]string{"server": u.Host}
	for key, values := range u.Query() {
		if len(values) != 1 {
			return nil, false // the driver refuses it
		}
		p[strings.ToLower(key)] = values[0]
	}
	return p, true
}

// Synonyms are other names that ADO has for what is looked at.
var Synonyms = map[string]string{
	"initial catalog": "database", "data source": "server", "address": "server", "addr": "server", "network address": "server",
}

// parsePairs reads key=value;key=value, where a value may stand between two quotes,
// which are doubled inside it.
func parsePairs(text string, opening, closing byte) (map[string]string, bool) {
	p := map[string]string{}
	for text = strings.TrimLeft(text, "; \t"); text != ""; text = strings.TrimLeft(text, "; \t") {
		key, after, ok := strings.Cut(text, "=")
		if !ok || strings.Contains(key, ";") {
			return nil, false
		}
		value, left, ok := quotedValue(strings.TrimLeft(after, " \t"), opening, closing)
		if !ok {
			return nil, false
		}
		key = strings.ToLower(strings.TrimSpace(key))
		if other := Synonyms[key]; other != "" {
			key = other
		}
		p[key], text = value, left
	}
	return p, len(p) > 0
}

func quotedValue(text string, opening, closing byte) (value, left string, ok bool) {
	if text == "" || text[0] != opening {
		value, left, _ = strings.Cut(text, ";")
		return strings.TrimSpace(value), left, true
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] != closing {
			b.WriteByte(text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == closing {
			b.WriteByte(closing)
			i++
			continue
		}
		left = strings.TrimLeft(text[i+1:], " \t")
		return b.String(), strings.TrimPrefix(left, ";"), left == "" || left[0] == ';'
	}
	return "", "", false
}
