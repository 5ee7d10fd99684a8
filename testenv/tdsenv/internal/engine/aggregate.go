package engine

import (
	"slices"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// aggregate is one aggregate of a query, whatever the groups are.
type aggregate struct {
	name     string
	arg      *compiled // nil: count(*)
	distinct bool
	typ      sqlval.Type
}

func isAggregate(name string) bool {
	return slices.Contains([]string{"count", "count_big", "sum", "avg", "min", "max"}, name)
}

func (x *execution) aggregate(sc *scope, n *tsql.Call) (*compiled, error) {
	if sc.aggs == nil {
		return nil, sqlval.Errorf(147, "An aggregate may not appear in the WHERE clause, nor where there are no groups.")
	}
	a := &aggregate{name: n.Name, distinct: n.Distinct, typ: integer}
	if n.Name == "count_big" {
		a.typ = longInt
	}
	counts := n.Name == "count" || n.Name == "count_big"
	if !n.Star || !counts {
		if len(n.Args) != 1 {
			return nil, sqlval.Errorf(174, "The %s function requires 1 argument(s).", n.Name)
		}
		inner := *sc
		inner.aggs = nil
		c, err := x.scalar(&inner, n.Args[0])
		if err != nil {
			return nil, err
		}
		a.arg = c
		if !counts {
			if a.typ, err = aggregateType(n.Name, c.typ); err != nil {
				return nil, err
			}
		}
	}
	at := len(*sc.aggs)
	*sc.aggs = append(*sc.aggs, a)
	return &compiled{typ: a.typ, nullable: !counts, eval: func(e *env) (any, error) { return e.aggs[at], nil }}, nil
}

func aggregateType(name string, t sqlval.Type) (sqlval.Type, error) {
	if name == "min" || name == "max" {
		return t, nil
	}
	switch {
	case t.IsInt() && t.Kind != sqlval.BigInt:
		return integer, nil
	case t.Kind == sqlval.BigInt, t.IsFloat():
		return t, nil
	case t.IsDecimal():
		t = t.AsDecimal()
		t.Prec = 38
		if name == "avg" {
			t.Scale = max(t.Scale, 6)
		}
		return t, nil
	}
	return t, sqlval.Errorf(8117, "Operand data type %s is invalid for %s operator.", t.Name(), name)
}

// over computes the aggregate of some rows.
func (a *aggregate) over(rows []*env) (any, error) {
	if a.arg == nil {
		return int64(len(rows)), nil
	}
	var values []any
	for _, e := range rows {
		v, err := a.arg.eval(e)
		if err != nil {
			return nil, err
		}
		if v != nil {
			values = append(values, v)
		}
	}
	if a.distinct {
		slices.SortFunc(values, sqlval.Compare)
		values = slices.CompactFunc(values, func(x, y any) bool { return sqlval.Compare(x, y) == 0 })
	}
	if a.name == "count" || a.name == "count_big" {
		return int64(len(values)), nil
	}
	if len(values) == 0 {
		return nil, nil
	}
	switch a.name {
	case "min":
		return slices.MinFunc(values, sqlval.Compare), nil
	case "max":
		return slices.MaxFunc(values, sqlval.Compare), nil
	}
	sum := constant(values[0], a.arg.typ)
	for _, v := range values[1:] {
		c, err := arithmetic("+", constant(sum.mustValue(), a.typ), constant(v, a.arg.typ))
		if err != nil {
			return nil, err
		}
		total, err := c.eval(nil)
		if err != nil {
			return nil, err
		}
		sum = constant(total, a.typ)
	}
	if a.name == "avg" {
		c, err := arithmetic("/", constant(sum.mustValue(), a.typ), constant(int64(len(values)), integer))
		if err != nil {
			return nil, err
		}
		return castOf(c, nil, a.typ)
	}
	return castOf(sum, nil, a.typ)
}

// mustValue is the value of a constant.
func (c *compiled) mustValue() any {
	v, _ := c.eval(nil)
	return v
}
