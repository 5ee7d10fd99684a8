package engine

import (
	"context"
	"slices"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// query is a compiled SELECT. run gives all of its rows; outer is the row of the query around it.
type query struct {
	cols  []Column
	run   func(outer *env) ([][]any, error)
	locks func(outer *env) ([]string, error) // rows that UPDLOCK locks
}

// core is a SELECT without UNION and ORDER BY.
type core struct {
	x        *execution
	sources  []*source
	where    *compiled
	aggs     []*aggregate
	grouped  bool
	group    []*compiled
	having   *compiled
	items    []*compiled
	cols     []Column
	order    []orderTerm
	distinct bool
}

type orderTerm struct {
	c    *compiled // nil: the column at
	at   int
	desc bool
}

// output is a row with the keys that it is sorted by.
type output struct{ row, keys []any }

func (x *execution) query(outer *scope, sel *tsql.Select) (*query, error) {
	first, sc, err := x.core(outer, sel)
	if err != nil {
		return nil, err
	}
	order := sel.OrderBy
	if err := first.orderBy(sc, order, len(sel.Unions) > 0); err != nil {
		return nil, err
	}
	if first.grouped {
		if err := checkGroups(sel); err != nil {
			return nil, err
		}
	}
	cols := slices.Clone(first.cols)
	type part struct {
		all bool
		c   *core
	}
	var parts []part
	for _, u := range sel.Unions {
		c, _, err := x.core(outer, u.Sel)
		if err != nil {
			return nil, err
		}
		if len(c.cols) != len(cols) {
			return nil, sqlval.Errorf(205, "All queries combined using a UNION operator must have an equal number of expressions in their target lists.")
		}
		for i := range cols {
			cols[i].Type = sqlval.Common(cols[i].Type, c.cols[i].Type)
			cols[i].Nullable = cols[i].Nullable || c.cols[i].Nullable
		}
		parts = append(parts, part{u.All, c})
	}
	limit, err := x.limits(outer, sel)
	if err != nil {
		return nil, err
	}
	q := &query{cols: cols, locks: first.lockNames}
	q.run = func(e *env) ([][]any, error) {
		outputs, err := first.run(e)
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			more, err := p.c.run(e)
			if err != nil {
				return nil, err
			}
			outputs = append(outputs, more...)
			for _, o := range outputs {
				for i := range o.row {
					if o.row[i], err = sqlval.Cast(o.row[i], cols[i].Type); err != nil {
						return nil, err
					}
				}
			}
			if !p.all {
				outputs = unique(outputs)
			}
		}
		if len(first.order) > 0 {
			slices.SortStableFunc(outputs, first.compare)
		}
		return limit(e, outputs)
	}
	return q, nil
}

func unique(outputs []output) []output {
	var seen tree
	var kept []output
	for _, o := range outputs {
		if _, ok := seen.get(o.row); !ok {
			seen = seen.put(o.row, o.row)
			kept = append(kept, o)
		}
	}
	return kept
}

func (c *core) compare(a, b output) int {
	for i, t := range c.order {
		var n int
		if t.c == nil {
			n = sqlval.Order(a.row[t.at], b.row[t.at])
		} else {
			n = sqlval.Order(a.keys[i], b.keys[i])
		}
		if t.desc {
			n = -n
		}
		if n != 0 {
			return n
		}
	}
	return 0
}

// limits is TOP, OFFSET and FETCH.
func (x *execution) limits(outer *scope, sel *tsql.Select) (func(*env, []output) ([][]any, error), error) {
	sc := &scope{outer: outer}
	var bounds [3]*compiled
	for i, e := range []tsql.Expr{sel.Top, sel.Offset, sel.Fetch} {
		if e == nil {
			continue
		}
		c, err := x.scalar(sc, e)
		if err != nil {
			return nil, err
		}
		bounds[i] = c
	}
	return func(e *env, outputs []output) ([][]any, error) {
		var n [3]int64
		for i, b := range bounds {
			n[i] = int64(len(outputs))
			if i == 1 {
				n[i] = 0
			}
			if b == nil {
				continue
			}
			v, err := castOf(b, &env{outer: e}, longInt)
			if err != nil {
				return nil, err
			}
			if v == nil || v.(int64) < 0 || i == 2 && v.(int64) == 0 {
				return nil, sqlval.Errorf(10744, "The number of rows provided for a TOP, OFFSET or FETCH clause must be greater than zero, or an OFFSET at least zero.")
			}
			n[i] = v.(int64)
		}
		outputs = outputs[min(n[1], int64(len(outputs))):]
		outputs = outputs[:min(n[0], n[2], int64(len(outputs)))]
		rows := make([][]any, len(outputs))
		for i, o := range outputs {
			rows[i] = o.row
		}
		return rows, nil
	}, nil
}

func (x *execution) core(outer *scope, sel *tsql.Select) (*core, *scope, error) {
	sources, sc, err := x.from(outer, sel.From, sel.Where)
	if err != nil {
		return nil, nil, err
	}
	c := &core{x: x, sources: sources, distinct: sel.Distinct}
	if sel.Where != nil {
		if c.where, err = x.condition(sc, sel.Where); err != nil {
			return nil, nil, err
		}
	}
	for _, g := range sel.GroupBy {
		k, err := x.scalar(sc, g)
		if err != nil {
			return nil, nil, err
		}
		c.group = append(c.group, k)
	}
	sc.aggs = &c.aggs
	if sel.Having != nil {
		if c.having, err = x.condition(sc, sel.Having); err != nil {
			return nil, nil, err
		}
	}
	for _, item := range sel.Items {
		if err := c.item(sc, item); err != nil {
			return nil, nil, err
		}
	}
	c.grouped = len(c.aggs) > 0 || len(c.group) > 0 || c.having != nil
	return c, sc, nil
}

