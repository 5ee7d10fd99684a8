package readonlyguard

import (
	"database/sql/driver"
	"reflect"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// plain reports whether a query that gorm builds is a read by its parts alone: no text of the application's in it
// could call a function, take a lock or start another statement. It is a list of what is harmless; whatever is not
// on it is built and looked at as text, which costs about as much again as gorm's own building.
func plain(stmt *gorm.Statement) bool {
	if stmt.TableExpr != nil && !plainExpr(*stmt.TableExpr) {
		return false
	}
	for _, name := range stmt.Selects {
		if !plainText(name) {
			return false
		}
	}
	for i := range stmt.Joins {
		join := &stmt.Joins[i]
		if join.Expression != nil || join.On != nil || !plainText(join.Name) || !plainValues(join.Conds) {
			return false
		}
	}
	for _, c := range stmt.Clauses {
		if c.Builder != nil || c.BeforeExpression != nil || c.AfterNameExpression != nil || c.AfterExpression != nil ||
			!plainClause(c.Expression) {
			return false
		}
	}
	if stmt.Schema != nil {
		for _, c := range stmt.Schema.QueryClauses {
			if _, ok := c.(gorm.SoftDeleteQueryClause); !ok {
				return false
			}
		}
	}
	return true
}

func plainClause(e clause.Expression) bool {
	switch e := e.(type) {
	case nil, clause.Limit:
		return true
	case clause.Where:
		return plainExprs(e.Exprs)
	case clause.Select:
		return (e.Expression == nil || plainExpr(e.Expression)) && plainColumns(e.Columns)
	case clause.From:
		for _, table := range e.Tables {
			if table.Raw {
				return false
			}
		}
		return len(e.Joins) == 0
	case clause.OrderBy:
		for _, column := range e.Columns {
			if !plainColumn(column.Column) {
				return false
			}
		}
		return e.Expression == nil
	case clause.GroupBy:
		return plainColumns(e.Columns) && plainExprs(e.Having)
	}
	return plainExpr(e)
}

func plainExprs(exprs []clause.Expression) bool {
	for _, e := range exprs {
		if !plainExpr(e) {
			return false
		}
	}
	return true
}

func plainExpr(e clause.Expression) bool {
	switch e := e.(type) {
	case clause.Expr:
		return (plainText(e.SQL) || e.SQL == countAll) && plainValues(e.Vars)
	case clause.Eq:
		return plainColumn(e.Column) && plainValue(e.Value)
	case clause.Neq:
		return plainColumn(e.Column) && plainValue(e.Value)
	case clause.Gt:
		return plainColumn(e.Column) && plainValue(e.Value)
	case clause.Gte:
		return plainColumn(e.Column) && plainValue(e.Value)
	case clause.Lt:
		return plainColumn(e.Column) && plainValue(e.Value)
	case clause.Lte:
		return plainColumn(e.Column) && plainValue(e.Value)
	case clause.Like:
		return plainColumn(e.Column) && plainValue(e.Value)
	case clause.IN:
		return plainColumn(e.Column) && plainValues(e.Values)
	case clause.AndConditions:
		return plainExprs(e.Exprs)
	case clause.OrConditions:
		return plainExprs(e.Exprs)
	case clause.NotConditions:
		return plainExprs(e.Exprs)
	}
	return false
}

// countAll is the expression of gorm's own Count.
const countAll = "count(*)"

func plainColumns(columns []clause.Column) bool {
	for _, c := range columns {
		if !plainColumn(c) {
			return false
		}
	}
	return true
}

// plainColumn: gorm quotes the names of columns, unless they are marked as raw text.
func plainColumn(column any) bool {
	switch c := column.(type) {
	case clause.Column:
		return !c.Raw || plainText(c.Name)
	case string:
		return plainText(c)
	case []clause.Column:
		return plainColumns(c)
	}
	return false
}

func plainValues(values []any) bool {
	for _, v := range values {
		if !plainValue(v) {
			return false
		}
	}
	return true
}

// plainValue reports whether gorm sends v as a parameter, and does not write it into the text as an expression, a
// column or a subquery.
func plainValue(v any) bool {
	switch v := v.(type) {
	case nil, time.Time, *time.Time:
		return true
	case clause.Expression, gorm.Valuer, clause.Column, clause.Table, *gorm.DB:
		return false
	case []any:
		return plainValues(v)
	case driver.Valuer:
		return true
	}
	return plainType(reflect.TypeOf(v))
}

func plainType(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return plainType(t.Elem())
	case reflect.Interface, reflect.Struct, reflect.Map, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return false
	}
	return !t.Implements(expressionType) && !t.Implements(valuerType)
}

var (
	expressionType = reflect.TypeFor[clause.Expression]()
	valuerType     = reflect.TypeFor[gorm.Valuer]()
)

// plainText reports whether a piece of SQL can neither call a function, nor lock, nor store, nor end its statement.
// Words are found as mere letters: "information" has "for" in it and is looked at more closely, nothing worse.
func plainText(s string) bool {
	if strings.ContainsAny(s, "();") {
		return false
	}
	lower := strings.ToLower(s)
	return !strings.Contains(lower, "for") && !strings.Contains(lower, "into")
}
