package engine

import (
	"crypto/rand"
	"math"
	"strings"
	"time"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// function is a scalar function: its arguments are brought to args, and NULL among them gives
// NULL unless nulls is set.
type function struct {
	args     []sqlval.Type
	optional int
	typ      sqlval.Type
	nulls    bool
	call     func(x *execution, a []any) (any, error)
}

var (
	text    = sqlval.NVarCharType(sqlval.Max)
	longInt = sqlval.BigIntType
	integer = sqlval.IntType
)

func textFunction(f func(string) string) function {
	return function{args: []sqlval.Type{text}, typ: text, call: func(_ *execution, a []any) (any, error) { return f(a[0].(string)), nil }}
}

func nowFunction(typ sqlval.Type, utc bool) function {
	return function{typ: typ, call: func(x *execution, _ []any) (any, error) {
		t := x.s.now
		if utc || typ.Kind != sqlval.DateTimeOffset {
			t = t.UTC()
		}
		return sqlval.Cast(t, typ)
	}}
}

var functions map[string]function

func init() {
	functions = map[string]function{
		"upper": textFunction(strings.ToUpper), "lower": textFunction(strings.ToLower),
		"ltrim": textFunction(func(s string) string { return strings.TrimLeft(s, " ") }),
		"rtrim": textFunction(func(s string) string { return strings.TrimRight(s, " ") }),
		"trim":  textFunction(strings.TrimSpace),
		"len": {args: []sqlval.Type{text}, typ: integer, call: func(_ *execution, a []any) (any, error) {
			return int64(len([]rune(strings.TrimRight(a[0].(string), " ")))), nil
		}},
		"substring": {args: []sqlval.Type{text, integer, integer}, typ: text, call: func(_ *execution, a []any) (any, error) {
			from := a[1].(int64) - 1
			return middle(a[0].(string), from, from+a[2].(int64)), nil
		}},
		"left": {args: []sqlval.Type{text, integer}, typ: text, call: func(_ *execution, a []any) (any, error) {
			return middle(a[0].(string), 0, a[1].(int64)), nil
		}},
		"right": {args: []sqlval.Type{text, integer}, typ: text, call: func(_ *execution, a []any) (any, error) {
			n := int64(len([]rune(a[0].(string))))
			return middle(a[0].(string), n-a[1].(int64), n), nil
		}},
		"replace": {args: []sqlval.Type{text, text, text}, typ: text, call: func(_ *execution, a []any) (any, error) {
			return strings.ReplaceAll(a[0].(string), a[1].(string), a[2].(string)), nil
		}},
		"charindex": {args: []sqlval.Type{text, text}, typ: integer, call: func(_ *execution, a []any) (any, error) {
			before, _, found := strings.Cut(strings.ToLower(a[1].(string)), strings.ToLower(a[0].(string)))
			if !found {
				return int64(0), nil
			}
			return int64(len([]rune(before)) + 1), nil
		}},
		"floor":   {args: []sqlval.Type{sqlval.FloatType}, typ: sqlval.FloatType, call: func(_ *execution, a []any) (any, error) { return math.Floor(a[0].(float64)), nil }},
		"ceiling": {args: []sqlval.Type{sqlval.FloatType}, typ: sqlval.FloatType, call: func(_ *execution, a []any) (any, error) { return math.Ceil(a[0].(float64)), nil }},
		"getdate": nowFunction(sqlval.Type{Kind: sqlval.DateTime}, true), "getutcdate": nowFunction(sqlval.Type{Kind: sqlval.DateTime}, true),
		"sysdatetime": nowFunction(sqlval.Type{Kind: sqlval.DateTime2, Scale: 7}, true), "sysutcdatetime": nowFunction(sqlval.Type{Kind: sqlval.DateTime2, Scale: 7}, true),
		"sysdatetimeoffset": nowFunction(sqlval.TimeType, false),
		"newid":             {typ: sqlval.GUIDType, call: func(*execution, []any) (any, error) { return NewUUID(), nil }},
		"dateadd":           {args: []sqlval.Type{text, integer, sqlval.TimeType}, typ: sqlval.TimeType, call: dateAdd},
		"datediff":          {args: []sqlval.Type{text, sqlval.TimeType, sqlval.TimeType}, typ: integer, call: dateDiff},
	}
	systemFunctions()
}

// middle is s[from:to] in characters, with bounds that may lie outside.
func middle(s string, from, to int64) string {
	r := []rune(s)
	n := int64(len(r))
	from, to = max(0, min(from, n)), max(0, min(to, n))
	if to < from {
		return ""
	}
	return string(r[from:to])
}

// NewUUID is a random uniqueidentifier.
func NewUUID() sqlval.UUID {
	var g sqlval.UUID
	_, _ = rand.Read(g[:]) // never fails
	g[7], g[8] = g[7]&0x0f|0x40, g[8]&0x3f|0x80
	return g
}

var units = map[string]time.Duration{
	"day": 24 * time.Hour, "dd": 24 * time.Hour, "d": 24 * time.Hour, "hour": time.Hour, "hh": time.Hour, "minute": time.Minute,
	"mi": time.Minute, "n": time.Minute, "second": time.Second, "ss": time.Second, "s": time.Second, "millisecond": time.Millisecond,
	"ms": time.Millisecond, "microsecond": time.Microsecond, "mcs": time.Microsecond,
}

func dateAdd(_ *execution, a []any) (any, error) {
	t, n := a[2].(time.Time), int(a[1].(int64))
	switch part := a[0].(string); part {
	case "year", "yy", "yyyy":
		return t.AddDate(n, 0, 0), nil
	case "month", "mm", "m":
		return t.AddDate(0, n, 0), nil
	default:
		unit, ok := units[part]
		if !ok {
			return nil, sqlval.NotModelled("DATEADD of %s", part)
		}
		return t.Add(time.Duration(n) * unit), nil
	}
}

func dateDiff(_ *execution, a []any) (any, error) {
	unit, ok := units[a[0].(string)]
	if !ok {
		return nil, sqlval.NotModelled("DATEDIFF of %s", a[0])
	}
	from, to := a[1].(time.Time).UTC(), a[2].(time.Time).UTC()
	return int64(to.Truncate(unit).Sub(from.Truncate(unit)) / unit), nil
}

func (x *execution) call(sc *scope, n *tsql.Call) (*compiled, error) {
	if isAggregate(n.Name) {
		return x.aggregate(sc, n)
	}
	var args []*compiled
	typ := sqlval.NullType
	for _, a := range n.Args {
		if n.Name == "iif" && len(args) == 0 {
			c, err := x.condition(sc, a)
			if err != nil {
				return nil, err
			}
			args = append(args, c)
			continue
		}
		c, err := x.scalar(sc, a)
		if err != nil {
			return nil, err
		}
		typ = sqlval.Common(typ, c.typ)
		args = append(args, c)
	}
	if c, err := special(n.Name, args, typ); c != nil || err != nil {
		return c, err
	}
	f, ok := functions[n.Name]
	if !ok || n.Star || n.Distinct {
		return nil, sqlval.Errorf(195, "'%s' is not a recognized built-in function name, or the double does not model it.", n.Name)
	}
	if len(args) > len(f.args) || len(args) < len(f.args)-f.optional {
		return nil, sqlval.Errorf(174, "The %s function requires %d argument(s).", n.Name, len(f.args))
	}
	return &compiled{typ: f.typ, nullable: true, eval: func(e *env) (any, error) {
		values := make([]any, len(f.args))
		for i, c := range args {
			v, err := castOf(c, e, f.args[i])
			if err != nil || v == nil && !f.nulls {
				return nil, err
			}
			values[i] = v
		}
		return f.call(x, values)
	}}, nil
}

// special are functions whose type is that of their arguments.
func special(name string, args []*compiled, typ sqlval.Type) (*compiled, error) {
	wants := map[string]int{"isnull": 2, "nullif": 2, "iif": 3, "abs": 1, "round": 2, "datalength": 1}
	if n, ok := wants[name]; ok && len(args) != n || (name == "coalesce" || name == "concat") && len(args) < 2 {
		return nil, sqlval.Errorf(174, "The %s function has the wrong number of arguments.", name)
	}
	switch name {
	case "coalesce", "isnull":
		if name == "isnull" {
			typ = args[0].typ
		}
		return &compiled{typ: typ, nullable: args[len(args)-1].nullable, eval: func(e *env) (any, error) {
			for _, a := range args {
				v, err := a.eval(e)
				if err != nil || v != nil {
					return castOf(constant(v, a.typ), e, typ)
				}
			}
			return nil, nil
		}}, nil
	case "nullif":
		equal := compare("=", args[0], args[1])
		return &compiled{typ: args[0].typ, nullable: true, eval: func(e *env) (any, error) {
			if v, err := equal.eval(e); err != nil || v == true {
				return nil, err
			}
			return args[0].eval(e)
		}}, nil
	case "iif":
		typ = sqlval.Common(args[1].typ, args[2].typ)
		return &compiled{typ: typ, nullable: true, eval: func(e *env) (any, error) {
			v, err := args[0].eval(e)
			if err != nil {
				return nil, err
			}
			if v == true {
				return castOf(args[1], e, typ)
			}
			return castOf(args[2], e, typ)
		}}, nil
	case "concat":
		return &compiled{typ: text, eval: func(e *env) (any, error) {
			var b strings.Builder
			for _, a := range args {
				v, err := castOf(a, e, sqlval.NVarCharType(sqlval.Max))
				if err != nil {
					return nil, err
				}
				if v != nil {
					b.WriteString(v.(string))
				}
			}
			return b.String(), nil
		}}, nil
	case "abs":
		a := args[0]
		negative, err := arithmetic("-", constant(int64(0), sqlval.Type{Kind: sqlval.TinyInt}), a)
		if err != nil {
			return nil, err
		}
		below := compare("<", a, constant(int64(0), sqlval.Type{Kind: sqlval.TinyInt}))
		return &compiled{typ: negative.typ, nullable: true, eval: func(e *env) (any, error) {
			v, err := below.eval(e)
			if err != nil {
				return nil, err
			}
			if v == true {
				return negative.eval(e)
			}
			return castOf(a, e, negative.typ)
		}}, nil
	case "round":
		a := args[0]
		return &compiled{typ: a.typ, nullable: true, eval: func(e *env) (any, error) {
			v, err := a.eval(e)
			digits, derr := castOf(args[1], e, integer)
			if v == nil || digits == nil || err != nil || derr != nil {
				return nil, firstError(err, derr)
			}
			n := int(digits.(int64))
			switch y := v.(type) {
			case float64:
				p := math.Pow(10, float64(n))
				return math.Round(y*p) / p, nil
			case sqlval.Dec:
				if n < 0 || n >= int(y.Scale) {
					return y, nil
				}
				return y.Rescale(uint8(n)).Rescale(y.Scale), nil
			}
			return v, nil
		}}, nil
	case "datalength":
		a := args[0]
		return &compiled{typ: integer, nullable: true, eval: func(e *env) (any, error) {
			v, err := a.eval(e)
			switch y := v.(type) {
			case nil:
				return nil, err
			case []byte:
				return int64(len(y)), nil
			case string:
				if a.typ.Kind == sqlval.NVarChar || a.typ.Kind == sqlval.NChar {
					return int64(2 * len([]rune(y))), nil
				}
				return int64(len(y)), nil
			}
			return nil, sqlval.NotModelled("DATALENGTH of %s", a.typ)
		}}, nil
	}
	return nil, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
