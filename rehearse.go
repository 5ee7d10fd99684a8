package readsplit

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/readsplit/readsplit/explain"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/sqlclass"
)

// rehearse puts the pool of a rehearsal in place for a statement of a dry run, if that
// is one: as route does, by the same rules.
func (p *Plugin) rehearse(db *gorm.DB, pinned bool) {
	stmt := db.Statement
	outer, prepared := unwrap(stmt.ConnPool)
	inner, h := ofRehearsal(outer)
	if h == nil || h.p != p {
		return
	}
	if err := h.useless(); err != nil {
		_ = db.AddError(err)
		return
	}
	stmt.SkipHooks = true // also where a handle was made anew: hooks can do anything
	if r := p.routeFrom(db, inner, prepared, pinned); r != nil {
		r.prepared = nil
		p.put(db, r)
		stmt.ConnPool = h.pool(r)
		return
	}
	if _, ok := inner.(*rehearsedTx); !ok {
		stmt.ConnPool = h.root(stmt.Context, inner)
	}
}

// foundNothing takes away what the destination of a rehearsed query held before. The
// query finds no row, and GORM's preloads would be explained of the old ones, as
// statements that no parent binds.
func (p *Plugin) foundNothing(db *gorm.DB) {
	stmt := db.Statement
	outer, _ := unwrap(stmt.ConnPool)
	if _, h := ofRehearsal(outer); h != nil && h.p == p && stmt.ReflectValue.IsValid() {
		stmt.ReflectValue = reflect.New(stmt.ReflectValue.Type()).Elem()
	}
}

// rehearsed explains the statement of a dry run, if that is one of a rehearsal, and
// reports whether it is.
func (p *Plugin) rehearsed(db *gorm.DB) bool {
	stmt := db.Statement
	if dry, ok := stmt.ConnPool.(dryPool); ok {
		stmt.ConnPool = dry.ConnPool
	}
	outer, _ := unwrap(stmt.ConnPool)
	inner, h := ofRehearsal(outer)
	if h == nil {
		return false
	}
	if t, ok := stmt.ConnPool.(*plainTx); ok {
		stmt.ConnPool = t.outer
	}
	isRow := h.take(db, inner)
	if r, ok := inner.(*route); ok && r.stmt == stmt {
		r.end()
	}
	if !isRow {
		return true
	}
	// GORM's Rows and Row hand out what is here, and code looks into it.
	rows, ok := db.Get("rows")
	switch many := ok && rows == true; {
	case many && db.Error != nil:
	case many:
		stmt.Settings.Delete("rows")
		stmt.Dest = nothing{}.rows()
	case db.Error != nil:
		stmt.Dest = failing{db.Error}.row()
	default:
		stmt.Dest = nothing{}.row()
	}
	return true
}

// take adds the statement of db to the report and tells whether rows of it have to be
// given to the application.
func (h *rehearsal) take(db *gorm.DB, inner gorm.ConnPool) (isRow bool) {
	h.mu.Lock()
	defer h.mu.Unlock() // a policy may panic
	isRow = h.rows[db.Statement]
	delete(h.rows, db.Statement)
	if !h.over {
		h.add(db, inner)
	}
	return isRow
}

// rehearsesRow notes that a statement of a rehearsal gives rows to the application.
func rehearsesRow(db *gorm.DB) {
	outer, _ := unwrap(db.Statement.ConnPool)
	if _, h := ofRehearsal(outer); h != nil {
		h.mu.Lock()
		h.rows[db.Statement] = true
		h.mu.Unlock()
	}
}

