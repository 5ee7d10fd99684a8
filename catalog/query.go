package catalog

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strings"
)

var (
	//go:embed mark.sql
	markSQL string
	//go:embed load.sql
	loadText string
	// The mark comes with the facts in one statement: taken before or after them,
	// it could be that of another state, and a change would go unnoticed.
	loadSQL = ours + strings.Replace(loadText, "$mark$", markSQL, 1)
	lookSQL = ours + "SELECT (" + markSQL + "), pg_catalog.pg_is_in_recovery()"
)

// ours tells whoever looks at the server whose queries these are.
const ours = "/* readsplit: catalogue */ "

// maxRows bounds what a load may take of this process's memory, about 300 MB.
const maxRows = 1 << 20

var (
	errRecovery = errors.New("the server is in recovery, so that its catalogue may be old: name the primary")
	errTooMuch  = errors.New("it is too large to keep: declare functions in Config.ReadFunctions instead")
)

// server asks a real one.
type server struct {
	db      *sql.DB
	maxRows int
}

func (s server) look(ctx context.Context) (mark string, err error) {
	var standby bool
	if err := s.db.QueryRowContext(ctx, lookSQL).Scan(&mark, &standby); err != nil {
		return "", fmt.Errorf("readsplit: look at the catalogue: %w", err)
	}
	if standby {
		return "", fmt.Errorf("readsplit: look at the catalogue: %w", errRecovery)
	}
	return mark, nil
}

func (s server) load(ctx context.Context) (*facts, error) {
	f, err := s.query(ctx)
	if err != nil {
		return nil, fmt.Errorf("readsplit: read the catalogue: %w", err)
	}
	return f, nil
}

func (s server) query(ctx context.Context) (*facts, error) {
	rows, err := s.db.QueryContext(ctx, loadSQL)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	f, schemas := newFacts(), map[string]string{}
	for n := 0; rows.Next(); n++ {
		var r row
		if err := rows.Scan(&r.kind, &r.class, &r.oid, &r.schema, &r.name, &r.other, &r.flag); err != nil {
			return nil, err
		}
		if n >= s.maxRows {
			return nil, errTooMuch
		}
		// One copy of a schema's name, not one for each of its functions.
		if kept, ok := schemas[r.schema]; ok {
			r.schema = kept
		} else {
			schemas[r.schema] = r.schema
		}
		if err := f.add(r); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// row is one of load.sql; what its columns mean depends on kind.
type row struct {
	kind, class  string
	oid          uint32
	schema, name string
	other        uint32
	flag         bool
}

func (f *facts) add(r row) error {
	at := node{classNames[r.class], r.oid}
	switch r.kind {
	case "server":
		if r.flag {
			return errRecovery
		}
	case "mark":
		f.mark = r.name
	case "function":
		f.functions = append(f.functions, function{oid: r.oid, name: name{r.schema, r.name}, attribute: r.other > 0, shown: r.other > 1, volatile: r.flag})
	case "builtin":
		if at.class == classOperator {
			f.symbols[r.name] = true
		} else {
			f.builtins[r.oid] = builtin{r.name, r.flag}
		}
	case "object":
		f.objects = append(f.objects, object{node: at, name: name{r.schema, r.name}, holds: holding(r.other), unlogged: r.flag})
	case "part":
		f.parents[r.other] = append(f.parents[r.other], r.oid)
	case "uses":
		if at.class == classProbe {
			f.probe = append(f.probe, r.other)
			break
		}
		used := node{classNames[r.name], r.other}
		f.users[used] = append(f.users[used], at)
	case "locks":
		if r.flag {
			f.locking = append(f.locking, at)
		} else {
			f.opaque = append(f.opaque, at)
		}
	}
	return nil
}
