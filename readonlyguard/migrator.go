package readonlyguard

import (
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// CheckMigrator is for a dialector, which asks it before it makes a migrator for db. In a read session it panics
// with a [*Error], or with Options.ReturnErrors returns it, and then [RefusingMigrator] is the migrator to give.
// A migrator is refused as a whole: AutoMigrate begins with reads, and what comes next is not known.
func CheckMigrator(db *gorm.DB, o Options) error {
	if !concerned(db) {
		return nil
	}
	return o.refuse(&Error{Operation: operation(), Table: db.Statement.Table, Reason: Writes})
}

// RefusingMigrator returns a migrator whose every method returns err, or where it has no error to return, nothing.
func RefusingMigrator(err error) gorm.Migrator { return refusingMigrator{err} }

type refusingMigrator struct{ err error }

func (m refusingMigrator) AutoMigrate(...any) error                   { return m.err }
func (m refusingMigrator) CurrentDatabase() string                    { return "" }
func (m refusingMigrator) FullDataTypeOf(*schema.Field) clause.Expr   { return clause.Expr{} }
func (m refusingMigrator) GetTypeAliases(string) []string             { return nil }
func (m refusingMigrator) CreateTable(...any) error                   { return m.err }
func (m refusingMigrator) DropTable(...any) error                     { return m.err }
func (m refusingMigrator) HasTable(any) bool                          { return false }
func (m refusingMigrator) RenameTable(any, any) error                 { return m.err }
func (m refusingMigrator) GetTables() ([]string, error)               { return nil, m.err }
func (m refusingMigrator) TableType(any) (gorm.TableType, error)      { return nil, m.err }
func (m refusingMigrator) AddColumn(any, string) error                { return m.err }
func (m refusingMigrator) DropColumn(any, string) error               { return m.err }
func (m refusingMigrator) AlterColumn(any, string) error              { return m.err }
func (m refusingMigrator) HasColumn(any, string) bool                 { return false }
func (m refusingMigrator) RenameColumn(any, string, string) error     { return m.err }
func (m refusingMigrator) ColumnTypes(any) ([]gorm.ColumnType, error) { return nil, m.err }
func (m refusingMigrator) CreateView(string, gorm.ViewOption) error   { return m.err }
func (m refusingMigrator) DropView(string) error                      { return m.err }
func (m refusingMigrator) CreateConstraint(any, string) error         { return m.err }
func (m refusingMigrator) DropConstraint(any, string) error           { return m.err }
func (m refusingMigrator) HasConstraint(any, string) bool             { return false }
func (m refusingMigrator) CreateIndex(any, string) error              { return m.err }
func (m refusingMigrator) DropIndex(any, string) error                { return m.err }
func (m refusingMigrator) HasIndex(any, string) bool                  { return false }
func (m refusingMigrator) RenameIndex(any, string, string) error      { return m.err }
func (m refusingMigrator) GetIndexes(any) ([]gorm.Index, error)       { return nil, m.err }

func (m refusingMigrator) MigrateColumn(any, *schema.Field, gorm.ColumnType) error {
	return m.err
}

func (m refusingMigrator) MigrateColumnUnique(any, *schema.Field, gorm.ColumnType) error {
	return m.err
}
