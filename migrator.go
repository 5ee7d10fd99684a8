package readsplit

import (
	"errors"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// tableMigrator sends what is about one table to the primary of that table,
// where resolvers have primaries of their own. What is about no table goes to the
// plugin's own primary.
type tableMigrator struct {
	gorm.Migrator
	p  *Plugin
	on func(*router) gorm.Migrator
}

// spread reports whether there are tables on another primary.
func (p *Plugin) spread() bool { return len(p.writers()) > 1 }

// writers returns one router for each primary, the main one first.
func (p *Plugin) writers() []*router {
	all := []*router{p.main}
	for _, rt := range p.routers()[1:] {
		if rt.owns() {
			all = append(all, rt)
		}
	}
	return all
}

// routerOf returns the router of a table, given by name or as a model.
func (p *Plugin) routerOf(table any) *router {
	name, ok := table.(string)
	if !ok {
		stmt := &gorm.Statement{DB: p.db}
		if err := stmt.Parse(table); err != nil {
			return p.main // whose migrator reports it
		}
		name = stmt.Table
	}
	if rt := p.tables.Load().byTable[plainTable(name)]; rt != nil {
		return rt
	}
	return p.main
}

func (m tableMigrator) of(table any) gorm.Migrator {
	if rt := m.p.routerOf(table); rt != m.p.main {
		return m.on(rt)
	}
	return m.Migrator
}

// each calls do with the tables of each primary, in the order in which they
// first appear.
func (m tableMigrator) each(tables []any, do func(m gorm.Migrator, tables []any) error) error {
	if err := m.refersElsewhere(tables); err != nil {
		return err
	}
	var order []*router
	of := make(map[*router][]any)
	for _, table := range tables {
		rt := m.p.routerOf(table)
		if of[rt] == nil {
			order = append(order, rt)
		}
		of[rt] = append(of[rt], table)
	}
	var errs []error
	for _, rt := range order {
		errs = append(errs, do(m.on(rt), of[rt]))
	}
	if errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil }); len(errs) == 1 {
		return errs[0] // as it is, for whoever looks at its type
	}
	return errors.Join(errs...)
}

// refersElsewhere reports a foreign key to a table on another primary. GORM would
// make that table too, where it makes the key: rows that are saved along with the
// owner would be there, and everybody looks for them elsewhere.
func (m tableMigrator) refersElsewhere(tables []any) error {
	if m.p.db.DisableForeignKeyConstraintWhenMigrating || m.p.db.IgnoreRelationshipsWhenMigrating {
		return nil
	}
	var v problems
	for _, table := range tables {
		stmt := &gorm.Statement{DB: m.p.db}
		if _, named := table.(string); named || stmt.Parse(table) != nil {
			continue
		}
		for _, rel := range stmt.Schema.Relationships.Relations {
			c := rel.ParseConstraint()
			if rel.Field.IgnoreMigration || c == nil || c.Schema == c.ReferenceSchema {
				continue
			}
			if m.p.routerOf(c.Schema.Table) != m.p.routerOf(c.ReferenceSchema.Table) {
				v.add("migrate %s: %s.%s is a foreign key from %s to %s, which are on different primaries: no database can keep it; tag the field gorm:\"constraint:-\", or give both tables to one resolver",
					stmt.Table, stmt.Schema.Name, rel.Name, c.Schema.Table, c.ReferenceSchema.Table)
			}
		}
	}
	return v.err()
}

func (m tableMigrator) AutoMigrate(dst ...any) error {
	return m.each(dst, func(m gorm.Migrator, dst []any) error { return m.AutoMigrate(dst...) })
}

func (m tableMigrator) CreateTable(dst ...any) error {
	return m.each(dst, func(m gorm.Migrator, dst []any) error { return m.CreateTable(dst...) })
}

func (m tableMigrator) DropTable(dst ...any) error {
	return m.each(dst, func(m gorm.Migrator, dst []any) error { return m.DropTable(dst...) })
}

func (m tableMigrator) HasTable(dst any) bool { return m.of(dst).HasTable(dst) }

func (m tableMigrator) RenameTable(oldName, newName any) error {
	return m.of(oldName).RenameTable(oldName, newName)
}

func (m tableMigrator) TableType(dst any) (gorm.TableType, error) { return m.of(dst).TableType(dst) }

func (m tableMigrator) AddColumn(dst any, field string) error { return m.of(dst).AddColumn(dst, field) }

func (m tableMigrator) DropColumn(dst any, field string) error {
	return m.of(dst).DropColumn(dst, field)
}

func (m tableMigrator) AlterColumn(dst any, field string) error {
	return m.of(dst).AlterColumn(dst, field)
}

func (m tableMigrator) MigrateColumn(dst any, field *schema.Field, columnType gorm.ColumnType) error {
	return m.of(dst).MigrateColumn(dst, field, columnType)
}

func (m tableMigrator) MigrateColumnUnique(dst any, field *schema.Field, columnType gorm.ColumnType) error {
	return m.of(dst).MigrateColumnUnique(dst, field, columnType)
}

func (m tableMigrator) HasColumn(dst any, field string) bool { return m.of(dst).HasColumn(dst, field) }

func (m tableMigrator) RenameColumn(dst any, oldName, field string) error {
	return m.of(dst).RenameColumn(dst, oldName, field)
}

func (m tableMigrator) ColumnTypes(dst any) ([]gorm.ColumnType, error) {
	return m.of(dst).ColumnTypes(dst)
}

func (m tableMigrator) CreateConstraint(dst any, name string) error {
	return m.of(dst).CreateConstraint(dst, name)
}

func (m tableMigrator) DropConstraint(dst any, name string) error {
	return m.of(dst).DropConstraint(dst, name)
}

func (m tableMigrator) HasConstraint(dst any, name string) bool {
	return m.of(dst).HasConstraint(dst, name)
}

func (m tableMigrator) CreateIndex(dst any, name string) error {
	return m.of(dst).CreateIndex(dst, name)
}

func (m tableMigrator) DropIndex(dst any, name string) error { return m.of(dst).DropIndex(dst, name) }

func (m tableMigrator) HasIndex(dst any, name string) bool { return m.of(dst).HasIndex(dst, name) }

func (m tableMigrator) RenameIndex(dst any, oldName, newName string) error {
	return m.of(dst).RenameIndex(dst, oldName, newName)
}

func (m tableMigrator) GetIndexes(dst any) ([]gorm.Index, error) { return m.of(dst).GetIndexes(dst) }
