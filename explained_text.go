package readsplit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/sqlclass"
)

// owed says what the session must see.
func (h *rehearsal) owed(rt *router) string {
	q := &h.query
	switch {
	case !rt.needsClaims(&query{Query: *q}):
		return ""
	case q.Mode == policy.AnyReplica:
		return "gives up what it must see"
	case q.Unsure:
		return policy.ReasonUnsure.Sentence()
	case q.Foreign:
		return policy.ReasonOtherHistory.Sentence()
	case q.Pending:
		return policy.ReasonPositionPending.Sentence()
	case q.Ahead:
		return "must see what was written a moment ago, which no replica is likely to have in time"
	case q.Need.Zero():
		return "nothing that it must see"
	}
	return "must see " + q.Need.LSN.String() + since(q, rt)
}

// since says how far the newest position that is known of the primary is from there.
func since(q *policy.Query, rt *router) string {
	if known := rt.monitor.Reached(); known.History == q.Need.History && lsn.Compare(known, q.Need) == lsn.After {
		return fmt.Sprintf(", %d bytes before the newest that is known of the primary", uint64(known.LSN-q.Need.LSN))
	}
	return ""
}

// why says what a text is, and what that is known from.
func (rt *router) why(text string, info sqlclass.Info) string {
	plain := sqlclass.Classify(rt.dialect, text)
	switch {
	case info.Class == sqlclass.Read && plain.Class != sqlclass.Read:
		return "a " + info.Verb.String() + " that calls only functions that read, as the database's catalogue or Config.ReadFunctions say"
	case info.Class == sqlclass.Read:
		return "a " + info.Verb.String() + " in which nothing writes or locks"
	case plain.Class == sqlclass.Read:
		return "a " + info.Verb.String() + " by its text, which names a view, a function or an operator that may write, as the database's catalogue or Config.WriteFunctions say"
	case info.Class == sqlclass.LockingRead:
		return "a " + info.Verb.String() + " that takes locks"
	case info.Flags.Has(sqlclass.UnlistedCalls):
		return "it calls " + strings.Join(unlisted(rt.dialect, text), ", ") + ", which may write"
	case info.Class == sqlclass.Write && info.Flags.Has(sqlclass.Multi):
		return "several statements, at least one of which writes"
	case info.Class == sqlclass.Write:
		return "its " + info.Verb.String() + " writes"
	}
	return "its " + info.Verb.String() + " cannot be shown to be a read"
}

// unlisted are the functions of a text that are on no list of those that read.
func unlisted(d sqlclass.Dialect, text string) []string {
	var names []string
	sqlclass.Functions(d, text, func(name string) bool {
		if !sqlclass.Harmless(d, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
		return true
	})
	return names
}
