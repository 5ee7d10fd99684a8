package engine

import (
	"context"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// maxNest is the nesting of EXEC that a server allows.
const maxNest = 32

// exec runs the one procedure that is modelled: sp_executesql.
func (s *Session) exec(ctx context.Context, x *tsql.Exec, out Sink) error {
	if strings.TrimPrefix(x.Proc, "sys.") != "sp_executesql" {
		return NoProcedure(x.Proc)
	}
	var values []any
	for _, a := range x.Args {
		v, err := s.value(ctx, a.Value, false)
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	texts := make([]string, 2)
	for i := range min(2, len(values)) {
		texts[i], _ = values[i].(string)
	}
	declared, err := tsql.ParseParams(texts[1])
	if err != nil {
		return err
	}
	var params []Param
	for i, d := range declared {
		p := Param{Name: d.Name, Type: d.Type}
		found := false
		for j, a := range x.Args[min(2, len(x.Args)):] {
			if a.Name == d.Name || a.Name == "" && i == j {
				p.Value, found = values[j+2], true
			}
		}
		if !found {
			return sqlval.Errorf(8178, "The parameterized query expects the parameter '@%s', which was not supplied.", d.Name)
		}
		params = append(params, p)
	}
	if s.nest++; s.nest > maxNest {
		s.nest--
		return sqlval.Errorf(217, "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit %d).", maxNest)
	}
	defer func() { s.nest-- }()
	return s.Run(ctx, texts[0], params, out)
}

// NoProcedure is the error of a procedure that nobody knows.
func NoProcedure(name string) *sqlval.Error {
	return sqlval.Errorf(2812, "Could not find stored procedure '%s', or the double does not model it.", name)
}
