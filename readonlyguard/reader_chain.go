package readonlyguard

import (
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Model sets the model whose table is read.
func (r Reader) Model(value any) Reader { return Reader{r.db.Model(value)} }

// Table sets the table, or a subquery: Table("(?) AS t", reader).
func (r Reader) Table(name string, args ...any) Reader {
	return Reader{r.db.Table(name, adapt(args)...)}
}

// Clauses adds clauses. A locking clause is refused when the statement runs.
func (r Reader) Clauses(conds ...clause.Expression) Reader { return Reader{r.db.Clauses(conds...)} }

// Distinct reads distinct values of the columns.
func (r Reader) Distinct(args ...any) Reader { return Reader{r.db.Distinct(args...)} }

// Select sets the columns.
func (r Reader) Select(query any, args ...any) Reader {
	return Reader{r.db.Select(query, adapt(args)...)}
}

// Omit leaves columns out.
func (r Reader) Omit(columns ...string) Reader { return Reader{r.db.Omit(columns...)} }

// MapColumns renames columns of the result.
func (r Reader) MapColumns(m map[string]string) Reader { return Reader{r.db.MapColumns(m)} }

// Where adds a condition; a Reader among the arguments is a subquery, as the query it is a group of conditions.
func (r Reader) Where(query any, args ...any) Reader {
	return Reader{r.db.Where(condition(query), adapt(args)...)}
}

// Not adds a negated condition.
func (r Reader) Not(query any, args ...any) Reader {
	return Reader{r.db.Not(condition(query), adapt(args)...)}
}

// Or adds an alternative.
func (r Reader) Or(query any, args ...any) Reader {
	return Reader{r.db.Or(condition(query), adapt(args)...)}
}

// Joins joins an association by its name, or a table by SQL.
func (r Reader) Joins(query string, args ...any) Reader {
	return Reader{r.db.Joins(query, adapt(args)...)}
}

// InnerJoins is Joins with an inner join.
func (r Reader) InnerJoins(query string, args ...any) Reader {
	return Reader{r.db.InnerJoins(query, adapt(args)...)}
}

// Preload reads an association too. Its conditions may end with a func(readonlyguard.Reader) readonlyguard.Reader.
func (r Reader) Preload(query string, args ...any) Reader {
	return Reader{r.db.Preload(query, adapt(args)...)}
}

// Group groups by a column.
func (r Reader) Group(name string) Reader { return Reader{r.db.Group(name)} }

// Having adds a condition on groups.
func (r Reader) Having(query any, args ...any) Reader {
	return Reader{r.db.Having(condition(query), adapt(args)...)}
}

// Order sorts.
func (r Reader) Order(value any) Reader { return Reader{r.db.Order(value)} }

// Limit bounds the number of rows.
func (r Reader) Limit(limit int) Reader { return Reader{r.db.Limit(limit)} }

// Offset leaves out the first rows.
func (r Reader) Offset(offset int) Reader { return Reader{r.db.Offset(offset)} }

// Unscoped also reads rows that are marked as deleted.
func (r Reader) Unscoped() Reader { return Reader{r.db.Unscoped()} }

// Attrs gives values to [Reader.FirstOrInit] for a record that was not found.
func (r Reader) Attrs(attrs ...any) Reader { return Reader{r.db.Attrs(attrs...)} }

// Assign gives values to [Reader.FirstOrInit] whether the record was found or not.
func (r Reader) Assign(attrs ...any) Reader { return Reader{r.db.Assign(attrs...)} }

// Scopes applies scopes when the statement runs.
func (r Reader) Scopes(scopes ...func(Reader) Reader) Reader {
	adapted := make([]func(*gorm.DB) *gorm.DB, len(scopes))
	for i, scope := range scopes {
		adapted[i] = func(db *gorm.DB) *gorm.DB { return scope(Reader{db}).db }
	}
	return Reader{r.db.Scopes(adapted...)}
}

// Raw sets a text of SQL to read with Scan, Row, Rows, Find and the like. One that is no read is refused then.
func (r Reader) Raw(sql string, values ...any) Reader {
	return Reader{r.db.Raw(sql, adapt(values)...)}
}

// condition turns a group of conditions into what gorm takes.
func condition(query any) any {
	if group, ok := query.(Reader); ok {
		return group.db
	}
	return query
}