// add explains the statement that db has built. The caller holds mu.
func (h *rehearsal) add(db *gorm.DB, inner gorm.ConnPool) {
	stmt := db.Statement
	text := stmt.SQL.String()
	if text == "" || db.Error != nil {
		if db.Error != nil {
			of := "a statement that cannot be built"
			if stmt.Table != "" {
				of += " on table " + stmt.Table
			}
			h.report.Statements = append(h.report.Statements, explain.Statement{SQL: text, Of: of, Err: db.Error})
		}
		return
	}
	s := h.statement(stmt.Context, inner, text)
	if hooks := hooksOf(stmt.Schema, s.Verb); hooks != "" {
		h.note(fmt.Sprintf("hooks are not called: %s of %s", hooks, stmt.Schema.Name))
	}
	h.report.Statements = append(h.report.Statements, s)
	if r, ok := inner.(*route); ok {
		h.preloads(stmt, r, &s)
	}
}

// hooksOf names the hooks that a statement would run.
func hooksOf(s *schema.Schema, verb sqlclass.Verb) string {
	if s == nil {
		return ""
	}
	var names []string
	add := func(has bool, name string) {
		if has {
			names = append(names, name)
		}
	}
	switch verb {
	case sqlclass.Insert:
		add(s.BeforeSave, "BeforeSave")
		add(s.BeforeCreate, "BeforeCreate")
		add(s.AfterCreate, "AfterCreate")
		add(s.AfterSave, "AfterSave")
	case sqlclass.Update:
		add(s.BeforeSave, "BeforeSave")
		add(s.BeforeUpdate, "BeforeUpdate")
		add(s.AfterUpdate, "AfterUpdate")
		add(s.AfterSave, "AfterSave")
	case sqlclass.Delete:
		add(s.BeforeDelete, "BeforeDelete")
		add(s.AfterDelete, "AfterDelete")
	case sqlclass.Select:
		add(s.AfterFind, "AfterFind")
	}
	return strings.Join(names, ", ")
}

// preloads explains what GORM reads for the rows of a query. The text of it has their
// keys in it, which nobody has; where it goes does not depend on them.
func (h *rehearsal) preloads(stmt *gorm.Statement, parent *route, of *explain.Statement) {
	if stmt.Schema == nil || len(stmt.Preloads) == 0 || of.Err != nil {
		return
	}
	var names []string
	for name := range stmt.Preloads {
		names = append(names, name)
	}
	if _, all := stmt.Preloads[clause.Associations]; all {
		for name := range stmt.Schema.Relationships.Relations {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == clause.Associations {
			continue
		}
		rt := h.p.main
		if table := tableOf(stmt.Schema, name); table != "" {
			if of := h.p.tables.Load().byTable[plainTable(table)]; of != nil {
				rt = of
			}
		}
		child := parent.child(nil, nil, false)
		if !child.bound {
			child.router = rt
		}
		s := explain.Statement{
			Of: "preload " + name, Class: sqlclass.Read, Verb: sqlclass.Select, Why: "GORM's own query",
			Notes: []string{"its text depends on the rows of the statement before; without any it is not run"},
		}
		if child.router == parent.router && len(of.Before) > 0 {
			s.Resolver, s.Servers, s.Reason = of.Resolver, of.Servers, policy.ReasonParent
			s.Before = []string{"runs wherever the statement before has run"}
			if names := h.balanced(child.router, of.Servers); len(names) > 0 {
				s.Before = append(s.Before, fmt.Sprintf("where that was %s, it may come to another server behind the name, if that shows what the primary had by then; else it runs on the primary", strings.Join(names, " or ")))
			}
			h.report.Statements = append(h.report.Statements, s)
			continue
		}
		h.onRoute(stmt.Context, child, sqlclass.Info{Class: sqlclass.Read, Verb: sqlclass.Select}, &s)
		if child.router == parent.router && child.at != nil && child.at == parent.at {
			s.Servers = of.Servers // whichever it is
		}
		h.report.Statements = append(h.report.Statements, s)
	}
}

// tableOf returns the table of a preload, by the path to it.
func tableOf(s *schema.Schema, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		r := s.Relationships.Relations[name]
		if r == nil {
			return ""
		}
		s = r.FieldSchema
	}
	return s.Table
}
