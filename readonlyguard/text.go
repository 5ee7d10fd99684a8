package readonlyguard

import (
	"context"
	"slices"
	"strings"

	"github.com/readsplit/readsplit/sqlclass"
)

// CheckSQL refuses an SQL text in a read session unless it is a read, or a statement that only manages the session
// itself. It is for a connection pool that wants to know of every text that reaches it, also of those that did not
// come through gorm's callbacks. Outside a read session it returns nil and does not look at the text.
//
// It panics with a [*Error], or returns it with Options.ReturnErrors.
func CheckSQL(ctx context.Context, d sqlclass.Dialect, sql string, o Options) error {
	if !IsReadOnly(ctx) {
		return nil
	}
	refusal := judgeText(d, sql, o.allowed(), o.Judge)
	if refusal == nil {
		return nil
	}
	refusal.Operation = operation()
	return o.refuse(refusal)
}

// judgeText returns the refusal of a text, without an operation, or nil for one that may run.
//
// A text of which the classifier says Unknown is refused: it may write, and the promise of a read session is worth
// more than the convenience of not naming a function.
func judgeText(d sqlclass.Dialect, sql string, allowed map[string]struct{}, judge func(string, sqlclass.Info) sqlclass.Info) *Error {
	info := sqlclass.Classify(d, sql)
	if judge != nil && info.Class == sqlclass.Unknown && judge(sql, info).Class == sqlclass.Read {
		return nil
	}
	verb := verbName(info.Verb)
	switch {
	case info.Class == sqlclass.Read:
		return nil
	case info.Class == sqlclass.LockingRead, info.Verb == sqlclass.Lock:
		return &Error{Verb: verb, Reason: Locks}
	case info.Class == sqlclass.Write:
		return &Error{Verb: verb, Reason: Writes}
	case managesSession(d, info, sql):
		return nil
	case !info.Flags.Has(sqlclass.UnlistedCalls):
		return &Error{Verb: verb, Reason: NotProven}
	}
	if missing := notAllowed(d, sql, allowed); len(missing) > 0 {
		return &Error{Verb: verb, Reason: CallsFunctions, Functions: missing}
	}
	return nil
}

// notAllowed returns the functions that the text calls, that are on no list of the classifier's, and for which nobody
// vouched; each once, in order.
func notAllowed(d sqlclass.Dialect, sql string, allowed map[string]struct{}) []string {
	var missing []string
	sqlclass.Functions(d, sql, func(name string) bool {
		if _, ok := allowed[strings.ToLower(name)]; !ok && !listed(d, name) && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
		return true
	})
	return missing
}

// listed reports whether the classifier knows the function as one that only reads.
func listed(d sqlclass.Dialect, name string) bool {
	return sqlclass.Classify(d, "SELECT "+name+"()").Class == sqlclass.Read
}

func verbName(v sqlclass.Verb) string {
	switch v {
	case sqlclass.Other, sqlclass.Define, sqlclass.Maintenance, sqlclass.Cursor:
		return "" // a family, not a word of the text
	}
	return strings.ToUpper(strings.ReplaceAll(v.String(), "_", " "))
}
