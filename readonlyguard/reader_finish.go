package readonlyguard

import (
	"cmp"
	"database/sql"

	"gorm.io/gorm"
)

// First reads the first record by primary key, or returns gorm.ErrRecordNotFound.
func (r Reader) First(dest any, conds ...any) Result {
	return result(r.db.First(dest, adapt(conds)...))
}

// Take reads one record, or returns gorm.ErrRecordNotFound.
func (r Reader) Take(dest any, conds ...any) Result {
	return result(r.db.Take(dest, adapt(conds)...))
}

// Last reads the last record by primary key, or returns gorm.ErrRecordNotFound.
func (r Reader) Last(dest any, conds ...any) Result {
	return result(r.db.Last(dest, adapt(conds)...))
}

// Find reads all records.
func (r Reader) Find(dest any, conds ...any) Result {
	return result(r.db.Find(dest, adapt(conds)...))
}

// FindInBatches reads all records in batches, and calls fc after each, which may read on with tx.
func (r Reader) FindInBatches(dest any, batchSize int, fc func(tx Reader, batch int) error) Result {
	return result(r.db.FindInBatches(dest, batchSize, func(tx *gorm.DB, batch int) error { return fc(Reader{tx}, batch) }))
}

// FirstOrInit reads the first record, or fills dest with the conditions and [Reader.Attrs]. It writes nothing.
func (r Reader) FirstOrInit(dest any, conds ...any) Result {
	return result(r.db.FirstOrInit(dest, adapt(conds)...))
}

// Count counts the rows.
func (r Reader) Count(count *int64) Result { return result(r.db.Count(count)) }

// Pluck reads one column.
func (r Reader) Pluck(column string, dest any) Result { return result(r.db.Pluck(column, dest)) }

// Scan reads rows into a struct, a slice, a map or a value.
func (r Reader) Scan(dest any) Result { return result(r.db.Scan(dest)) }

// Row reads one row. Where gorm returns nil, because the statement could not be built, the row's Scan says so.
func (r Reader) Row() *sql.Row {
	if row := r.db.Row(); row != nil {
		return row
	}
	return refusedRow(cmp.Or(r.db.Error, gorm.ErrInvalidDB))
}

// Rows returns a cursor, which the caller closes.
func (r Reader) Rows() (*sql.Rows, error) { return r.db.Rows() }

// ScanRows reads the current row of rows into dest.
func (r Reader) ScanRows(rows *sql.Rows, dest any) error { return r.db.ScanRows(rows, dest) }
