package readsplit

import (
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/sqlclass"
)

// effect is what a statement that is not a read may do, as far as its session
// is concerned.
type effect struct {
	// insert: the commit may be acknowledged before it is flushed.
	insert bool
	// everybody: it changes the schema, which concerns every session.
	everybody bool
	// redefines: it may change what functions and views do.
	redefines bool
	// partial: a part of it may be committed although it failed.
	partial bool
	// none: it is not a read, but it changes nothing that a session could miss.
	none bool
	// began is the primary's history when the statement was about to be sent; nil: it
	// was not.
	began *lsn.History
}

// since is began as a value.
func (e effect) since() (h lsn.History) {
	if e.began != nil {
		h = *e.began
	}
	return h
}

func effectOf(info sqlclass.Info) effect {
	e := effect{
		insert:    info.Flags.Has(sqlclass.AsyncCommit),
		everybody: info.Flags.Has(sqlclass.DDL),
		redefines: info.Flags.Has(sqlclass.Redefines),
		partial:   info.Flags.Has(sqlclass.Multi),
	}
	if info.Flags.Has(sqlclass.SetsLocal) {
		e.none = true
		return e
	}
	switch info.Verb {
	case sqlclass.Call, sqlclass.Do, sqlclass.Maintenance:
		e.partial = true
	case sqlclass.Set, sqlclass.SetTransaction, sqlclass.Reset, sqlclass.Show, sqlclass.Savepoint, sqlclass.Release, sqlclass.RollbackTo,
		sqlclass.Begin, sqlclass.Rollback, sqlclass.Deallocate:
		e.none = !info.Flags.Has(sqlclass.Multi)
	default:
		e.none = info.Class == sqlclass.LockingRead && !info.Flags.Has(sqlclass.Multi)
	}
	return e
}

// noticeSettings takes in a statement that changes what a later commit means.
func (rt *router) noticeSettings(info sqlclass.Info) {
	if info.Flags.Has(sqlclass.AsyncCommit) {
		// A SET outside a transaction stays on its pooled connection, where any
		// later transaction may find it.
		plugins.commitAsync(rt)
	}
}