func (c *core) item(sc *scope, item tsql.Item) error {
	if star, ok := item.Expr.(*tsql.Star); ok {
		found := false
		for i, col := range sc.cols {
			if star.Table != "" && !equalFold(col.table, star.Table) {
				continue
			}
			found = true
			c.items = append(c.items, &compiled{typ: col.typ, nullable: col.nullable, eval: func(e *env) (any, error) { return e.row[i], nil }})
			c.cols = append(c.cols, Column{col.name, col.typ, col.nullable})
		}
		if !found {
			return sqlval.Errorf(107, "The column prefix '%s' does not match with a table name or alias name used in the query.", star.Table)
		}
		return nil
	}
	e, err := c.x.scalar(sc, item.Expr)
	if err != nil {
		return err
	}
	name := item.Alias
	if col, ok := item.Expr.(*tsql.Col); ok && name == "" {
		name = col.Parts[len(col.Parts)-1]
		if depth, at, err := sc.find(col.Parts); err == nil && depth == 0 {
			name = sc.cols[at].name
		}
	}
	if e.typ.Kind == sqlval.Null {
		e.typ = integer // as a server types a bare NULL
	}
	c.items = append(c.items, e)
	c.cols = append(c.cols, Column{name, e.typ, e.nullable})
	return nil
}

// orderBy compiles ORDER BY: a place, an alias of the list, or an expression.
func (c *core) orderBy(sc *scope, order []tsql.Order, union bool) error {
	for _, o := range order {
		term := orderTerm{desc: o.Desc, at: -1}
		switch e := o.Expr.(type) {
		case *tsql.Lit:
			n, ok := e.Value.(int64)
			if !ok || n < 1 || int(n) > len(c.cols) {
				return sqlval.Errorf(108, "The ORDER BY position number %v is out of range of the number of items in the select list.", e.Value)
			}
			term.at = int(n) - 1
		case *tsql.Col:
			if len(e.Parts) == 1 {
				term.at = slices.IndexFunc(c.cols, func(col Column) bool { return equalFold(col.Name, e.Parts[0]) })
			}
		case *tsql.Sub:
			if nullQuery(e.Sub) {
				continue // ORDER BY (SELECT NULL): in no order
			}
		}
		if term.at < 0 {
			if union || c.distinct {
				return sqlval.Errorf(145, "ORDER BY items must appear in the select list if SELECT DISTINCT or UNION is specified.")
			}
			e, err := c.x.scalar(sc, o.Expr)
			if err != nil {
				return err
			}
			term.c = e
		}
		c.order = append(c.order, term)
	}
	c.grouped = c.grouped || len(c.aggs) > 0
	return nil
}

func nullQuery(s *tsql.Select) bool {
	if s.From != nil || len(s.Items) != 1 {
		return false
	}
	lit, ok := s.Items[0].Expr.(*tsql.Lit)
	return ok && lit.Value == nil
}

// selectStmt runs a SELECT that stands alone.
func (s *Session) selectStmt(ctx context.Context, sel *tsql.Select, out Sink) error {
	state, err := s.read()
	if err != nil {
		return err
	}
	x := &execution{ctx: ctx, s: s, state: state}
	q, err := x.query(nil, sel)
	if err != nil {
		return err
	}
	if q, err = s.lockRows(ctx, x, q, sel); err != nil {
		return err
	}
	rows, err := q.run(nil)
	if err != nil {
		return err
	}
	s.rowCount = int64(len(rows))
	if sel.Items[0].Assign != "" {
		return s.assignRow(sel, rows)
	}
	if err := out.Columns(q.cols); err != nil {
		return err
	}
	for _, row := range rows {
		if err := x.tick(); err != nil {
			return err
		}
		if err := out.Row(row); err != nil {
			return err
		}
	}
	return out.Done(CmdSelect, s.rowCount, false)
}

// lockRows locks what UPDLOCK asks for, and reads anew: what was waited for has changed it.
func (s *Session) lockRows(ctx context.Context, x *execution, q *query, sel *tsql.Select) (*query, error) {
	if s.tx == nil || s.tx.w == nil || !hinted(sel.From) {
		return q, nil
	}
	err := s.tx.run(ctx, s.opts.lockTimeout, func(state *State) ([]change, []string, error) {
		x.state = state
		var err error
		if q, err = x.query(nil, sel); err != nil {
			return nil, nil, err
		}
		locks, err := q.locks(nil)
		return nil, locks, err
	})
	return q, err
}

func hinted(f tsql.Source) bool {
	switch t := f.(type) {
	case *tsql.Table:
		return slices.ContainsFunc(t.Hints, func(h string) bool { return h == "updlock" || h == "xlock" || h == "tablockx" })
	case *tsql.Join:
		return hinted(t.L) || hinted(t.R)
	}
	return false
}

// assignRow is SELECT @x = ..: the last row counts.
func (s *Session) assignRow(sel *tsql.Select, rows [][]any) error {
	for i, item := range sel.Items {
		v := s.vars[item.Assign]
		if item.Assign == "" || v == nil {
			return undeclared(item.Assign)
		}
		if len(rows) == 0 {
			continue
		}
		value, err := sqlval.Cast(rows[len(rows)-1][i], v.typ)
		if err != nil {
			return err
		}
		v.value = value
	}
	return nil
}
