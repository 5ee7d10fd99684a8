package engine

import (
	"slices"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }

// each visits the combined rows of the sources that meet the conditions.
func (c *core) each(outer *env, visit func(e *env) error) error {
	width := 0
	for _, s := range c.sources {
		width += s.width
	}
	e := &env{row: make([]any, width), outer: outer}
	return c.loop(e, 0, visit)
}

func (c *core) loop(e *env, i int, visit func(*env) error) error {
	if i == len(c.sources) {
		if c.where != nil {
			if v, err := c.where.eval(e); err != nil || v != true {
				return err
			}
		}
		return visit(&env{row: slices.Clone(e.row), outer: e.outer})
	}
	s := c.sources[i]
	matched := false
	err := s.each(e, func(row []any) (bool, error) {
		if err := c.x.tick(); err != nil {
			return false, err
		}
		copy(e.row[s.offset:s.offset+s.width], row)
		if s.on != nil {
			if v, err := s.on.eval(e); err != nil || v != true {
				return true, err
			}
		}
		matched = true
		return true, c.loop(e, i+1, visit)
	})
	if err != nil || matched || s.kind != "left" {
		return err
	}
	clear(e.row[s.offset : s.offset+s.width])
	return c.loop(e, i+1, visit)
}

func (c *core) run(outer *env) ([]output, error) {
	var outputs []output
	emit := func(e *env) error {
		o := output{row: make([]any, len(c.items))}
		for i, item := range c.items {
			v, err := item.eval(e)
			if err != nil {
				return err
			}
			o.row[i] = v
		}
		for _, t := range c.order {
			var key any
			if t.c != nil {
				v, err := t.c.eval(e)
				if err != nil {
					return err
				}
				key = v
			}
			o.keys = append(o.keys, key)
		}
		outputs = append(outputs, o)
		return nil
	}
	var err error
	if c.grouped {
		err = c.groups(outer, emit)
	} else {
		err = c.each(outer, emit)
	}
	if err == nil && c.distinct {
		outputs = unique(outputs)
	}
	return outputs, err
}

// groups visits one row for each group, with its aggregates.
func (c *core) groups(outer *env, emit func(*env) error) error {
	type group struct{ rows []*env }
	var index tree
	var groups []*group
	err := c.each(outer, func(e *env) error {
		key := make([]any, len(c.group))
		for i, k := range c.group {
			v, err := k.eval(e)
			if err != nil {
				return err
			}
			key[i] = v
		}
		found, ok := index.get(key)
		if !ok {
			g := &group{}
			groups = append(groups, g)
			found = []any{g}
			index = index.put(key, found)
		}
		g := found[0].(*group)
		g.rows = append(g.rows, e)
		return nil
	})
	if err != nil {
		return err
	}
	if len(c.group) == 0 && len(groups) == 0 {
		groups = append(groups, &group{}) // no rows are one group
	}
	for _, g := range groups {
		e := &env{outer: outer, aggs: make([]any, len(c.aggs))}
		if len(g.rows) > 0 {
			e.row = g.rows[0].row
		}
		for i, a := range c.aggs {
			v, err := a.over(g.rows)
			if err != nil {
				return err
			}
			e.aggs[i] = v
		}
		if c.having != nil {
			if v, err := c.having.eval(e); err != nil || v != true {
				if err != nil {
					return err
				}
				continue
			}
		}
		if err := emit(e); err != nil {
			return err
		}
	}
	return nil
}

// checkGroups refuses a bare column that is not grouped by: which of its values would it be?
func checkGroups(sel *tsql.Select) error {
	grouped := func(c *tsql.Col) bool {
		return slices.ContainsFunc(sel.GroupBy, func(g tsql.Expr) bool {
			k, ok := g.(*tsql.Col)
			return ok && equalFold(k.Parts[len(k.Parts)-1], c.Parts[len(c.Parts)-1])
		})
	}
	var check func(e tsql.Expr) error
	check = func(e tsql.Expr) error {
		switch n := e.(type) {
		case *tsql.Star:
			return sqlval.Errorf(8120, "Column '*' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.")
		case *tsql.Col:
			if !grouped(n) {
				return sqlval.Errorf(8120, "Column '%s' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.", strings.Join(n.Parts, "."))
			}
		case *tsql.Binary:
			return firstError(check(n.L), check(n.R))
		case *tsql.Unary:
			return check(n.X)
		case *tsql.Cast:
			return check(n.X)
		case *tsql.Call:
			if isAggregate(n.Name) {
				return nil
			}
			for _, a := range n.Args {
				if err := check(a); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, item := range sel.Items {
		if slices.ContainsFunc(sel.GroupBy, func(g tsql.Expr) bool { return g == item.Expr }) {
			continue
		}
		if err := check(item.Expr); err != nil {
			return err
		}
	}
	return nil
}

// lockNames are the rows that hints lock.
func (c *core) lockNames(outer *env) ([]string, error) {
	var names []string
	err := c.each(outer, func(e *env) error {
		for _, s := range c.sources {
			if s.locks && len(s.table.key) > 0 {
				names = append(names, lockName(s.table, "", pick(e.row[s.offset:], s.table.key)))
			}
		}
		return nil
	})
	return names, err
}
