// Package engine is a toy database: tables that never change but are replaced, the statements of
// package tsql on them, transactions with row locks, and sessions. What a server knows and a
// database does not (its name, its role, its availability group) it asks of its [Host].
package engine

import (
	"maps"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// State is a database as it was after one commit. It never changes.
type State struct {
	tables map[string]*table // by name in lower case
	nextID int64
}

// Empty is a database without tables.
func Empty() *State { return &State{tables: map[string]*table{}, nextID: 1_000_000} }

type table struct {
	id       int64
	name     string
	cols     []tableColumn
	key      []int // columns of the primary key; none: rows are numbered
	keyName  string
	rows     tree
	nextRow  int64
	identity int64 // the last value that a commit has used
	indexes  []index
	checks   []tsql.Constraint
	foreign  []foreignKey
}

type tableColumn struct {
	tsql.Column
	id int
}

type index struct {
	name       string
	unique     bool
	constraint bool
	cols       []int
	where      tsql.Expr
	filter     *compiled
	entries    tree // values of cols -> key of the row
}

type foreignKey struct {
	name    string
	cols    []int
	parent  string
	refCols []string
}

func (t *table) column(name string) int {
	for i := range t.cols {
		if strings.EqualFold(t.cols[i].Name, name) {
			return i
		}
	}
	return -1
}

func (t *table) identityColumn() int {
	for i := range t.cols {
		if t.cols[i].Identity {
			return i
		}
	}
	return -1
}

func pick(row []any, cols []int) []any {
	values := make([]any, len(cols))
	for i, c := range cols {
		values[i] = row[c]
	}
	return values
}

// edit is a state in the making.
type edit struct {
	state *State
	own   map[string]bool // tables that are copies of this edit's own
}

func (s *State) edit() *edit {
	return &edit{&State{maps.Clone(s.tables), s.nextID}, map[string]bool{}}
}

// table is the table for changing it.
func (e *edit) table(name string) (*table, error) {
	name = strings.ToLower(name)
	t, ok := e.state.tables[name]
	if !ok {
		return nil, invalidObject(name)
	}
	if !e.own[name] {
		c := *t
		c.cols = append([]tableColumn(nil), t.cols...)
		c.indexes = append([]index(nil), t.indexes...)
		c.checks = append([]tsql.Constraint(nil), t.checks...)
		c.foreign = append([]foreignKey(nil), t.foreign...)
		t = &c
		e.state.tables[name], e.own[name] = t, true
	}
	return t, nil
}

func invalidObject(name string) *sqlval.Error {
	return sqlval.Errorf(208, "Invalid object name '%s'.", name)
}

// change is what a transaction has done, in a form that can be done again on a newer state.
type change interface{ apply(*edit) error }

// rowChange puts a row, or removes it when row is nil.
type rowChange struct {
	table    string
	tableID  int64
	key      []any
	row      []any
	identity int64
}

func (c *rowChange) apply(e *edit) error {
	t, err := e.table(c.table)
	if err != nil {
		return err
	}
	if t.id != c.tableID || c.row != nil && len(c.row) != len(t.cols) {
		return sqlval.Errorf(3961, "The transaction was aborted because table '%s' was changed by another one.", c.table)
	}
	if old, ok := t.rows.get(c.key); ok {
		for i := range t.indexes {
			ix := &t.indexes[i]
			if k := pick(old, ix.cols); ix.unique && sameKey(ix.entries, k, c.key) {
				ix.entries = ix.entries.remove(k)
			}
		}
		t.rows = t.rows.remove(c.key)
	}
	if c.row == nil {
		return nil
	}
	t.rows = t.rows.put(c.key, c.row)
	for i := range t.indexes {
		if ix := &t.indexes[i]; ix.unique && ix.holds(t, c.row) {
			ix.entries = ix.entries.put(pick(c.row, ix.cols), c.key)
		}
	}
	if len(t.key) == 0 {
		t.nextRow = max(t.nextRow, c.key[0].(int64))
	}
	t.identity = max(t.identity, c.identity)
	return nil
}

func sameKey(entries tree, k, key []any) bool {
	owner, ok := entries.get(k)
	return ok && sqlval.OrderAll(owner, key) == 0
}

// schemaChange is a CREATE, ALTER or DROP.
type schemaChange func(*edit) error

func (c schemaChange) apply(e *edit) error { return c(e) }
