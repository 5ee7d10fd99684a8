// Package readonlyguard keeps a read session from writing.
//
// A context that was marked with [ReadOnly] makes everything done with it a read session. In one, whatever would
// write panics with a typed [*Error]: Create, Save, Update, Updates, UpdateColumn, Delete, CreateInBatches,
// FirstOrCreate, association writes, Exec and Raw of a write, locking reads, the migrator, and the same through the
// generics API; before anything is sent to the database and before any hook runs. With [ReturnErrors] the error is
// in gorm's DB.Error instead.
//
//	err := db.Use(readonlyguard.New())          // once; readsplit.New brings a guard of its own
//	ctx = readonlyguard.ReadOnly(ctx)           // in a GET handler, a report, an export
//	db.WithContext(ctx).Find(&orders)           // reads
//	db.WithContext(ctx).Create(&order)          // panics
//
// [Reader] goes further: a type that has only the reading methods, so that a write does not compile.
//
// # What passes
//
// Reads; transactions, nested ones too, with SAVEPOINT, and on SQL Server SAVE TRANSACTION; SET, RESET, SHOW and
// SELECT set_config(...); dry runs and ToSQL, which send nothing.
//
// # What counts as a write
//
// A text of SQL is a read when package sqlclass says so. What may write is refused like what does: above all a text
// that calls a function of the application's own, until [AllowFunctions] says that it only reads. gorm's own queries
// are looked at in the same way where they contain text of the application's (a Where, a Select, a Joins).
//
// # What it cannot see
//
// Statements that go around gorm: on the *sql.DB of DB(), or on Statement.ConnPool. Inside gorm's Connection, whose
// pool is a *sql.Conn, CreateInBatches is refused after its BEGIN was sent, and rolled back. A Preload with a locking
// clause of its own is refused after its parent was read. An obfuscator that renames gorm's functions costs the
// guard its recognition of FirstOrCreate and CreateInBatches, whose first read and BEGIN are then sent before the
// write is refused.
//
// A write in a hook, in a read session that the hook itself made within an ordinary write, panics like any other
// panic in a hook: gorm does not roll back its default transaction then.
//
// Outside a read session the guard costs one lookup in the context for each statement, and allocates nothing.
package readonlyguard
