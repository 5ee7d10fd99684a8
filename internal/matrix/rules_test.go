package matrix

import (
	"fmt"
	"regexp"
	"strings"
)

// effects are the words of a statement that a replica must not see. They are looked for without package sqlclass, whose
// judgement is on trial here: crude, and made for the texts of this package.
var (
	effects = regexp.MustCompile(`(?i)\b(insert|update|delete|merge|truncate|create|alter|drop|lock|call|do|copy|into|grant|` +
		`reindex|vacuum|analyze|comment|listen|notify|unlisten|nextval|setval|set_config|note_visit|pg_notify|` +
		`pg_(try_)?advisory\w*|for\s+(no\s+key\s+)?update|for\s+(key\s+)?share)\b`)
	quoted   = regexp.MustCompile(`(?s)E'(?:\\.|[^'\\])*'|'[^']*'|\$\$.*?\$\$`)
	named    = regexp.MustCompile(`"[^"]*"`)
	comments = regexp.MustCompile(`(?s)--[^\n]*|/\*.*\*/`)
	opens    = regexp.MustCompile(`(?i)^[\s(]*(select|with|values|table|explain|show)\b`)
)

// readsOnly tells whether a text is plainly a read.
func readsOnly(text string) bool {
	bare := named.ReplaceAllString(quoted.ReplaceAllString(comments.ReplaceAllString(text, " "), " '' "), " x ")
	return opens.MatchString(bare) && !effects.MatchString(bare)
}

// rules hold for all cells:
//
//   - nothing but reads runs on a replica, and no transaction there may write;
//   - a cell that belongs to replicas alone does not begin a transaction on the primary for nothing;
//   - what belongs together, a parent and what is preloaded for it, runs on one server;
//   - no transaction is left open.
func (c *cell) rules(statements []statement) []string {
	var verdict []string
	wrong := func(format string, args ...any) { verdict = append(verdict, fmt.Sprintf(format, args...)) }
	open := map[int]bool{}
	replica := ""
	onPrimary := strings.ContainsAny(letters(statements), "Pp")
	for _, s := range statements {
		begins, ends := s.begins(), s.ends()
		if begins {
			open[s.pid] = true
		}
		if ends {
			delete(open, s.pid)
		}
		if s.primary() {
			if s.control() && !onPrimary {
				wrong("on the primary for nothing: %s", s.text)
			}
			continue
		}
		switch {
		case begins && !strings.Contains(strings.ToLower(s.text), "read only"):
			wrong("a transaction that may write began on %s: %s", s.server, s.text)
		case s.tx == mayWrite:
			wrong("in a transaction that may write, on %s: %s", s.server, s.text)
		case !s.control() && !c.harmless && !readsOnly(s.text):
			wrong("not a read, on %s: %s", s.server, s.text)
		}
		if replica == "" {
			replica = s.server
		}
		if replica != s.server && !c.apart {
			wrong("on %s, and before it something on %s: %s", s.server, replica, s.text)
		}
	}
	for pid := range open {
		wrong("the transaction of backend %d was left open", pid)
	}
	return verdict
}
