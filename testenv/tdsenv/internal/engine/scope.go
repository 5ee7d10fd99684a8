package engine

import (
	"context"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// execution is one statement at work: its session, the state that it reads, and its context.
type execution struct {
	ctx   context.Context
	s     *Session
	state *State
	steps int
}

// tick lets a cancel through every few hundred rows.
func (x *execution) tick() error {
	if x.steps++; x.steps%256 == 0 {
		return x.ctx.Err()
	}
	return nil
}

// scopeColumn is a column that an expression may name.
type scopeColumn struct {
	table    string // name or alias
	name     string
	typ      sqlval.Type
	nullable bool
}

// scope is what names mean in an expression.
type scope struct {
	cols  []scopeColumn
	outer *scope
	aggs  *[]*aggregate // where aggregates are allowed
}

// env is what expressions are evaluated against: one row of each scope.
type env struct {
	row   []any
	outer *env
	aggs  []any
}

// compiled is an expression with its type.
type compiled struct {
	typ      sqlval.Type
	nullable bool
	eval     func(*env) (any, error)
}

// find says at which depth and place a column is. Depth counts the scopes outwards.
func (sc *scope) find(parts []string) (depth, at int, err error) {
	name := parts[len(parts)-1]
	for s := sc; s != nil; s, depth = s.outer, depth+1 {
		at := -1
		for i, c := range s.cols {
			if !strings.EqualFold(c.name, name) || len(parts) > 1 && !strings.EqualFold(c.table, parts[len(parts)-2]) {
				continue
			}
			if at >= 0 {
				return 0, 0, sqlval.Errorf(209, "Ambiguous column name '%s'.", name)
			}
			at = i
		}
		if at >= 0 {
			return depth, at, nil
		}
	}
	if len(parts) > 1 {
		for s := sc; s != nil; s = s.outer {
			for _, c := range s.cols {
				if strings.EqualFold(c.table, parts[len(parts)-2]) {
					return 0, 0, sqlval.Errorf(207, "Invalid column name '%s'.", name)
				}
			}
		}
		return 0, 0, sqlval.Errorf(4104, "The multi-part identifier \"%s\" could not be bound.", strings.Join(parts, "."))
	}
	return 0, 0, sqlval.Errorf(207, "Invalid column name '%s'.", name)
}

func (x *execution) column(sc *scope, c *tsql.Col) (*compiled, error) {
	depth, at, err := sc.find(c.Parts)
	if err != nil {
		return nil, err
	}
	s := sc
	for range depth {
		s = s.outer
	}
	return &compiled{typ: s.cols[at].typ, nullable: s.cols[at].nullable, eval: func(e *env) (any, error) {
		for range depth {
			e = e.outer
		}
		return e.row[at], nil
	}}, nil
}

// value evaluates an expression outside of any table.
func (s *Session) value(ctx context.Context, e tsql.Expr, condition bool) (any, error) {
	state, err := s.read()
	if err != nil {
		return nil, err
	}
	x := &execution{ctx: ctx, s: s, state: state}
	compile := x.scalar
	if condition {
		compile = x.condition
	}
	c, err := compile(&scope{}, e)
	if err != nil {
		return nil, err
	}
	return c.eval(&env{})
}
