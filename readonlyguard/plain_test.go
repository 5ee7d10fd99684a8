package readonlyguard

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

type expression struct{}

func (expression) Build(clause.Builder) {}

type valuer struct{}

func (valuer) GormValue(context.Context, *gorm.DB) clause.Expr { return clause.Expr{} }

type id string

// What may pass without a look at its text is a list of what is harmless.
func TestPlainExpressions(t *testing.T) {
	now := time.Now()
	number := 7
	for name, e := range map[string]clause.Expression{
		"condition":  clause.Expr{SQL: "name = ? AND id <> ?", Vars: []any{"x", 1}},
		"values":     clause.Expr{SQL: "? ?", Vars: []any{nil, now, &now, &number, []byte("b"), []int{1}, [2]string{}, id("x"), sql.NullInt64{}, []any{1, "a"}}},
		"count":      clause.Expr{SQL: "count(*)"},
		"Eq":         clause.Eq{Column: "name", Value: "nextval('s')"},
		"Neq":        clause.Neq{Column: clause.Column{Name: "odd(name)"}, Value: 1},
		"Gt Gte":     clause.And(clause.Gt{Column: "a", Value: 1}, clause.Gte{Column: clause.PrimaryColumn, Value: 1}),
		"Lt Lte":     clause.Or(clause.Lt{Column: "a", Value: 1}, clause.Lte{Column: "a", Value: 1}),
		"Not Like":   clause.Not(clause.Like{Column: "a", Value: "x"}),
		"IN":         clause.IN{Column: []clause.Column{{Name: "a"}, {Name: "b"}}, Values: []any{[]any{1, 2}}},
		"raw column": clause.Eq{Column: clause.Column{Name: "a.b", Raw: true}, Value: 1},
	} {
		assert.True(t, plainExpr(e), name)
	}
	sub := &gorm.DB{}
	for name, e := range map[string]clause.Expression{
		"call":             clause.Expr{SQL: "id = tidy(?)", Vars: []any{1}},
		"second statement": clause.Expr{SQL: "id = 1; DELETE"},
		"lock":             clause.Expr{SQL: "id = 1 For Update"},
		"into":             clause.Expr{SQL: "id INTO t"},
		"subquery":         clause.Expr{SQL: "id = ?", Vars: []any{sub}},
		"expression":       clause.Expr{SQL: "id = ?", Vars: []any{clause.Expr{SQL: "tidy(1)"}}},
		"own expression":   clause.Expr{SQL: "id = ?", Vars: []any{expression{}}},
		"own expressions":  clause.Expr{SQL: "id IN ?", Vars: []any{[]expression{{}}}},
		"valuer":           clause.Expr{SQL: "id = ?", Vars: []any{valuer{}}},
		"valuers":          clause.Expr{SQL: "id = ?", Vars: []any{[]*valuer{}}},
		"in a list":        clause.Expr{SQL: "id IN ?", Vars: []any{[]any{1, sub}}},
		"struct":           clause.Expr{SQL: "id = ?", Vars: []any{struct{}{}}},
		"map":              clause.Expr{SQL: "id = ?", Vars: []any{map[string]any{}}},
		"interfaces":       clause.Expr{SQL: "id = ?", Vars: []any{[]error{}}},
		"named":            clause.NamedExpr{SQL: "id = @id"},
		"column value":     clause.Eq{Column: "a", Value: clause.Column{Name: "b"}},
		"Eq value":         clause.Eq{Column: "a", Value: sub},
		"Eq column":        clause.Eq{Column: "tidy(a)", Value: 1},
		"raw column":       clause.Eq{Column: clause.Column{Name: "tidy(a)", Raw: true}, Value: 1},
		"raw columns":      clause.IN{Column: []clause.Column{{Name: "tidy(a)", Raw: true}}},
		"odd column":       clause.Eq{Column: 1, Value: 1},
		"Neq":              clause.Neq{Column: "a", Value: sub},
		"Gt":               clause.Gt{Column: "a", Value: sub},
		"Gte":              clause.Gte{Column: "a", Value: sub},
		"Lt":               clause.Lt{Column: "a", Value: sub},
		"Lte":              clause.Lte{Column: "a", Value: sub},
		"Like":             clause.Like{Column: "a", Value: sub},
		"IN":               clause.IN{Column: "a", Values: []any{1, sub}},
		"And":              clause.And(clause.Expr{SQL: "a"}, clause.Expr{SQL: "f()"}),
		"Or":               clause.Or(clause.Expr{SQL: "a"}, clause.Expr{SQL: "f()"}),
		"Not":              clause.Not(clause.Expr{SQL: "f()"}),
		"unknown":          expression{},
	} {
		assert.False(t, plainExpr(e), name)
	}
}

