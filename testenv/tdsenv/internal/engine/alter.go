package engine

import (
	"slices"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

func (x *execution) alterTable(e *edit, n *tsql.AlterTable) error {
	name, err := x.s.tableName(n.Table)
	if err != nil {
		return err
	}
	if e.state.tables[name] == nil {
		return sqlval.Errorf(4902, "Cannot find the object \"%s\" because it does not exist or you do not have permissions.", name)
	}
	t, err := e.table(name)
	if err != nil {
		return err
	}
	switch n.Action {
	case "add":
		return x.addColumn(e, t, n.Col)
	case "alter":
		return x.alterColumn(t, n.Col)
	case "drop column":
		return dropColumn(t, n.Names[0])
	case "add constraint":
		return x.addConstraint(e, t, *n.Constr)
	case "drop constraint":
		return dropConstraint(t, n.Names[0])
	}
	return sqlval.NotModelled("ALTER TABLE %s", n.Action)
}

func (x *execution) addColumn(e *edit, t *table, c tsql.Column) error {
	if t.column(c.Name) >= 0 {
		return sqlval.Errorf(2705, "Column names in each table must be unique. Column name '%s' in table '%s' is specified more than once.", c.Name, t.name)
	}
	if c.Identity || c.Primary {
		return sqlval.NotModelled("an identity or a primary key that is added later")
	}
	if c.NotNull && c.Default == nil && t.rows.root != nil {
		return sqlval.Errorf(4901, "ALTER TABLE only allows columns to be added that can contain nulls, or have a DEFAULT definition specified: column '%s' of table '%s'.", c.Name, t.name)
	}
	id := 1
	for _, other := range t.cols {
		id = max(id, other.id+1)
	}
	col := tableColumn{c, id}
	var value any
	if c.NotNull && c.Default != nil {
		v, err := x.defaultValue(&col)
		if err != nil {
			return err
		}
		value = v
	}
	t.cols = append(t.cols, col)
	if err := t.rewrite(func(row []any) ([]any, error) { return append(row[:len(row):len(row)], value), nil }); err != nil {
		return err
	}
	for _, extra := range []*tsql.Constraint{c.Check, c.References} {
		if extra != nil {
			if err := x.addConstraint(e, t, *extra); err != nil {
				return err
			}
		}
	}
	if c.Unique {
		return x.addConstraint(e, t, tsql.Constraint{Kind: "unique", Cols: []string{c.Name}})
	}
	return nil
}

// rewrite replaces every row. Keys stay, and so do the entries of indexes.
func (t *table) rewrite(f func(row []any) ([]any, error)) error {
	var rows tree
	err := t.rows.each(func(key, row []any) (bool, error) {
		row, err := f(row)
		rows = rows.put(key, row)
		return true, err
	})
	t.rows = rows
	return err
}

func (x *execution) alterColumn(t *table, c tsql.Column) error {
	at := t.column(c.Name)
	if at < 0 {
		return sqlval.Errorf(4924, "ALTER TABLE ALTER COLUMN failed because column '%s' does not exist in table '%s'.", c.Name, t.name)
	}
	old := t.cols[at]
	if t.inIndex(at) && old.Type.Kind != c.Type.Kind {
		return sqlval.Errorf(5074, "The object or index is dependent on column '%s'.", c.Name)
	}
	t.cols[at].Type, t.cols[at].NotNull = c.Type, c.NotNull || slices.Contains(t.key, at)
	return t.rewrite(func(row []any) ([]any, error) {
		row = slices.Clone(row)
		v, err := sqlval.Assign(row[at], c.Type)
		if err == nil && v == nil && c.NotNull {
			err = sqlval.Errorf(515, "Cannot insert the value NULL into column '%s', table '%s'; column does not allow nulls. UPDATE fails.", c.Name, t.name)
		}
		row[at] = v
		return row, err
	})
}

func (t *table) inIndex(at int) bool {
	return slices.Contains(t.key, at) ||
		slices.ContainsFunc(t.indexes, func(i index) bool { return slices.Contains(i.cols, at) }) ||
		slices.ContainsFunc(t.foreign, func(f foreignKey) bool { return slices.Contains(f.cols, at) })
}

func dropColumn(t *table, name string) error {
	at := t.column(name)
	if at < 0 {
		return sqlval.Errorf(4924, "ALTER TABLE DROP COLUMN failed because column '%s' does not exist in table '%s'.", name, t.name)
	}
	if t.inIndex(at) || len(t.checks) > 0 {
		return sqlval.Errorf(5074, "An index or a constraint may be dependent on column '%s'.", name)
	}
	if len(t.cols) == 1 {
		return sqlval.Errorf(4923, "ALTER TABLE DROP COLUMN failed because '%s' is the only data column in table '%s'.", name, t.name)
	}
	t.cols = slices.Delete(t.cols, at, at+1)
	shift := func(cols []int) []int {
		moved := slices.Clone(cols)
		for i := range moved {
			if moved[i] > at {
				moved[i]--
			}
		}
		return moved
	}
	t.key = shift(t.key)
	for i := range t.indexes {
		t.indexes[i].cols = shift(t.indexes[i].cols)
		if t.indexes[i].where != nil {
			return sqlval.NotModelled("DROP COLUMN of a table with a filtered index")
		}
	}
	for i := range t.foreign {
		t.foreign[i].cols = shift(t.foreign[i].cols)
	}
	return t.rewrite(func(row []any) ([]any, error) { return slices.Delete(slices.Clone(row), at, at+1), nil })
}

func dropConstraint(t *table, name string) error {
	before := len(t.checks) + len(t.foreign) + len(t.indexes)
	t.checks = slices.DeleteFunc(t.checks, func(c tsql.Constraint) bool { return equalFold(c.Name, name) })
	t.foreign = slices.DeleteFunc(t.foreign, func(f foreignKey) bool { return equalFold(f.name, name) })
	t.indexes = slices.DeleteFunc(t.indexes, func(i index) bool { return i.constraint && equalFold(i.name, name) })
	if len(t.checks)+len(t.foreign)+len(t.indexes) == before {
		return sqlval.Errorf(3728, "'%s' is not a constraint that can be dropped.", name)
	}
	return nil
}
