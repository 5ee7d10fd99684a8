package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// define runs CREATE, ALTER, DROP and TRUNCATE.
func (s *Session) define(ctx context.Context, stmt tsql.Stmt, out Sink) error {
	err := s.change(ctx, func(state *State) ([]change, []string, error) {
		w, err := s.db.Writer()
		if err != nil {
			return nil, nil, err
		}
		x := &execution{ctx: ctx, s: s, state: state}
		c := func(e *edit) error { return x.define(w, e, stmt) }
		if err := c(state.edit()); err != nil { // what a commit does later must not fail
			return nil, nil, err
		}
		return []change{schemaChange(c)}, []string{"schema"}, nil
	})
	if err != nil {
		return err
	}
	return out.Done(CmdOther, -1, false)
}

func (x *execution) define(w *Writer, e *edit, stmt tsql.Stmt) error {
	switch n := stmt.(type) {
	case *tsql.CreateTable:
		return x.createTable(e, n)
	case *tsql.DropTable:
		return x.dropTables(e, n)
	case *tsql.AlterTable:
		return x.alterTable(e, n)
	case *tsql.CreateIndex:
		name, err := x.s.tableName(n.Table)
		if err != nil {
			return err
		}
		t, err := e.table(name)
		if err != nil {
			return err
		}
		return x.addIndex(t, index{name: n.Name, unique: n.Unique, where: n.Where}, n.Cols)
	case *tsql.DropIndex:
		name, err := x.s.tableName(n.Table)
		if err != nil {
			return err
		}
		t, err := e.table(name)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(t.indexes, func(i index) bool { return equalFold(i.name, n.Name) })
		if at < 0 {
			if n.IfExists {
				return nil
			}
			return sqlval.Errorf(3701, "Cannot drop the index '%s.%s', because it does not exist or you do not have permission.", t.name, n.Name)
		}
		t.indexes = slices.Delete(t.indexes, at, at+1)
		return nil
	case *tsql.Truncate:
		name, err := x.s.tableName(n.Table)
		if err != nil {
			return err
		}
		t, err := e.table(name)
		if err != nil {
			return err
		}
		if child := referencing(e.state, name); child != "" {
			return sqlval.Errorf(4712, "Cannot truncate table '%s' because it is being referenced by a FOREIGN KEY constraint.", name)
		}
		t.rows, t.identity = tree{}, 0
		delete(w.identity, t.id)
		for i := range t.indexes {
			t.indexes[i].entries = tree{}
		}
		return nil
	}
	return sqlval.NotModelled("this statement")
}

func referencing(s *State, name string) string {
	for other, t := range s.tables {
		for _, fk := range t.foreign {
			if fk.parent == name && other != name {
				return fk.name
			}
		}
	}
	return ""
}

func (x *execution) createTable(e *edit, n *tsql.CreateTable) error {
	name, err := x.s.tableName(n.Table)
	if err != nil {
		return err
	}
	if e.state.tables[name] != nil {
		return sqlval.Errorf(2714, "There is already an object named '%s' in the database.", n.Table.Parts[len(n.Table.Parts)-1])
	}
	e.state.nextID += 100
	t := &table{id: e.state.nextID, name: n.Table.Parts[len(n.Table.Parts)-1]}
	e.state.tables[name], e.own[name] = t, true
	constraints := slices.Clone(n.Constraints)
	for i, c := range n.Cols {
		if t.column(c.Name) >= 0 {
			return sqlval.Errorf(2705, "Column names in each table must be unique. Column name '%s' in table '%s' is specified more than once.", c.Name, t.name)
		}
		t.cols = append(t.cols, tableColumn{c, i + 1})
		if c.Primary {
			constraints = append(constraints, tsql.Constraint{Kind: "primary", Cols: []string{c.Name}})
		}
		if c.Unique {
			constraints = append(constraints, tsql.Constraint{Kind: "unique", Cols: []string{c.Name}})
		}
		for _, extra := range []*tsql.Constraint{c.Check, c.References} {
			if extra != nil {
				constraints = append(constraints, *extra)
			}
		}
	}
	for _, c := range constraints {
		if err := x.addConstraint(e, t, c); err != nil {
			return err
		}
	}
	return nil
}

