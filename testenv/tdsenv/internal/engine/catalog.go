package engine

import (
	"slices"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// systemView is a view of INFORMATION_SCHEMA or sys, or nil for any other name.
func (x *execution) systemView(t *tsql.Table) (*Rowset, error) {
	n := len(t.Parts)
	if n < 2 {
		return nil, nil
	}
	schema := strings.ToLower(t.Parts[n-2])
	if schema != "sys" && schema != "information_schema" {
		return nil, nil
	}
	name := schema + "." + strings.ToLower(t.Parts[n-1])
	if view, ok := views[name]; ok && !t.IsFn {
		return view(x), nil
	}
	if name == "sys.fn_listextendedproperty" && t.IsFn {
		return rowset("objtype:s objname:s name:s value:s"), nil // nobody can have added one
	}
	if !t.IsFn {
		if set, err := x.s.Host.View(name, x.s.db); set != nil || err != nil {
			return set, err
		}
	}
	return nil, invalidObject(strings.Join(t.Parts, "."))
}

// rowset makes a view from "name:type ..", where s is a string, i an int, b a bit, t a tinyint.
func rowset(cols string, rows ...[]any) *Rowset {
	types := map[string]sqlval.Type{"s": name128, "i": integer, "b": sqlval.BitType, "t": sqlval.TinyType}
	set := &Rowset{Rows: rows}
	for _, c := range strings.Fields(cols) {
		name, typ, _ := strings.Cut(c, ":")
		set.Cols = append(set.Cols, Column{name, types[typ], true})
	}
	return set
}

func (s *State) sorted() []*table {
	tables := make([]*table, 0, len(s.tables))
	for _, t := range s.tables {
		tables = append(tables, t)
	}
	slices.SortFunc(tables, func(a, b *table) int { return strings.Compare(a.name, b.name) })
	return tables
}

var views map[string]func(*execution) *Rowset

func init() {
	views = map[string]func(*execution) *Rowset{
		"information_schema.tables": func(x *execution) *Rowset {
			return x.perTable("TABLE_CATALOG:s TABLE_SCHEMA:s TABLE_NAME:s TABLE_TYPE:s", func(t *table, add func(...any)) {
				add(x.s.db.Name(), "dbo", t.name, "BASE TABLE")
			})
		},
		"information_schema.columns": infoColumns,
		"information_schema.table_constraints": func(x *execution) *Rowset {
			return x.perTable("CONSTRAINT_NAME:s TABLE_CATALOG:s TABLE_SCHEMA:s TABLE_NAME:s CONSTRAINT_TYPE:s", func(t *table, add func(...any)) {
				t.constraints(func(name, kind string, _ []int) { add(name, x.s.db.Name(), "dbo", t.name, kind) })
			})
		},
		"information_schema.constraint_column_usage": func(x *execution) *Rowset {
			return x.perTable("TABLE_CATALOG:s TABLE_SCHEMA:s TABLE_NAME:s COLUMN_NAME:s CONSTRAINT_NAME:s", func(t *table, add func(...any)) {
				t.constraints(func(name, _ string, cols []int) {
					for _, c := range cols {
						add(x.s.db.Name(), "dbo", t.name, t.cols[c].Name, name)
					}
				})
			})
		},
		"sys.tables": func(x *execution) *Rowset {
			return x.perTable("name:s object_id:i schema_id:i type:s", func(t *table, add func(...any)) { add(t.name, t.id, int64(1), "U") })
		},
		"sys.columns": sysColumns, "sys.all_columns": sysColumns,
		"sys.indexes": func(x *execution) *Rowset {
			return x.perTable("object_id:i name:s index_id:i is_unique:b is_primary_key:b is_unique_constraint:b", func(t *table, add func(...any)) {
				t.eachIndex(func(id int64, name string, unique, primary, constraint bool, _ []int) {
					add(t.id, name, id, unique, primary, constraint)
				})
			})
		},
		"sys.index_columns": func(x *execution) *Rowset {
			return x.perTable("object_id:i index_id:i index_column_id:i column_id:i", func(t *table, add func(...any)) {
				t.eachIndex(func(id int64, _ string, _, _, _ bool, cols []int) {
					for i, c := range cols {
						add(t.id, id, int64(i+1), int64(t.cols[c].id))
					}
				})
			})
		},
		"sys.foreign_keys": func(x *execution) *Rowset {
			return x.perTable("name:s parent_object_id:i referenced_object_id:i", func(t *table, add func(...any)) {
				for _, fk := range t.foreign {
					if p := x.state.tables[fk.parent]; p != nil {
						add(fk.name, t.id, p.id)
					}
				}
			})
		},
		"sys.check_constraints": func(x *execution) *Rowset {
			return x.perTable("name:s parent_object_id:i definition:s", func(t *table, add func(...any)) {
				for _, c := range t.checks {
					add(c.Name, t.id, "("+c.Text+")")
				}
			})
		},
		"sys.schemas": func(*execution) *Rowset { return rowset("name:s schema_id:i", []any{"dbo", int64(1)}) },
	}
}

func (x *execution) perTable(cols string, each func(t *table, add func(...any))) *Rowset {
	set := rowset(cols)
	for _, t := range x.state.sorted() {
		each(t, func(values ...any) { set.Rows = append(set.Rows, values) })
	}
	return set
}

func (t *table) constraints(each func(name, kind string, cols []int)) {
	if len(t.key) > 0 {
		each(t.keyName, "PRIMARY KEY", t.key)
	}
	for _, ix := range t.indexes {
		if ix.constraint {
			each(ix.name, "UNIQUE", ix.cols)
		}
	}
	for _, fk := range t.foreign {
		each(fk.name, "FOREIGN KEY", fk.cols)
	}
	for _, c := range t.checks {
		each(c.Name, "CHECK", nil)
	}
}

func (t *table) eachIndex(each func(id int64, name string, unique, primary, constraint bool, cols []int)) {
	if len(t.key) > 0 {
		each(1, t.keyName, true, true, false, t.key)
	}
	for i, ix := range t.indexes {
		each(int64(i+2), ix.name, ix.unique, false, ix.constraint, ix.cols)
	}
}

func infoColumns(x *execution) *Rowset {
	set := x.perTable("TABLE_CATALOG:s TABLE_SCHEMA:s TABLE_NAME:s COLUMN_NAME:s ORDINAL_POSITION:i COLUMN_DEFAULT:s IS_NULLABLE:s DATA_TYPE:s CHARACTER_MAXIMUM_LENGTH:i NUMERIC_PRECISION:t NUMERIC_PRECISION_RADIX:i NUMERIC_SCALE:i DATETIME_PRECISION:i", func(t *table, add func(...any)) {
		for i, c := range t.cols {
			var def, length, precision, radix, scale, fraction any
			if c.Default != nil {
				def = "(" + strings.Trim(c.DefaultText, "()") + ")"
				if strings.HasSuffix(c.DefaultText, ")") {
					def = "(" + c.DefaultText + ")"
				}
			}
			nullable := "YES"
			if c.NotNull {
				nullable = "NO"
			}
			switch typ := c.Type; {
			case typ.IsString() || typ.IsBinary():
				length = int64(typ.Size)
			case typ.IsTime():
				fraction = int64(typ.Scale)
			case typ.Kind == sqlval.Float:
				precision, radix = int64(53), int64(2)
			case typ.IsInt() || typ.IsDecimal():
				d := typ.AsDecimal()
				precision, radix, scale = int64(d.Prec), int64(10), int64(d.Scale)
			}
			add(x.s.db.Name(), "dbo", t.name, c.Name, int64(i+1), def, nullable, c.Type.Name(), length, precision, radix, scale, fraction)
		}
	})
	return set
}

func sysColumns(x *execution) *Rowset {
	return x.perTable("object_id:i name:s column_id:i is_nullable:b is_identity:b", func(t *table, add func(...any)) {
		for _, c := range t.cols {
			add(t.id, c.Name, int64(c.id), !c.NotNull, c.Identity)
		}
	})
}
