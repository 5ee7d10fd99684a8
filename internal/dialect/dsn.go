package dialect

import (
	"net/url"
	"strings"
)

// dsn is a DSN of PostgreSQL, taken apart so far that it can be told which server
// it names.
type dsn struct {
	// prefix is the scheme and the user of a URL, with the path behind it in path;
	// both are empty in the form key=value.
	prefix, path string
	isURL        bool
	// rest is everything else as it was written: pairs of key=value, or of a query.
	rest []string

	host, port *string // nil: not named
	// restricted says that there is a target_session_attrs.
	restricted bool
}

func parseDSN(text string) (*dsn, bool) {
	for _, scheme := range []string{"postgres://", "postgresql://"} {
		if after, ok := strings.CutPrefix(text, scheme); ok {
			return parseURL(scheme, after)
		}
	}
	return parsePairs(text)
}

// only returns the DSN of one server.
func (d *dsn) only(host, port string) string {
	rest := append([]string(nil), d.rest...)
	if d.isURL {
		rest = append(rest, "host="+escaped(host))
		if port != "" {
			rest = append(rest, "port="+escaped(port))
		}
		// Said, and not left out: the environment may name one too.
		rest = append(rest, "target_session_attrs=any")
		return d.prefix + d.path + "?" + strings.Join(rest, "&")
	}
	rest = append(rest, "host="+quoted(host))
	if port != "" {
		rest = append(rest, "port="+quoted(port))
	}
	return strings.Join(append(rest, "target_session_attrs=any"), " ")
}

// named takes in a key that says which server it is, and reports whether it was
// one.
func (d *dsn) named(key, value string) bool {
	switch key {
	case "host":
		d.host = &value
	case "port":
		d.port = &value
	case "target_session_attrs":
		d.restricted = true
	default:
		return false
	}
	return true
}

const blanks = " \t\n\r\v\f"

// parsePairs reads the form key=value, where a value may stand in single quotes
// and a backslash takes the next character as it is.
func parsePairs(text string) (*dsn, bool) {
	d := &dsn{}
	for text = strings.TrimLeft(text, blanks); text != ""; text = strings.TrimLeft(text, blanks) {
		key, after, ok := strings.Cut(text, "=")
		if !ok {
			return nil, false
		}
		value, left, ok := pairValue(strings.TrimLeft(after, blanks))
		if !ok {
			return nil, false
		}
		raw := text[:len(text)-len(left)]
		text = left
		if !d.named(strings.Trim(key, blanks), value) {
			d.rest = append(d.rest, strings.TrimRight(raw, blanks))
		}
	}
	return d, true
}

// pairValue reads one value and returns what follows it.
func pairValue(text string) (value, left string, ok bool) {
	var b strings.Builder
	inQuotes := strings.HasPrefix(text, "'")
	if inQuotes {
		text = text[1:]
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			if i++; i < len(text) {
				b.WriteByte(text[i])
			}
		case inQuotes && c == '\'':
			return b.String(), text[i+1:], true
		case !inQuotes && strings.IndexByte(blanks, c) >= 0:
			return b.String(), text[i:], true
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", !inQuotes
}

func quoted(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}

// parseURL reads what follows the scheme: user:password@host:port,host:port/path?query.
func parseURL(scheme, text string) (*dsn, bool) {
	d := &dsn{prefix: scheme, isURL: true}
	if i := strings.IndexAny(text, "@/"); i >= 0 && text[i] == '@' {
		d.prefix += text[:i+1]
		text = text[i+1:]
	}
	end := strings.IndexAny(text, "/?")
	if end < 0 {
		end = len(text)
	}
	servers, path := text[:end], text[end:]
	path, query, _ := strings.Cut(path, "?")
	if path == "" {
		path = "/"
	}
	d.path = path
	if servers != "" && !d.netlocs(servers) {
		return nil, false
	}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		key, err := url.PathUnescape(key)
		if err != nil {
			return nil, false
		}
		value, err = url.PathUnescape(value)
		if err != nil {
			return nil, false
		}
		if !d.named(key, value) {
			d.rest = append(d.rest, pair)
		}
	}
	return d, true
}

// netlocs reads host:port,[host]:port.
func (d *dsn) netlocs(text string) bool {
	var hosts, ports []string
	for {
		var host, port string
		if strings.HasPrefix(text, "[") {
			end := strings.IndexByte(text, ']')
			if end < 0 {
				return false
			}
			host, text = text[1:end], text[end+1:]
		} else {
			end := strings.IndexAny(text, ":,")
			if end < 0 {
				end = len(text)
			}
			host, text = text[:end], text[end:]
		}
		if after, ok := strings.CutPrefix(text, ":"); ok {
			port, text = after, ""
			if before, left, more := strings.Cut(after, ","); more {
				port, text = before, ","+left
			}
		}
		hosts, ports = append(hosts, host), append(ports, port)
		if text == "" {
			break
		}
		after, ok := strings.CutPrefix(text, ",")
		if !ok {
			return false
		}
		text = after
	}
	host, err := url.PathUnescape(strings.Join(hosts, ","))
	if err != nil {
		return false
	}
	port := strings.Join(ports, ",")
	d.host = &host
	if len(hosts) > 1 || port != "" {
		d.port = &port
	}
	return true
}

// escaped is a value of a URL's query. A plus is no blank there.
func escaped(value string) string {
	return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
}