func TestPlainStatements(t *testing.T) {
	one := 1
	clauses := func(e clause.Expression) map[string]clause.Clause {
		return map[string]clause.Clause{"X": {Expression: e}}
	}
	call := clause.Expr{SQL: "tidy(1)"}
	rawCall := clause.Column{Name: "tidy(1)", Raw: true}
	for name, stmt := range map[string]*gorm.Statement{
		"empty":   {},
		"selects": {Selects: []string{"id", "authors.name AS n"}},
		"table":   {TableExpr: &clause.Expr{SQL: `"app"."authors"`}},
		"limit":   {Clauses: clauses(clause.Limit{Limit: &one})},
		"where":   {Clauses: clauses(clause.Where{Exprs: []clause.Expression{clause.Eq{Column: "a", Value: 1}}})},
		"select":  {Clauses: clauses(clause.Select{Columns: []clause.Column{{Name: "a"}}})},
		"count":   {Clauses: clauses(clause.Select{Expression: clause.Expr{SQL: "count(*)"}})},
		"order":   {Clauses: clauses(clause.OrderBy{Columns: []clause.OrderByColumn{{Column: clause.Column{Name: "a DESC", Raw: true}}}})},
		"group":   {Clauses: clauses(clause.GroupBy{Columns: []clause.Column{{Name: "a"}}})},
		"from":    {Clauses: clauses(clause.From{Tables: []clause.Table{{Name: "a"}}})},
		"marker":  {Clauses: map[string]clause.Clause{"soft_delete_enabled": {}}},
	} {
		assert.True(t, plain(stmt), name)
	}
	for name, stmt := range map[string]*gorm.Statement{
		"select":        {Selects: []string{"id", "tidy(id)"}},
		"table":         {TableExpr: &clause.Expr{SQL: "tidy(1) t"}},
		"where":         {Clauses: clauses(clause.Where{Exprs: []clause.Expression{call}})},
		"select clause": {Clauses: clauses(clause.Select{Expression: call})},
		"columns":       {Clauses: clauses(clause.Select{Columns: []clause.Column{rawCall}})},
		"order":         {Clauses: clauses(clause.OrderBy{Columns: []clause.OrderByColumn{{Column: rawCall}}})},
		"order by":      {Clauses: clauses(clause.OrderBy{Expression: call})},
		"group":         {Clauses: clauses(clause.GroupBy{Columns: []clause.Column{rawCall}})},
		"having":        {Clauses: clauses(clause.GroupBy{Having: []clause.Expression{call}})},
		"from":          {Clauses: clauses(clause.From{Tables: []clause.Table{{Name: "tidy(1)", Raw: true}}})},
		"joins":         {Clauses: clauses(clause.From{Joins: []clause.Join{{Expression: call}}})},
		"unknown":       {Clauses: clauses(expression{})},
		"before":        {Clauses: map[string]clause.Clause{"X": {BeforeExpression: call}}},
		"after name":    {Clauses: map[string]clause.Clause{"X": {AfterNameExpression: call}}},
		"after":         {Clauses: map[string]clause.Clause{"X": {AfterExpression: call}}},
		"builder":       {Clauses: map[string]clause.Clause{"X": {Builder: func(clause.Clause, clause.Builder) {}}}},
	} {
		assert.False(t, plain(stmt), name)
	}
}
