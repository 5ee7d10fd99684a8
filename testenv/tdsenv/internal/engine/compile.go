package engine

import (
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// scalar compiles an expression that has a value.
func (x *execution) scalar(sc *scope, e tsql.Expr) (*compiled, error) {
	c, err := x.compile(sc, e)
	if err == nil && c.typ.Kind == sqlval.Predicate {
		return nil, sqlval.Errorf(102, "Incorrect syntax: a condition stands where a value is expected.")
	}
	return c, err
}

// condition compiles an expression that is true, false or unknown (nil).
func (x *execution) condition(sc *scope, e tsql.Expr) (*compiled, error) {
	c, err := x.compile(sc, e)
	if err == nil && c.typ.Kind != sqlval.Predicate {
		return nil, sqlval.Errorf(4145, "An expression of non-boolean type specified in a context where a condition is expected.")
	}
	return c, err
}

func constant(v any, typ sqlval.Type) *compiled {
	return &compiled{typ: typ, nullable: v == nil, eval: func(*env) (any, error) { return v, nil }}
}

func (x *execution) compile(sc *scope, e tsql.Expr) (*compiled, error) {
	switch n := e.(type) {
	case *tsql.Lit:
		return constant(n.Value, n.Type), nil
	case *tsql.Var:
		v := x.s.vars[n.Name]
		if v == nil {
			return nil, undeclared(n.Name)
		}
		return &compiled{typ: v.typ, nullable: true, eval: func(*env) (any, error) { return v.value, nil }}, nil
	case *tsql.Global:
		return x.global(n.Name)
	case *tsql.Col:
		return x.column(sc, n)
	case *tsql.Unary:
		return x.unary(sc, n)
	case *tsql.Binary:
		return x.binary(sc, n)
	case *tsql.IsNull:
		c, err := x.scalar(sc, n.X)
		if err != nil {
			return nil, err
		}
		return predicate(func(e *env) (any, error) {
			v, err := c.eval(e)
			return (v == nil) != n.Not, err
		}), nil
	case *tsql.In:
		return x.in(sc, n)
	case *tsql.Between:
		c, err := x.compile(sc, &tsql.Binary{Op: "and",
			L: &tsql.Binary{Op: ">=", L: n.X, R: n.Lo}, R: &tsql.Binary{Op: "<=", L: n.X, R: n.Hi}})
		return negated(c, n.Not), err
	case *tsql.Like:
		return x.like(sc, n)
	case *tsql.Exists:
		q, err := x.query(sc, n.Sub)
		if err != nil {
			return nil, err
		}
		return predicate(func(e *env) (any, error) {
			rows, err := q.run(e)
			return len(rows) > 0, err
		}), nil
	case *tsql.Sub:
		return x.subquery(sc, n.Sub)
	case *tsql.Case:
		return x.caseExpr(sc, n)
	case *tsql.Cast:
		return x.cast(sc, n)
	case *tsql.Call:
		return x.call(sc, n)
	case *tsql.Star:
		return nil, sqlval.Errorf(102, "Incorrect syntax near '*'.")
	}
	return nil, sqlval.NotModelled("this expression")
}

func predicate(eval func(*env) (any, error)) *compiled {
	return &compiled{typ: sqlval.PredType, eval: eval}
}

func negated(c *compiled, not bool) *compiled {
	if !not || c == nil {
		return c
	}
	return predicate(func(e *env) (any, error) {
		v, err := c.eval(e)
		if b, ok := v.(bool); ok {
			return !b, err
		}
		return nil, err
	})
}

func (x *execution) unary(sc *scope, n *tsql.Unary) (*compiled, error) {
	if n.Op == "not" {
		c, err := x.condition(sc, n.X)
		return negated(c, true), err
	}
	c, err := x.scalar(sc, n.X)
	if err != nil {
		return nil, err
	}
	switch n.Op {
	case "+":
		return c, nil
	case "-":
		zero := constant(int64(0), sqlval.Type{Kind: sqlval.TinyInt})
		if c.typ.IsTime() || c.typ.IsString() {
			return nil, sqlval.NotModelled("a minus before %s", c.typ)
		}
		if c.typ.Kind == sqlval.TinyInt {
			c.typ.Kind = sqlval.SmallInt
		}
		return arithmetic("-", zero, c)
	}
	if !c.typ.IsInt() {
		return nil, sqlval.NotModelled("~ of %s", c.typ)
	}
	return &compiled{typ: c.typ, nullable: c.nullable, eval: func(e *env) (any, error) {
		v, err := c.eval(e)
		if v == nil || err != nil {
			return nil, err
		}
		return ^v.(int64), nil
	}}, nil
}

func (x *execution) binary(sc *scope, n *tsql.Binary) (*compiled, error) {
	if n.Op == "and" || n.Op == "or" {
		l, err := x.condition(sc, n.L)
		if err != nil {
			return nil, err
		}
		r, err := x.condition(sc, n.R)
		if err != nil {
			return nil, err
		}
		decides := n.Op == "or" // true OR .. is true, false AND .. is false
		return predicate(func(e *env) (any, error) {
			a, err := l.eval(e)
			if err != nil || a == decides {
				return a, err
			}
			b, err := r.eval(e)
			if err != nil || b == decides {
				return b, err
			}
			if a == nil || b == nil {
				return nil, nil
			}
			return !decides, nil
		}), nil
	}
	l, err := x.scalar(sc, n.L)
	if err != nil {
		return nil, err
	}
	r, err := x.scalar(sc, n.R)
	if err != nil {
		return nil, err
	}
	switch n.Op {
	case "=", "<>", "<", "<=", ">", ">=":
		return compare(n.Op, l, r), nil
	}
	return arithmetic(n.Op, l, r)
}

func compare(op string, l, r *compiled) *compiled {
	common := sqlval.Common(l.typ, r.typ)
	if common.IsString() {
		common.Size = sqlval.Max
	}
	return predicate(func(e *env) (any, error) {
		a, b, err := both(e, l, r, common)
		if err != nil || a == nil || b == nil {
			return nil, err
		}
		return holds(op, sqlval.Compare(a, b)), nil
	})
}

func holds(op string, c int) bool {
	switch op {
	case "=":
		return c == 0
	case "<>":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func both(e *env, l, r *compiled, typ sqlval.Type) (any, any, error) {
	a, err := l.eval(e)
	if err != nil || a == nil {
		return nil, nil, err
	}
	b, err := r.eval(e)
	if err != nil || b == nil {
		return nil, nil, err
	}
	if l.typ != typ {
		if a, err = sqlval.Cast(a, typ); err != nil {
			return nil, nil, err
		}
	}
	if r.typ != typ {
		b, err = sqlval.Cast(b, typ)
	}
	return a, b, err
}

func (x *execution) in(sc *scope, n *tsql.In) (*compiled, error) {
	l, err := x.scalar(sc, n.X)
	if err != nil {
		return nil, err
	}
	if n.Sub != nil {
		q, err := x.query(sc, n.Sub)
		if err != nil {
			return nil, err
		}
		if len(q.cols) != 1 {
			return nil, sqlval.Errorf(116, "Only one expression can be specified in the select list when the subquery is not introduced with EXISTS.")
		}
		item := &compiled{typ: q.cols[0].Type, nullable: true, eval: func(e *env) (any, error) { return e.row[0], nil }}
		outer := &compiled{typ: l.typ, eval: func(e *env) (any, error) { return l.eval(e.outer) }}
		equal := compare("=", outer, item)
		return negated(predicate(func(e *env) (any, error) {
			rows, err := q.run(e)
			if err != nil {
				return nil, err
			}
			var found any = false
			for _, row := range rows {
				v, err := equal.eval(&env{row: row, outer: e})
				if err != nil || v == true {
					return v, err
				}
				if v == nil {
					found = nil
				}
			}
			return found, nil
		}), n.Not), nil
	}
	var arms []*compiled
	for _, item := range n.List {
		r, err := x.scalar(sc, item)
		if err != nil {
			return nil, err
		}
		arms = append(arms, compare("=", l, r))
	}
	return negated(predicate(func(e *env) (any, error) {
		var found any = false
		for _, arm := range arms {
			v, err := arm.eval(e)
			if err != nil || v == true {
				return v, err
			}
			if v == nil {
				found = nil
			}
		}
		return found, nil
	}), n.Not), nil
}

func (x *execution) subquery(sc *scope, sel *tsql.Select) (*compiled, error) {
	q, err := x.query(sc, sel)
	if err != nil {
		return nil, err
	}
	if len(q.cols) != 1 {
		return nil, sqlval.Errorf(116, "Only one expression can be specified in the select list when the subquery is not introduced with EXISTS.")
	}
	return &compiled{typ: q.cols[0].Type, nullable: true, eval: func(e *env) (any, error) {
		rows, err := q.run(e)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		if len(rows) > 1 {
			return nil, sqlval.Errorf(512, "Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, <= , >, >= or when the subquery is used as an expression.")
		}
		return rows[0][0], nil
	}}, nil
}

func (x *execution) caseExpr(sc *scope, n *tsql.Case) (*compiled, error) {
	type arm struct{ cond, then *compiled }
	var arms []arm
	typ := sqlval.NullType
	for _, w := range n.Whens {
		test := w.If
		if n.Operand != nil {
			test = &tsql.Binary{Op: "=", L: n.Operand, R: w.If}
		}
		cond, err := x.condition(sc, test)
		if err != nil {
			return nil, err
		}
		then, err := x.scalar(sc, w.Then)
		if err != nil {
			return nil, err
		}
		typ = sqlval.Common(typ, then.typ)
		arms = append(arms, arm{cond, then})
	}
	otherwise := constant(nil, sqlval.NullType)
	if n.Else != nil {
		c, err := x.scalar(sc, n.Else)
		if err != nil {
			return nil, err
		}
		otherwise = c
		typ = sqlval.Common(typ, c.typ)
	}
	return &compiled{typ: typ, nullable: true, eval: func(e *env) (any, error) {
		for _, a := range arms {
			v, err := a.cond.eval(e)
			if err != nil {
				return nil, err
			}
			if v == true {
				return castOf(a.then, e, typ)
			}
		}
		return castOf(otherwise, e, typ)
	}}, nil
}

func castOf(c *compiled, e *env, typ sqlval.Type) (any, error) {
	v, err := c.eval(e)
	if err != nil {
		return nil, err
	}
	return sqlval.Cast(v, typ)
}

func (x *execution) cast(sc *scope, n *tsql.Cast) (*compiled, error) {
	c, err := x.scalar(sc, n.X)
	if err != nil {
		return nil, err
	}
	return &compiled{typ: n.To, nullable: c.nullable || n.Try, eval: func(e *env) (any, error) {
		v, err := c.eval(e)
		if err != nil {
			return nil, err
		}
		v, err = sqlval.Cast(v, n.To)
		if err != nil && n.Try {
			return nil, nil // that is what TRY means
		}
		return v, err
	}}, nil
}
