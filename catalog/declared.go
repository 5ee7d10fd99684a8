package catalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/readsplit/readsplit/sqlclass"
)

// declared are the functions that the application speaks for.
type declared struct {
	reads, writes []declaration
	byBase        [2]map[string][]string // base to schemas, "" is any; see index
}

type declaration struct {
	name  name
	field string // Config.ReadFunctions[2]
	text  string
}

func parseDeclared(field string, texts []string) (parsed []declaration, err error) {
	var problems []error
	for i, text := range texts {
		n, err := parseName(text)
		at := fmt.Sprintf("%s[%d]", field, i)
		if err != nil {
			problems = append(problems, fmt.Errorf("readsplit: %s is %q: %w", at, text, err))
			continue
		}
		parsed = append(parsed, declaration{name: n, field: at, text: text})
	}
	return parsed, errors.Join(problems...)
}

// refuseNeedless reports what is declared in vain: a function that the lexer never
// leaves to the catalogue would stay on the primary, and nobody would know why.
func (d *declared) refuseNeedless() error {
	var problems []error
	for _, r := range d.reads {
		if r.name.schema != "" && r.name.schema != "pg_catalog" {
			continue
		}
		info := sqlclass.Classify(sqlclass.PostgreSQL, "SELECT "+r.name.String()+"(1)")
		if info.Class != sqlclass.Read && !info.Flags.Has(sqlclass.UnlistedCalls) {
			problems = append(problems, fmt.Errorf("readsplit: %s is %q: a built-in function of that name must not run "+
				"on a replica: remove it, or name the schema of your own function", r.field, r.text))
		}
	}
	return errors.Join(problems...)
}

// index makes the lists ready for look-ups.
func (d *declared) index() *declared {
	for i, list := range [...][]declaration{d.reads, d.writes} {
		d.byBase[i] = make(map[string][]string, len(list))
		for _, decl := range list {
			d.byBase[i][decl.name.base] = append(d.byBase[i][decl.name.base], decl.name.schema)
		}
	}
	return d
}

// isRead reports whether what n calls is declared a read: n without a schema may
// call any schema's function, so that only a declaration without one covers it.
func (d *declared) isRead(n name) bool {
	schemas := d.byBase[0][n.base]
	return slices.Contains(schemas, "") || n.schema != "" && slices.Contains(schemas, n.schema)
}

// isWrite reports whether n can call what is declared a write.
func (d *declared) isWrite(n name) bool {
	schemas := d.byBase[1][n.base]
	return len(schemas) > 0 && (n.schema == "" || slices.Contains(schemas, "") || slices.Contains(schemas, n.schema))
}