func (x *execution) addConstraint(e *edit, t *table, c tsql.Constraint) error {
	if c.Name == "" {
		prefix := map[string]string{"primary": "PK", "unique": "UQ", "check": "CK", "foreign": "FK"}[c.Kind]
		c.Name = fmt.Sprintf("%s__%s__%08X", prefix, t.name, t.id+int64(len(t.indexes)+len(t.checks)+len(t.foreign)))
	}
	places, err := t.places(c.Cols)
	if err != nil {
		return err
	}
	switch c.Kind {
	case "primary":
		if len(t.key) > 0 {
			return sqlval.Errorf(1779, "Table '%s' already has a primary key defined on it.", t.name)
		}
		if t.rows.root != nil {
			return sqlval.NotModelled("a primary key for a table that has rows")
		}
		for _, i := range places {
			t.cols[i].NotNull = true
		}
		t.key, t.keyName = places, c.Name
	case "unique":
		return x.addIndex(t, index{name: c.Name, unique: true, constraint: true}, c.Cols)
	case "check":
		if _, err := x.condition(&scope{cols: columnsOf(t, t.name)}, c.Check); err != nil {
			return err
		}
		t.checks = append(t.checks, c)
	case "foreign":
		parent, err := x.s.tableName(c.RefTable)
		if err != nil {
			return err
		}
		p := e.state.tables[parent]
		if p == nil {
			return sqlval.Errorf(1767, "Foreign key '%s' references invalid table '%s'.", c.Name, parent)
		}
		if c.RefCols == nil {
			for _, k := range p.key {
				c.RefCols = append(c.RefCols, p.cols[k].Name)
			}
		}
		if _, err := p.places(c.RefCols); err != nil || len(c.RefCols) != len(places) || len(places) == 0 {
			return sqlval.Errorf(1776, "There are no primary or candidate keys in the referenced table '%s' that match the foreign key '%s'.", parent, c.Name)
		}
		t.foreign = append(t.foreign, foreignKey{c.Name, places, parent, c.RefCols})
	}
	return nil
}

func (t *table) places(names []string) ([]int, error) {
	var places []int
	for _, name := range names {
		i := t.column(name)
		if i < 0 {
			return nil, sqlval.Errorf(1911, "Column name '%s' does not exist in the target table or view.", name)
		}
		places = append(places, i)
	}
	return places, nil
}

func (x *execution) addIndex(t *table, ix index, cols []string) error {
	for _, other := range t.indexes {
		if equalFold(other.name, ix.name) {
			return sqlval.Errorf(1913, "The operation failed because an index or statistics with name '%s' already exists on table '%s'.", ix.name, t.name)
		}
	}
	var err error
	if ix.cols, err = t.places(cols); err != nil {
		return err
	}
	if ix.where != nil {
		if ix.filter, err = x.condition(&scope{cols: columnsOf(t, t.name)}, ix.where); err != nil {
			return err
		}
	}
	if ix.unique {
		err = t.rows.each(func(key, row []any) (bool, error) {
			if !ix.holds(t, row) {
				return true, nil
			}
			values := pick(row, ix.cols)
			if _, taken := ix.entries.get(values); taken {
				return false, sqlval.Errorf(1505, "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name 'dbo.%s' and the index name '%s'.", t.name, ix.name)
			}
			ix.entries = ix.entries.put(values, key)
			return true, nil
		})
	}
	t.indexes = append(t.indexes, ix)
	return err
}

func (x *execution) dropTables(e *edit, n *tsql.DropTable) error {
	for _, ref := range n.Tables {
		name, err := x.s.tableName(ref)
		if err != nil {
			return err
		}
		if e.state.tables[name] == nil {
			if n.IfExists {
				continue
			}
			return sqlval.Errorf(3701, "Cannot drop the table '%s', because it does not exist or you do not have permission.", strings.Join(ref.Parts, "."))
		}
		if fk := referencing(e.state, name); fk != "" {
			return sqlval.Errorf(3726, "Could not drop object '%s' because it is referenced by a FOREIGN KEY constraint.", name)
		}
		delete(e.state.tables, name)
	}
	return nil
}
