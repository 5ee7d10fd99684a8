package readsplit

import (
	"reflect"

	"gorm.io/gorm"
)

// keepDest remembers what the destination held before the query, for a query
// that has to run again after some of its rows were scanned: a struct would keep
// the values of a row that the second run does not find.
func (r *route) keepDest() {
	r.before = reflect.Value{}
	if r.stmt == nil {
		return
	}
	if v := r.stmt.ReflectValue; v.Kind() == reflect.Struct && v.CanSet() && !v.IsZero() {
		r.before = reflect.New(v.Type()).Elem()
		r.before.Set(v)
	}
}

// rerun runs a query again that failed while its rows were read from a replica:
// the error came after GORM had begun to scan. It is safe because nothing has
// been done with the rows yet: preloads and AfterFind come later.
func (r *route) rerun(db *gorm.DB) {
	for r.at != nil && r.rows != nil && db.Error != nil {
		// The rows still have the driver's own error; db.Error may hold a
		// translation, or two errors of which only the text is left.
		err := r.rows.Err()
		if err == nil {
			return
		}
		if !r.p.cfg.Retry.Allows(r.attempts) {
			return
		}
		primary, again := r.failed(db.Statement.Context, r.at, err)
		if !again {
			return
		}
		again = primary != 0 || r.p.pause(db.Statement.Context, r.attempts)
		query := db.Callback().Query().Get("gorm:query") // a cache may have replaced it since
		if !again || query == nil {
			return
		}
		r.forced = primary
		resetDest(db, r.before)
		db.Error = nil
		db.RowsAffected = 0
		if res := db.Statement.Result; res != nil {
			res.Error, res.RowsAffected = nil, 0
		}
		r.rows = nil
		query(db)
	}
}

// resetDest undoes what was scanned before the failure.
func resetDest(db *gorm.DB, before reflect.Value) {
	v := db.Statement.ReflectValue
	switch v.Kind() {
	case reflect.Slice:
		// GORM appends to a slice of maps, and empties slices of structs itself.
		if v.CanSet() {
			v.SetLen(0)
		}
	case reflect.Struct:
		switch {
		case before.IsValid():
			v.Set(before)
		case v.CanSet():
			v.SetZero()
		}
	case reflect.Map:
		if !v.IsNil() {
			v.Clear()
		}
	}
}
