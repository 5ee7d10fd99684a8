package engine

import (
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// source is one table of a FROM, in the order in which they are joined.
type source struct {
	kind   string // "inner", "left" or "cross"
	on     *compiled
	offset int // of its columns in the combined row
	width  int
	table  *table // of a base table
	seek   seek   // how its rows are found without reading all of it
	rows   func(e *env) ([][]any, error)
	locks  bool // UPDLOCK
}

// each visits the rows of the source for what stands in e already.
func (s *source) each(e *env, visit func(row []any) (bool, error)) error {
	if s.rows != nil {
		rows, err := s.rows(e)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if more, err := visit(row); !more || err != nil {
				return err
			}
		}
		return nil
	}
	if s.seek != nil {
		return s.seek(e, visit)
	}
	return s.table.rows.each(func(_, row []any) (bool, error) { return visit(row) })
}

// tableName is the name in lower case by which a state knows a table, when the name is one of
// the session's database and of schema dbo.
func (s *Session) tableName(t *tsql.Table) (string, error) {
	full := strings.Join(t.Parts, ".")
	n := len(t.Parts)
	if n > 1 && t.Parts[n-2] != "" && !strings.EqualFold(t.Parts[n-2], "dbo") {
		return "", invalidObject(full)
	}
	if n > 2 && !strings.EqualFold(t.Parts[0], s.db.Name()) {
		return "", invalidObject(full)
	}
	if strings.HasPrefix(t.Parts[n-1], "#") {
		return "", sqlval.NotModelled("temporary tables: %s", full)
	}
	return strings.ToLower(t.Parts[n-1]), nil
}

func (x *execution) table(t *tsql.Table) (*table, error) {
	name, err := x.s.tableName(t)
	if err != nil {
		return nil, err
	}
	found := x.state.tables[name]
	if found == nil {
		return nil, invalidObject(strings.Join(t.Parts, "."))
	}
	return found, nil
}

func alias(t *tsql.Table) string {
	if t.Alias != "" {
		return t.Alias
	}
	return t.Parts[len(t.Parts)-1]
}

// columnsOf are a table's columns under a name.
func columnsOf(t *table, name string) []scopeColumn {
	cols := make([]scopeColumn, len(t.cols))
	for i, c := range t.cols {
		cols[i] = scopeColumn{name, c.Name, c.Type, !c.NotNull}
	}
	return cols
}

// from compiles a FROM into sources, and the scope in which they can be named.
func (x *execution) from(outer *scope, f tsql.Source, where tsql.Expr) ([]*source, *scope, error) {
	sc := &scope{outer: outer}
	if f == nil {
		return nil, sc, nil
	}
	b := &fromBuilder{x: x, sc: sc, where: where}
	err := b.add(f, "inner", nil)
	return b.sources, sc, err
}

type fromBuilder struct {
	x       *execution
	sc      *scope
	where   tsql.Expr
	sources []*source
}

func (b *fromBuilder) add(f tsql.Source, kind string, on tsql.Expr) error {
	if j, ok := f.(*tsql.Join); ok {
		if len(b.sources) > 0 {
			return sqlval.NotModelled("a join on the right side of a join")
		}
		if err := b.add(j.L, "inner", nil); err != nil {
			return err
		}
		return b.add(j.R, j.Kind, j.On)
	}
	s := &source{kind: kind, offset: len(b.sc.cols)}
	before := &scope{cols: b.sc.cols[:len(b.sc.cols):len(b.sc.cols)], outer: b.sc.outer}
	var cols []scopeColumn
	var err error
	switch t := f.(type) {
	case *tsql.Table:
		cols, err = b.named(s, t)
	case *tsql.Derived:
		cols, err = b.derived(s, t)
	}
	if err != nil {
		return err
	}
	for _, c := range b.sc.cols {
		if strings.EqualFold(c.table, cols[0].table) {
			return sqlval.Errorf(1013, "The objects \"%s\" in the FROM clause have the same exposed names. Use correlation names to distinguish them.", c.table)
		}
	}
	if kind == "left" {
		for i := range cols {
			cols[i].nullable = true
		}
	}
	s.width = len(cols)
	b.sc.cols = append(b.sc.cols, cols...)
	if on != nil {
		if s.on, err = b.x.condition(b.sc, on); err != nil {
			return err
		}
	}
	if s.table != nil {
		conditions := conjuncts(on, nil)
		if kind != "left" {
			conditions = conjuncts(b.where, conditions)
		}
		s.seek = b.x.seek(s.table, cols[0].table, before, conditions)
	}
	b.sources = append(b.sources, s)
	return nil
}

func (b *fromBuilder) named(s *source, t *tsql.Table) ([]scopeColumn, error) {
	set, err := b.x.systemView(t)
	if err != nil {
		return nil, err
	}
	if set != nil {
		var cols []scopeColumn
		for _, c := range set.Cols {
			cols = append(cols, scopeColumn{alias(t), c.Name, c.Type, true})
		}
		s.rows = func(*env) ([][]any, error) { return set.Rows, nil }
		return cols, nil
	}
	if t.IsFn {
		return nil, invalidObject(strings.Join(t.Parts, "."))
	}
	if s.table, err = b.x.table(t); err != nil {
		return nil, err
	}
	for _, h := range t.Hints {
		s.locks = s.locks || h == "updlock" || h == "xlock" || h == "tablockx"
	}
	return columnsOf(s.table, alias(t)), nil
}

func (b *fromBuilder) derived(s *source, d *tsql.Derived) ([]scopeColumn, error) {
	var q *query
	var err error
	if d.Sub != nil {
		q, err = b.x.query(b.sc.outer, d.Sub)
	} else {
		q, err = b.x.valuesQuery(b.sc.outer, d.Values)
	}
	if err != nil {
		return nil, err
	}
	if d.Cols != nil && len(d.Cols) != len(q.cols) {
		return nil, sqlval.Errorf(8158, "'%s' has more columns than were specified in the column list.", d.Alias)
	}
	var cols []scopeColumn
	for i, c := range q.cols {
		name := c.Name
		if d.Cols != nil {
			name = d.Cols[i]
		}
		cols = append(cols, scopeColumn{d.Alias, name, c.Type, c.Nullable})
	}
	s.rows = func(e *env) ([][]any, error) { return q.run(e.outer) }
	return cols, nil
}

// valuesQuery is (VALUES (..), (..)) as a query.
func (x *execution) valuesQuery(outer *scope, values [][]tsql.Expr) (*query, error) {
	var rows [][]*compiled
	q := &query{}
	for _, exprs := range values {
		if len(exprs) != len(values[0]) {
			return nil, sqlval.Errorf(10709, "The number of columns for each row in a table value constructor must be the same.")
		}
		var row []*compiled
		for i, e := range exprs {
			c, err := x.scalar(&scope{outer: outer}, e)
			if err != nil {
				return nil, err
			}
			row = append(row, c)
			if len(rows) == 0 {
				q.cols = append(q.cols, Column{"", c.typ, true})
			}
			q.cols[i].Type = sqlval.Common(q.cols[i].Type, c.typ)
		}
		rows = append(rows, row)
	}
	q.run = func(e *env) ([][]any, error) {
		inner := &env{outer: e}
		var out [][]any
		for _, row := range rows {
			values := make([]any, len(row))
			for i, c := range row {
				v, err := castOf(c, inner, q.cols[i].Type)
				if err != nil {
					return nil, err
				}
				values[i] = v
			}
			out = append(out, values)
		}
		return out, nil
	}
	return q, nil
}
