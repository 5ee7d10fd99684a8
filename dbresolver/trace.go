package dbresolver

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// modeKey is under what dbresolver's logger finds the mode. The constant is
// unexported there.
const modeKey ResolverModeKey = "dbresolver:resolver_mode_key"

// trace tells dbresolver's logger where statements ran, once one resolver asks
// for it. The caller holds mu.
func (r *DBResolver) trace(c Config) {
	if !c.TraceResolverMode || r.tracing {
		return
	}
	r.tracing = true
	r.db.Logger = NewResolverModeLogger(r.db.Logger)
	cb := r.db.Callback()
	for _, register := range []func(string, func(*gorm.DB)) error{
		cb.Query().After("*").Register, cb.Row().After("*").Register, cb.Raw().After("*").Register,
		cb.Create().After("*").Register, cb.Update().After("*").Register, cb.Delete().After("*").Register,
	} {
		_ = register("readsplit:resolver_mode", markMode)
	}
}

// markMode leaves the mode in the context that the logger gets. A statement inside
// a transaction on the primary has none, as in dbresolver.
func markMode(db *gorm.DB) {
	d, ok := readsplit.DecisionOf(db)
	if _, tx := db.Statement.ConnPool.(gorm.TxCommitter); !ok || tx && !d.Replica {
		return
	}
	mode := ResolverModeSource
	if d.Replica {
		mode = ResolverModeReplica
	}
	db.Statement.Context = context.WithValue(db.Statement.Context, modeKey, mode)
}
