package readonlyguard

import (
	"reflect"
	"runtime"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
)

// Two of gorm's writing methods send something that looks like a read session's own business before any callback
// can know what they are about: FirstOrCreate sends its SELECT, CreateInBatches its BEGIN. gorm passes nothing along
// that tells them from a plain Find or Transaction, so the guard asks who called. It asks only in a read session,
// and looks only at the callers next to gorm's own method: an outer FirstOrCreate of another session, in one of
// whose hooks the statement runs, is none of its business.
//
// The names come from the methods themselves, so that one which gorm renames does not compile.
var (
	fnFind          = functionName((*gorm.DB).Find)
	fnFirstOrCreate = functionName((*gorm.DB).FirstOrCreate)
	fnBegin         = functionName((*gorm.DB).Begin)
	fnSavePoint     = functionName((*gorm.DB).SavePoint)
	fnTransaction   = functionName((*gorm.DB).Transaction)
	fnDefaultTx     = functionName(callbacks.BeginTransaction)

	// gormPackage is "gorm.io/gorm.", gormTree "gorm.io/gorm/".
	gormPackage = strings.TrimSuffix(fnFind, "(*DB).Find")
	gormTree    = strings.TrimSuffix(gormPackage, ".") + "/"

	// fnForOwners appends to an association of the generics API: it reads the owners first. It is not exported.
	fnForOwners = gormPackage + "setCreateOrUpdateG[...].handleAssociationForOwners"
)

func functionName(fn any) string {
	return runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()
}

// How far above the guard the callers are that it asks for. A query has gorm's processor and Find between, and asks
// often; a savepoint of CreateInBatches has nine frames, and wrappers of pools and dialectors add theirs.
const (
	findDepth        = 6
	transactionDepth = 24
)

// fromWritingFind reports whether the query in progress is the first half of a write.
func fromWritingFind() bool {
	var pcs [findDepth]uintptr
	return nearCaller(pcs[:runtime.Callers(2, pcs[:])], func(name string) bool { return name == fnFind }, func(frames *runtime.Frames) bool {
		caller, _ := frames.Next()
		return caller.Function == fnFirstOrCreate || caller.Function == fnForOwners
	})
}

// fromWritingTransaction reports whether the BEGIN or SAVEPOINT in progress is one that gorm itself asked for, which
// it does only to write: in methods that write in several statements, and around every write. The latter gets here
// only in a dry run, for which gorm begins a transaction all the same.
func fromWritingTransaction() bool {
	var pcs [transactionDepth]uintptr
	return nearCaller(pcs[:runtime.Callers(2, pcs[:])], func(name string) bool { return name == fnBegin || name == fnSavePoint }, func(frames *runtime.Frames) bool {
		frame, _ := frames.Next()
		if frame.Function != fnTransaction {
			return frame.Function == fnDefaultTx
		}
		caller, _ := frames.Next()
		return strings.HasPrefix(caller.Function, gormPackage)
	})
}

// nearCaller goes up the stack to the first function that is wanted, and lets then judge the frames above it.
func nearCaller(pcs []uintptr, wanted func(name string) bool, then func(above *runtime.Frames) bool) bool {
	frames := runtime.CallersFrames(pcs)
	for {
		frame, more := frames.Next()
		if !more {
			return false
		}
		if wanted(frame.Function) {
			return then(frames)
		}
	}
}

// operation names the method of gorm that the application called: the outermost of gorm's functions in progress. Only
// a refusal pays for it.
func operation() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	outermost := ""
	for {
		frame, more := frames.Next()
		switch {
		case strings.HasPrefix(frame.Function, gormPackage):
			outermost = strings.TrimPrefix(frame.Function, gormPackage)
		case strings.HasPrefix(frame.Function, gormTree), strings.HasSuffix(frame.Function, ".SavePoint"), outermost == "":
			// gorm's callbacks, a dialector between two of gorm's methods, or the guard itself
		default:
			return methodName(outermost)
		}
		if !more {
			return methodName(outermost)
		}
	}
}

// methodName turns "(*DB).CreateInBatches.func1" into "CreateInBatches" and "(*Association).Append" into
// "Association.Append". The types of the generics API are not names that a user has seen.
func methodName(function string) string {
	receiver, method, ok := cutReceiver(function)
	if !ok {
		return "statement"
	}
	method, _, _ = strings.Cut(method, ".") // closures
	switch receiver {
	case "Association":
		return "Association." + method
	case "setCreateOrUpdateG":
		return "Set." + method
	}
	return method
}

func cutReceiver(function string) (receiver, method string, ok bool) {
	if rest, pointer := strings.CutPrefix(function, "(*"); pointer {
		receiver, method, ok = strings.Cut(rest, ").")
	} else if receiver, method, ok = strings.Cut(function, "[...]."); !ok {
		receiver, method, ok = strings.Cut(function, ".")
	}
	return strings.TrimSuffix(receiver, "[...]"), method, ok
}
