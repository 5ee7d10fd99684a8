package readsplit

import (
	"errors"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy"
)

// recheck runs a query once more, on the primary, that found less on a replica
// than it looked for, where Config.NotFound or the context asks for that. What
// it finds there counts; where the primary cannot be asked, what the replica said
// stands.
func (r *route) recheck(db *gorm.DB) {
	if r.at == nil || r.router.closed.Load() || !r.found(db) || !emptyHanded(db) && db.Statement.ReflectValue.Kind() != reflect.Slice {
		return
	}
	m := marksOf(db.Statement.Context)
	if !m.recheck && (r.router.cfg.NotFound != policy.RecheckOnPrimary || m.mode == policy.AnyReplica) {
		return
	}
	if c := r.class; c != nil && c.otherwise != groups.Primary {
		return // the primary is not asked for what the group cannot say
	}
	query := db.Callback().Query().Get("gorm:query")
	if query == nil || !emptyHanded(db) && !shortBatch(db) {
		return
	}
	said, at, reason := db.Error, r.at, r.reason
	found := db.Statement.ReflectValue
	held := reflect.Value{}
	if found.CanSet() {
		held = reflect.New(found.Type()).Elem()
		held.Set(found)
		if found.Kind() == reflect.Slice && !found.IsNil() {
			// GORM scans into the same elements again.
			held = reflect.MakeSlice(found.Type(), found.Len(), found.Len())
			reflect.Copy(held, found)
		}
	}
	rows := db.RowsAffected
	r.once(db, query, policy.ReasonNotFoundRecheck)
	if db.Error != nil && !errors.Is(db.Error, gorm.ErrRecordNotFound) && db.Statement.Context.Err() == nil {
		db.Error, db.RowsAffected = said, rows
		r.at, r.reason = at, reason
		if held.IsValid() {
			found.Set(held)
		}
	}
}

// found reports whether the query has ended with an answer.
func (r *route) found(db *gorm.DB) bool {
	return r.rows != nil && (db.Error == nil || errors.Is(db.Error, gorm.ErrRecordNotFound))
}

// emptyHanded reports whether a lookup of a single row has found none.
func emptyHanded(db *gorm.DB) bool {
	return db.RowsAffected == 0 && (db.Statement.RaiseErrorOnNotFound || db.Statement.ReflectValue.Kind() == reflect.Struct)
}

// shortBatch reports whether a query is a batch of FindInBatches with fewer rows
// than it may have, which ends the list.
func shortBatch(db *gorm.DB) bool {
	limit, ok := db.Statement.Clauses["LIMIT"].Expression.(clause.Limit)
	if !ok || limit.Limit == nil || db.RowsAffected >= int64(*limit.Limit) || db.Statement.ReflectValue.Kind() != reflect.Slice {
		return false
	}
	return calledFind(func(function string) bool { return function == fnFindInBatches })
}
