package matrix

import (
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
)

// migrators look before they act, so all that they do is the primary's.
func migrators() []*cell {
	m := func(p *probe) gorm.Migrator { return p.db.Migrator() }
	onShelves := func(c *cell) { c.setup, c.remove = dropShelves+"; "+makeShelves, dropShelves }
	view := func(c *cell) { c.remove = "DROP VIEW IF EXISTS dear" }
	build := func(p *probe) { p.ok(p.db.AutoMigrate(&shelf{})) }
	return area("Migrator",
		write("HasTable", func(p *probe) { require.True(p, m(p).HasTable(&author{})) }),
		write("HasTable by name", func(p *probe) { require.False(p, m(p).HasTable("nowhere")) }),
		write("HasColumn", func(p *probe) { require.True(p, m(p).HasColumn(&author{}, "Name")) }),
		write("HasIndex", func(p *probe) { require.True(p, m(p).HasIndex(&shelf{}, "Name")) }).with(onShelves),
		write("HasConstraint", func(p *probe) { require.True(p, m(p).HasConstraint(&shelf{}, "name_given")) }).with(onShelves),
		write("ColumnTypes", func(p *probe) {
			types, err := m(p).ColumnTypes(&author{})
			p.ok(err)
			require.Len(p, types, 3)
		}),
		write("GetTables", func(p *probe) {
			tables, err := m(p).GetTables()
			p.ok(err)
			require.Contains(p, tables, "authors")
		}),
		write("GetIndexes", func(p *probe) {
			_, err := m(p).GetIndexes(&shelf{})
			p.ok(err)
		}).with(onShelves),
		write("CurrentDatabase", func(p *probe) { require.Contains(p, m(p).CurrentDatabase(), "matrix_") }),
		write("AutoMigrate, a new table", build).with(drops(dropShelves)),
		write("AutoMigrate, nothing to do", func(p *probe) { p.ok(p.db.AutoMigrate(&shelf{})) }).with(onShelves),
		write("AutoMigrate, a changed model", func(p *probe) { p.ok(p.db.AutoMigrate(&widerShelf{})) }).with(onShelves),
		write("Migrator().AutoMigrate", func(p *probe) { p.ok(m(p).AutoMigrate(&shelf{})) }).with(drops(dropShelves)),
		write("CreateTable", func(p *probe) { p.ok(m(p).CreateTable(&shelf{})) }).with(drops(dropShelves)),
		write("DropTable", func(p *probe) { p.ok(m(p).DropTable(&shelf{})) }).with(onShelves),
		write("RenameTable", func(p *probe) { p.ok(m(p).RenameTable("shelves", "boards")) }).with(onShelves),
		write("AddColumn", func(p *probe) { p.ok(m(p).AddColumn(&widerShelf{}, "Width")) }).with(onShelves),
		write("DropColumn", func(p *probe) { p.ok(m(p).DropColumn(&shelf{}, "name")) }).with(onShelves),
		write("AlterColumn", func(p *probe) { p.ok(m(p).AlterColumn(&widerShelf{}, "Name")) }).with(onShelves),
		write("RenameColumn", func(p *probe) { p.ok(m(p).RenameColumn(&shelf{}, "name", "label")) }).with(onShelves),
		write("MigrateColumn", func(p *probe) {
			types, err := m(p).ColumnTypes(&shelf{})
			p.ok(err)
			stmt := &gorm.Statement{DB: p.db}
			p.ok(stmt.Parse(&widerShelf{}))
			for _, c := range types {
				if c.Name() == "name" {
					p.ok(m(p).MigrateColumn(&widerShelf{}, stmt.Schema.FieldsByDBName["name"], c))
				}
			}
		}).with(onShelves),
		write("CreateIndex", func(p *probe) {
			p.ok(m(p).DropIndex(&shelf{}, "idx_shelves_name"))
			p.ok(m(p).CreateIndex(&shelf{}, "Name"))
		}).with(onShelves),
		write("DropIndex", func(p *probe) { p.ok(m(p).DropIndex(&shelf{}, "Name")) }).with(onShelves),
		write("RenameIndex", func(p *probe) { p.ok(m(p).RenameIndex(&shelf{}, "idx_shelves_name", "by_name")) }).with(onShelves),
		write("CreateConstraint", func(p *probe) {
			p.ok(m(p).DropConstraint(&shelf{}, "name_given"))
			p.ok(m(p).CreateConstraint(&shelf{}, "name_given"))
		}).with(onShelves),
		write("CreateView", func(p *probe) {
			p.ok(m(p).CreateView("dear", gorm.ViewOption{Replace: true, Query: p.db.Model(&book{}).Where("price > ?", 15)}))
		}).with(view),
		write("DropView", func(p *probe) { p.ok(m(p).DropView("dear")) }).
			with(func(c *cell) { c.setup = "CREATE OR REPLACE VIEW dear AS SELECT 1 AS one" }),
		write("of a handle that has read", func(p *probe) {
			p.db.Session(&gorm.Session{DryRun: true}).Find(&[]author{})
			require.True(p, fresh(p.db).Migrator().HasTable("authors"))
		}),
		none("FullDataTypeOf", func(p *probe) {
			stmt := &gorm.Statement{DB: p.db}
			p.ok(stmt.Parse(&author{}))
			require.NotEmpty(p, m(p).FullDataTypeOf(stmt.Schema.FieldsByDBName["name"]).SQL)
		}).with(outside),
		mixed("AutoMigrate, then a read of the new table", `P+R`, func(p *probe) {
			build(p)
			p.rows(0, p.db.Find(&[]shelf{}))
		}).with(drops(dropShelves)),
		mixed("AutoMigrate in a hook of a read", `RP+`, func(p *probe) {
			ctx := withHooks(p.ctx, hooks{"AfterFind": func(tx *gorm.DB) error { return tx.AutoMigrate(&shelf{}) }})
			p.ok(p.db.WithContext(ctx).First(&diary{}).Error)
		}).with(drops(dropShelves)),
	)
}
