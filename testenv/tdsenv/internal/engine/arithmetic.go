package engine

import (
	"math"
	"math/big"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

var errZero = sqlval.Errorf(8134, "Divide by zero error encountered.")

func arithmetic(op string, l, r *compiled) (*compiled, error) {
	typ := sqlval.Common(l.typ, r.typ)
	c := &compiled{typ: typ, nullable: true}
	switch {
	case typ.IsString() && op == "+":
		if typ.Size != sqlval.Max {
			c.typ.Size = min(l.typ.Size+r.typ.Size, 4000)
		}
		c.eval = func(e *env) (any, error) {
			a, b, err := both(e, l, r, sqlval.Type{Kind: typ.Kind, Size: sqlval.Max})
			if err != nil || a == nil || b == nil {
				return nil, err
			}
			return a.(string) + b.(string), nil
		}
	case typ.IsInt(), typ.Kind == sqlval.Bit:
		if typ.Kind == sqlval.Bit {
			typ = sqlval.IntType
			c.typ = typ
		}
		c.eval = func(e *env) (any, error) {
			a, b, err := both(e, l, r, typ)
			if err != nil || a == nil || b == nil {
				return nil, err
			}
			return intOp(op, a.(int64), b.(int64), typ)
		}
	case typ.IsDecimal():
		c.typ = decimalResult(op, l.typ.AsDecimal(), r.typ.AsDecimal())
		c.eval = func(e *env) (any, error) {
			a, b, err := pair(e, l, r)
			if err != nil || a == nil || b == nil {
				return nil, err
			}
			return decimalOp(op, *a, *b, c.typ)
		}
	case typ.IsFloat():
		c.eval = func(e *env) (any, error) {
			a, b, err := both(e, l, r, sqlval.FloatType)
			if err != nil || a == nil || b == nil {
				return nil, err
			}
			return floatOp(op, a.(float64), b.(float64))
		}
	default:
		return nil, sqlval.NotModelled("%s of %s and %s", op, l.typ, r.typ)
	}
	return c, nil
}

func pair(e *env, l, r *compiled) (*sqlval.Dec, *sqlval.Dec, error) {
	var out [2]*sqlval.Dec
	for i, c := range []*compiled{l, r} {
		v, err := c.eval(e)
		if v == nil || err != nil {
			return nil, nil, err
		}
		to := c.typ.AsDecimal()
		if !to.IsDecimal() {
			to = sqlval.Type{Kind: sqlval.Decimal, Prec: 38, Scale: 10}
		}
		if v, err = sqlval.Cast(v, to); err != nil {
			return nil, nil, err
		}
		d := v.(sqlval.Dec)
		out[i] = &d
	}
	return out[0], out[1], nil
}

func decimalResult(op string, a, b sqlval.Type) sqlval.Type {
	t := sqlval.Type{Kind: sqlval.Decimal, Prec: 38}
	switch op {
	case "*":
		t.Scale = min(a.Scale+b.Scale, 38)
	case "/":
		t.Scale = min(max(6, a.Scale+b.Prec+1), 20)
	default:
		t.Scale = max(a.Scale, b.Scale)
	}
	return t
}

func decimalOp(op string, a, b sqlval.Dec, typ sqlval.Type) (any, error) {
	scale := max(a.Scale, b.Scale)
	x, y := a.Rescale(scale).Int, b.Rescale(scale).Int
	n := new(big.Int)
	switch op {
	case "+":
		return sqlval.Cast(sqlval.Dec{Int: n.Add(x, y), Scale: scale}, typ)
	case "-":
		return sqlval.Cast(sqlval.Dec{Int: n.Sub(x, y), Scale: scale}, typ)
	case "*":
		return sqlval.Cast(sqlval.Dec{Int: n.Mul(a.Int, b.Int), Scale: a.Scale + b.Scale}, typ)
	case "/", "%":
		if y.Sign() == 0 {
			return nil, errZero
		}
		if op == "%" {
			return sqlval.Cast(sqlval.Dec{Int: n.Rem(x, y), Scale: scale}, typ)
		}
		up := sqlval.Dec{Int: x}.Rescale(typ.Scale).Int
		return sqlval.Dec{Int: n.Quo(up, y), Scale: typ.Scale}, nil
	}
	return nil, sqlval.NotModelled("%s of decimals", op)
}

func floatOp(op string, a, b float64) (any, error) {
	switch op {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "/":
		if b == 0 {
			return nil, errZero
		}
		return a / b, nil
	}
	return nil, sqlval.NotModelled("%s of floats", op)
}

func intOp(op string, a, b int64, typ sqlval.Type) (any, error) {
	var n int64
	switch op {
	case "+":
		n = a + b
		if (n > a) != (b > 0) && b != 0 {
			return nil, overflows(typ)
		}
	case "-":
		n = a - b
		if (n < a) != (b > 0) && b != 0 {
			return nil, overflows(typ)
		}
	case "*":
		n = a * b
		if a != 0 && (n/a != b || a == -1 && b == math.MinInt64) {
			return nil, overflows(typ)
		}
	case "/", "%":
		if b == 0 {
			return nil, errZero
		}
		if b == -1 {
			if op == "%" {
				return int64(0), nil
			}
			return intOp("-", 0, a, typ)
		}
		if op == "/" {
			n = a / b
		} else {
			n = a % b
		}
	case "&":
		n = a & b
	case "|":
		n = a | b
	case "^":
		n = a ^ b
	}
	v, err := sqlval.Cast(n, typ)
	if err != nil {
		return nil, overflows(typ)
	}
	return v, nil
}

func overflows(typ sqlval.Type) *sqlval.Error {
	return sqlval.Errorf(8115, "Arithmetic overflow error converting expression to data type %s.", typ.Name())
}

func (x *execution) like(sc *scope, n *tsql.Like) (*compiled, error) {
	var parts []*compiled
	for _, e := range []tsql.Expr{n.X, n.Pattern, n.Escape} {
		if e == nil {
			continue
		}
		c, err := x.scalar(sc, e)
		if err != nil {
			return nil, err
		}
		parts = append(parts, c)
	}
	text := sqlval.NVarCharType(sqlval.Max)
	return negated(predicate(func(e *env) (any, error) {
		var s [3]string
		for i, c := range parts {
			v, err := castOf(c, e, text)
			if v == nil || err != nil {
				return nil, err
			}
			s[i] = v.(string)
		}
		var escape rune
		for _, r := range s[2] {
			escape = r
		}
		return like([]rune(sqlval.Fold(s[0])), []rune(sqlval.Fold(s[1])), escape), nil
	}), n.Not), nil
}

// like matches %, _ and [a-z].
func like(s, p []rune, escape rune) bool {
	for len(p) > 0 {
		switch {
		case escape != 0 && p[0] == escape && len(p) > 1:
			if len(s) == 0 || s[0] != p[1] {
				return false
			}
			s, p = s[1:], p[2:]
			continue
		case p[0] == '%':
			for len(p) > 0 && p[0] == '%' {
				p = p[1:]
			}
			if len(p) == 0 {
				return true
			}
			for i := range s {
				if like(s[i:], p, escape) {
					return true
				}
			}
			return false
		case len(s) == 0:
			return false
		case p[0] == '[':
			ok, rest := class(s[0], p)
			if !ok {
				return false
			}
			s, p = s[1:], rest
			continue
		case p[0] != '_' && p[0] != s[0]:
			return false
		}
		s, p = s[1:], p[1:]
	}
	return len(s) == 0
}

func class(c rune, p []rune) (bool, []rune) {
	i, not, found := 1, false, false
	if i < len(p) && p[i] == '^' {
		not, i = true, 2
	}
	for ; i < len(p) && p[i] != ']'; i++ {
		if i+2 < len(p) && p[i+1] == '-' && p[i+2] != ']' {
			found = found || c >= p[i] && c <= p[i+2]
			i += 2
			continue
		}
		found = found || c == p[i]
	}
	return found != not, p[min(i+1, len(p)):]
}
