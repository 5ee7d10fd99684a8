package readsplit

import (
	"reflect"
	"runtime"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/readonlyguard"
)

// Some of GORM's methods that write begin with a query, and pass nothing along
// that tells it from the application's own. Where what they see is stale, what
// they write is wrong: FirstOrCreate inserts a row that is there. So a query that
// looks like theirs asks who called. Few others look like that, since asking
// costs as much as the rest of a decision.
//
// The names come from the methods themselves, so that one which GORM renames does
// not compile.
var (
	fnFind          = functionName((*gorm.DB).Find)
	fnFirstOrCreate = functionName((*gorm.DB).FirstOrCreate)
	fnFirstOrInit   = functionName((*gorm.DB).FirstOrInit)
	fnFindInBatches = functionName((*gorm.DB).FindInBatches)
	fnConnection    = functionName((*gorm.DB).Connection)
	// fnForOwners changes an association of the generics API and reads its
	// owners first. It is not exported.
	fnForOwners = strings.TrimSuffix(fnFind, "(*DB).Find") + "setCreateOrUpdateG[...].handleAssociationForOwners"
)

func functionName(fn any) string {
	return runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()
}

// nearDepth is how far up the callers are that count: between a callback and the
// method of GORM's that began are few frames, and a migrator's are a few more.
const nearDepth = 24

// readsToWrite reports whether a query is the first half of a write, or is likely
// to be: what FirstOrInit and a reload have read is written next, unless nothing
// can be, or the context has said that any replica will do.
func readsToWrite(stmt *gorm.Statement) bool {
	likely := func() bool {
		return marksOf(stmt.Context).mode != policy.AnyReplica && !readonlyguard.IsReadOnly(stmt.Context)
	}
	if reloads(stmt) {
		return likely()
	}
	if stmt.RaiseErrorOnNotFound || !firstByKey(stmt) && !ofValueModel(stmt) {
		return false
	}
	return calledFind(func(function string) bool {
		return function == fnFirstOrCreate || function == fnForOwners || function == fnFirstOrInit && likely()
	})
}

// calledFind reports whether it was one of those functions that called Find.
func calledFind(is func(function string) bool) bool {
	found := false
	return nearCaller(func(function string) (bool, bool) {
		if found {
			return is(function), true
		}
		found = function == fnFind
		return false, false
	})
}

// firstByKey: FirstOrCreate and FirstOrInit ask for one row, last of all in the order of the
// primary key.
func firstByKey(stmt *gorm.Statement) bool {
	limit, ok := stmt.Clauses["LIMIT"].Expression.(clause.Limit)
	if !ok || limit.Limit == nil || *limit.Limit != 1 {
		return false
	}
	order, ok := stmt.Clauses["ORDER BY"].Expression.(clause.OrderBy)
	if !ok || len(order.Columns) == 0 {
		return false
	}
	last := order.Columns[len(order.Columns)-1].Column
	return last.Table == clause.CurrentTable && last.Name == clause.PrimaryKey
}

// ofValueModel: the generics API gives a model that is no pointer, and takes the
// owners into a slice.
func ofValueModel(stmt *gorm.Statement) bool {
	t := reflect.TypeOf(stmt.Model)
	return t != nil && t.Kind() == reflect.Struct
}

// takesConnection reports whether a pool is asked for by gorm.DB.Connection, which
// holds a connection for as long as its function runs.
func takesConnection() bool {
	return nearCaller(func(function string) (is, done bool) {
		is = function == fnConnection
		return is, is
	})
}

// migrates reports whether a statement is a migrator's.
func migrates() bool {
	return nearCaller(func(function string) (is, done bool) {
		is = strings.Contains(function, "Migrator.") || strings.Contains(function, "Migrator).")
		return is, is
	})
}

// nearCaller shows judge the functions that are near in the stack, from the
// innermost outwards, until it is done.
func nearCaller(judge func(function string) (is, done bool)) bool {
	var pcs [nearDepth]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		frame, more := frames.Next()
		if is, done := judge(frame.Function); done || !more {
			return is
		}
	}
}
