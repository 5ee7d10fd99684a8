package readsplit

import (
	"reflect"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/policy"
)

// before is what the destination of a query held before the query.
type before struct {
	value  reflect.Value // a copy; invalid: the zero value
	length int           // of a slice
}

// keepDest remembers what the destination holds, for a query that has to run
// again after some of its rows were scanned: the second run may find no row, and
// must not leave one of the first.
func (r *route) keepDest() {
	if r.detour != nil {
		r.detour.before = before{}
	}
	if r.stmt == nil {
		return
	}
	r.keepValue()
}

// keepValue is keepDest of a statement that GORM has made.
func (r *route) keepValue() {
	v := r.stmt.ReflectValue
	switch {
	case !v.IsValid():
	case v.Kind() == reflect.Slice:
		if n := v.Len(); n > 0 {
			r.strays().before.length = n
		}
	case v.Kind() == reflect.Map:
		// GORM writes into the map itself.
		if v.Len() > 0 {
			held := reflect.MakeMapWithSize(v.Type(), v.Len())
			copyMap(held, v)
			r.strays().before.value = held
		}
	case v.CanSet() && !v.IsZero():
		held := reflect.New(v.Type()).Elem()
		held.Set(v)
		r.strays().before.value = held
	}
}

// reset undoes what was scanned into v before a query failed.
func (b before) reset(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		// GORM appends to a slice of maps that was not empty. Slices of anything
		// else it begins anew, so that whatever they held is lost already.
		if v.CanSet() {
			v.SetLen(min(b.length, v.Len()))
		}
	case reflect.Map:
		v.Clear()
		if b.value.IsValid() {
			copyMap(v, b.value)
		}
	case reflect.Invalid:
	default:
		switch {
		case !v.CanSet():
		case b.value.IsValid():
			v.Set(b.value)
		default:
			v.SetZero()
		}
	}
}

func copyMap(to, from reflect.Value) {
	for i := from.MapRange(); i.Next(); {
		to.SetMapIndex(i.Key(), i.Value())
	}
}

// rerun runs a query again that failed while its rows were read from a replica:
// the error came after GORM had begun to scan. It is safe because nothing has
// been done with the rows yet: preloads and AfterFind come later.
func (r *route) rerun(db *gorm.DB) {
	for r.at != nil && r.rows != nil && db.Error != nil {
		// The rows still have the driver's own error, also that of closing them
		// before they were read to the end; db.Error may hold a translation, or two
		// errors of which only the text is left.
		err := r.rows.Err()
		if err == nil {
			return
		}
		if !r.router.cfg.Retry.Allows(int(r.attempts)) {
			r.router.conflicted(err) // the caller's, and counted
			return
		}
		primary, again := r.failed(db.Statement.Context, r.at, err, lastRun{text: db.Statement.SQL.String(), began: processStart.Add(r.began), generation: r.generation})
		if !again {
			return
		}
		again = primary != 0 || r.router.pause(db.Statement.Context, int(r.attempts))
		query := db.Callback().Query().Get("gorm:query") // a cache may have replaced it since
		if !again || query == nil {
			return
		}
		r.once(db, query, primary)
	}
}

// once runs the query of a statement once more, as if it had not run before.
func (r *route) once(db *gorm.DB, query func(*gorm.DB), forced policy.Reason) {
	if forced != 0 {
		r.strays().forced = forced
	}
	r.past().before.reset(db.Statement.ReflectValue)
	db.Error = nil
	db.RowsAffected = 0
	if res := db.Statement.Result; res != nil {
		res.Error, res.RowsAffected = nil, 0
	}
	r.rows = nil
	query(db)
}
