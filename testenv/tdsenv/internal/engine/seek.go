package engine

import (
	"slices"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// seek finds rows by their key. Without it a lookup by primary key would read the whole table,
// and a test with ten thousand rows would measure that.
type seek func(e *env, visit func(row []any) (bool, error)) error

func conjuncts(e tsql.Expr, list []tsql.Expr) []tsql.Expr {
	if b, ok := e.(*tsql.Binary); ok && b.Op == "and" {
		return conjuncts(b.R, conjuncts(b.L, list))
	}
	if e != nil {
		list = append(list, e)
	}
	return list
}

// seek looks for conditions that fix the primary key, or the columns of a unique index, by what
// is known before the table is read. They are tested again for each row that is found.
func (x *execution) seek(t *table, name string, before *scope, conditions []tsql.Expr) seek {
	if fixed := x.fix(t, name, before, conditions, t.key); fixed != nil {
		return byKeys(fixed, func(key []any, visit func([]any) (bool, error)) (bool, error) {
			if row, ok := t.rows.get(key); ok {
				return visit(row)
			}
			return true, nil
		})
	}
	for i := range t.indexes {
		ix := &t.indexes[i]
		if !ix.unique || ix.where != nil {
			continue
		}
		if fixed := x.fix(t, name, before, conditions, ix.cols); fixed != nil {
			return byKeys(fixed, func(key []any, visit func([]any) (bool, error)) (bool, error) {
				at, ok := ix.entries.get(key)
				if !ok {
					return true, nil
				}
				if row, ok := t.rows.get(at); ok {
					return visit(row)
				}
				return true, nil
			})
		}
	}
	return nil
}

// fixed is for each column of a key the values that it may have.
type fixed [][]keyValue

type keyValue struct {
	c   *compiled
	typ sqlval.Type
}

func byKeys(f fixed, get func(key []any, visit func([]any) (bool, error)) (bool, error)) seek {
	return func(e *env, visit func([]any) (bool, error)) error {
		keys := [][]any{nil}
		for _, alternatives := range f {
			var values []any
			for _, a := range alternatives {
				v, err := castOf(a.c, e, a.typ)
				if err != nil {
					return err
				}
				if v != nil {
					values = append(values, v)
				}
			}
			slices.SortFunc(values, sqlval.Compare)
			values = slices.CompactFunc(values, func(a, b any) bool { return sqlval.Compare(a, b) == 0 })
			var longer [][]any
			for _, key := range keys {
				for _, v := range values {
					longer = append(longer, append(key[:len(key):len(key)], v))
				}
			}
			keys = longer
		}
		for _, key := range keys {
			if more, err := get(key, visit); !more || err != nil {
				return err
			}
		}
		return nil
	}
}

func (x *execution) fix(t *table, name string, before *scope, conditions []tsql.Expr, key []int) fixed {
	if len(key) == 0 {
		return nil
	}
	f := make(fixed, len(key))
	for i, k := range key {
		for _, cond := range conditions {
			if f[i] == nil {
				f[i] = x.fixColumn(t, name, before, cond, k)
			}
		}
		if f[i] == nil {
			return nil
		}
	}
	return f
}

func (x *execution) fixColumn(t *table, name string, before *scope, cond tsql.Expr, k int) []keyValue {
	isColumn := func(e tsql.Expr) bool {
		c, ok := e.(*tsql.Col)
		if !ok || !strings.EqualFold(c.Parts[len(c.Parts)-1], t.cols[k].Name) {
			return false
		}
		return len(c.Parts) == 1 || strings.EqualFold(c.Parts[len(c.Parts)-2], name)
	}
	typ := t.cols[k].Type
	values := func(exprs ...tsql.Expr) []keyValue {
		var list []keyValue
		for _, e := range exprs {
			switch e.(type) {
			case *tsql.Lit, *tsql.Var, *tsql.Col, *tsql.Cast:
			default:
				return nil // a subquery would be run for nothing but a guess
			}
			c, err := x.scalar(before, e)
			if err != nil || sqlval.Common(typ, c.typ).Kind != typ.Kind || typ.IsDecimal() || typ.IsTime() {
				return nil
			}
			if typ.IsString() {
				list = append(list, keyValue{c, sqlval.NVarCharType(sqlval.Max)})
				continue
			}
			list = append(list, keyValue{c, typ})
		}
		return list
	}
	switch n := cond.(type) {
	case *tsql.Binary:
		if n.Op == "=" && isColumn(n.L) {
			return values(n.R)
		}
		if n.Op == "=" && isColumn(n.R) {
			return values(n.L)
		}
	case *tsql.In:
		if !n.Not && n.Sub == nil && isColumn(n.X) {
			return values(n.List...)
		}
	}
	return nil
}
