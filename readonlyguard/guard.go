package readonlyguard

import (
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit/sqlclass"
)

// CallbackName is the name under which the guard is registered on gorm's six processors, before all others.
const CallbackName = "readsplit:guard"

// Register puts the guard's callbacks before all others on the six processors of db, and does nothing else: what no
// callback sees ([UnsentTx], [CheckMigrator]) is up to the caller, who owns the connection pool and the dialector.
//
// It fails where db has a guard already, and where the dialector speaks a language that the guard cannot read.
func Register(db *gorm.DB, o Options) error {
	dialect, ok := dialectOf(db)
	if !ok {
		return fmt.Errorf("readsplit: the read-only guard cannot read the SQL of dialect %q: it knows postgres and sqlserver", db.Dialector.Name())
	}
	if Registered(db) {
		return errors.New("readsplit: this gorm.DB has a read-only guard already; readsplit.New brings one, and readonlyguard.New is for applications without it: keep one of the two")
	}
	g := &guard{options: o, allowed: o.allowed(), dialect: dialect}
	callbacks := db.Callback()
	return errors.Join(
		callbacks.Create().Before("*").Register(CallbackName, g.write),
		callbacks.Update().Before("*").Register(CallbackName, g.write),
		callbacks.Delete().Before("*").Register(CallbackName, g.write),
		callbacks.Query().Before("*").Register(CallbackName, g.query),
		callbacks.Row().Before("*").Register(CallbackName, g.row),
		callbacks.Raw().Before("*").Register(CallbackName, g.exec),
	)
}

// Registered reports whether db has a guard.
func Registered(db *gorm.DB) bool { return db.Callback().Query().Get(CallbackName) != nil }

func dialectOf(db *gorm.DB) (sqlclass.Dialect, bool) {
	switch db.Dialector.Name() {
	case "postgres":
		return sqlclass.PostgreSQL, true
	case "sqlserver":
		return sqlclass.SQLServer, true
	}
	return 0, false
}

// guard is what the callbacks share. It is never changed.
type guard struct {
	options Options
	allowed map[string]struct{}
	dialect sqlclass.Dialect
}

// concerned reports whether the statement is the guard's business: a dry run sends nothing, whatever it builds.
func concerned(db *gorm.DB) bool { return IsReadOnly(db.Statement.Context) && !db.DryRun }

// write refuses whatever gorm creates, updates or deletes. It runs before the default transaction and before hooks.
func (g *guard) write(db *gorm.DB) {
	if concerned(db) {
		g.refuse(db, &Error{Reason: Writes})
	}
}

// query lets reads pass that gorm built or the application wrote.
func (g *guard) query(db *gorm.DB) {
	if !concerned(db) {
		return
	}
	if !db.Statement.RaiseErrorOnNotFound && fromWritingFind() {
		// First, Take and Last raise that error; the reads that gorm's writing methods begin with do not.
		g.refuse(db, &Error{Reason: Writes})
		return
	}
	_ = g.read(db) // what it refuses is in db already
}

// row is query for Row, Rows and Scan.
func (g *guard) row(db *gorm.DB) {
	if !concerned(db) {
		return
	}
	if refusal := g.read(db); refusal != nil {
		if rows, ok := db.Get("rows"); !ok || rows != true {
			// gorm's Row has no error to return, and would return nil, on which Scan panics.
			db.Statement.Dest = refusedRow(refusal)
		}
	}
}

// exec lets pass what only manages the session, and reads.
func (g *guard) exec(db *gorm.DB) {
	if !concerned(db) {
		return
	}
	text := db.Statement.SQL.String()
	refusal := judgeText(g.dialect, text, g.allowed, g.options.Judge)
	if refusal == nil && sqlclass.Classify(g.dialect, text).Verb == sqlclass.Savepoint && fromWritingTransaction() {
		refusal = &Error{Reason: Writes} // CreateInBatches inside a transaction
	}
	if refusal != nil {
		g.refuse(db, refusal)
	}
}

// read judges a statement that gorm sends as a query, and returns the refusal if there is one.
func (g *guard) read(db *gorm.DB) *Error {
	stmt := db.Statement
	var refusal *Error
	switch {
	case stmt.SQL.Len() > 0:
		if refusal = judgeText(g.dialect, stmt.SQL.String(), g.allowed, g.options.Judge); refusal != nil {
			refusal.Operation = "Raw"
		}
	case locks(stmt):
		refusal = &Error{Reason: Locks}
	case db.Error == nil && !plain(stmt):
		if text, ok := builtText(db); ok {
			refusal = judgeText(g.dialect, text, g.allowed, g.options.Judge)
		}
	}
	if refusal != nil {
		g.refuse(db, refusal)
	}
	return refusal
}

func locks(stmt *gorm.Statement) bool {
	_, ok := stmt.Clauses[clause.Locking{}.Name()].Expression.(clause.Locking)
	return ok
}

// refuse completes the refusal and ends the statement with it.
func (g *guard) refuse(db *gorm.DB, refusal *Error) {
	if refusal.Operation == "" {
		refusal.Operation = operation()
	}
	if refusal.Table == "" && db.Statement.SQL.Len() == 0 {
		refusal.Table = db.Statement.Table
	}
	if err := g.options.refuse(refusal); err != nil {
		_ = db.AddError(err)
	}
}

// refuse panics with the refusal or returns it, as the options say.
func (o Options) refuse(refusal *Error) error {
	if o.ReturnErrors {
		return refusal
	}
	panic(refusal)
}
