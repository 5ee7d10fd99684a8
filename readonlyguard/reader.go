package readonlyguard

import (
	"context"
	"database/sql"

	"gorm.io/gorm"
)

// Reader is a gorm.DB that has only the reading methods: code that holds a Reader and writes does not compile. It
// never hands out the gorm.DB below, and all it does is in a read session, so that what a text of SQL hides from
// the compiler the guard refuses.
//
// Its methods are those of gorm.DB with the same names and meaning, and a [Result] where gorm has a *gorm.DB:
//
//	r := readonlyguard.NewReader(db.WithContext(ctx))
//	err := r.Where("customer_id = ?", id).Order("id DESC").Find(&orders).Error
//
// A Reader is a value and may be copied; the rules of gorm for sharing a *gorm.DB hold for what a chain method
// returns too: start chains from a Reader that NewReader, WithContext or Session returned.
type Reader struct{ db *gorm.DB }

// NewReader returns a Reader over db, which may be a transaction. db must have the guard, from readonlyguard.New or
// readsplit.New; else every statement returns [ErrNotRegistered].
func NewReader(db *gorm.DB) Reader {
	r := Reader{db.WithContext(ReadOnly(db.Statement.Context))}
	if !Registered(db) {
		_ = r.db.AddError(ErrNotRegistered)
	}
	return r
}

// Result is what a statement of a Reader ended with.
type Result struct {
	// Error is nil, or the error as gorm.DB.Error would hold it.
	Error error
	// RowsAffected is the number of rows that were read.
	RowsAffected int64
}

func result(db *gorm.DB) Result { return Result{Error: db.Error, RowsAffected: db.RowsAffected} }

// WithContext returns a Reader for a request. The context is marked as a read session's.
func (r Reader) WithContext(ctx context.Context) Reader {
	return Reader{r.db.WithContext(ReadOnly(ctx))}
}

// Session returns a Reader from which several chains can be started, each with the conditions so far.
func (r Reader) Session() Reader { return Reader{r.db.Session(&gorm.Session{})} }

// Debug logs the statements.
func (r Reader) Debug() Reader { return Reader{r.db.Debug()} }

// Transaction runs fc in one transaction, so that its reads can share a snapshot:
//
//	r.Transaction(report, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
func (r Reader) Transaction(fc func(tx Reader) error, opts ...*sql.TxOptions) error {
	if r.db.Error != nil {
		return r.db.Error // gorm would begin a transaction, see the error, and leave both
	}
	return r.db.Transaction(func(tx *gorm.DB) error { return fc(Reader{tx}) }, opts...)
}

// Association returns the reading half of gorm's association mode.
func (r Reader) Association(column string) AssociationReader {
	return AssociationReader{r.db.Association(column)}
}

// AssociationReader reads the records of one association.
type AssociationReader struct{ association *gorm.Association }

// Find reads the associated records into out.
func (a AssociationReader) Find(out any, conds ...any) error {
	return a.association.Find(out, adapt(conds)...)
}

// Count returns the number of associated records.
func (a AssociationReader) Count() (int64, error) {
	n := a.association.Count()
	return n, a.association.Error
}

// adapt turns Readers in arguments, which are subqueries, and conditions of Preload into what gorm takes.
func adapt(args []any) []any {
	for i, arg := range args {
		switch arg := arg.(type) {
		case Reader:
			args = replaced(args, i, arg.db)
		case func(Reader) Reader:
			args = replaced(args, i, func(tx *gorm.DB) *gorm.DB { return arg(Reader{tx}).db })
		}
	}
	return args
}

// replaced copies: args may be a slice of the caller's.
func replaced(args []any, i int, value any) []any {
	copied := append([]any(nil), args...)
	copied[i] = value
	return copied
}
