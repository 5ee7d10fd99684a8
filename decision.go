package readsplit

import (
	"strconv"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/policy"
)

// Decision is where a statement was served, and why.
type Decision struct {
	// Server is the name of the replica, or "primary".
	Server string
	// Resolver is the name of the resolver that the statement belongs to; empty
	// where it belongs to none.
	Resolver string
	// Replica reports whether it was a replica.
	Replica bool
	// Reason is why, from one closed list. Its text is Reason.String(): string(d.Reason)
	// would make a character of its number.
	Reason policy.Reason
	// Attempts is how often the statement was run: more than 1 when a replica
	// failed and it was run again elsewhere.
	Attempts int
}

// String says it as the log does ([Config.LogServers]): "pg2, caught_up". A resolver and
// further runs are named where there are any: "pg2 of archive, caught_up, run 2".
func (d Decision) String() string {
	if d.Server == "" {
		return "not routed"
	}
	text := d.Server
	if d.Resolver != "" {
		text += " of " + d.Resolver
	}
	text += ", " + d.Reason.String()
	if d.Attempts > 1 {
		text += ", run " + strconv.Itoa(d.Attempts)
	}
	return text
}

// DecisionOf tells where the statement that tx is the result of was served:
//
//	tx := db.WithContext(ctx).Find(&orders)
//	d, ok := readsplit.DecisionOf(tx)
//
// The generics API returns no *gorm.DB to ask. ok is false when tx has run nothing, or nothing that was routed (a dry run, a
// connection of the application's own).
func DecisionOf(tx *gorm.DB) (d Decision, ok bool) {
	if tx == nil || tx.Statement == nil {
		return Decision{}, false
	}
	switch pool, _ := unwrap(tx.Statement.ConnPool); pool := pool.(type) {
	case *route:
		if !pool.ran {
			return Decision{}, false
		}
		return decisionOn(pool.router, pool.at, pool.reason, max(int(pool.attempts), 1)), true
	case *rootPool:
		// Between the commit of a default transaction and the end of its statement
		// GORM's own pool is there.
		if tx.Statement.SQL.Len() == 0 || tx.DryRun {
			return Decision{}, false
		}
		return decisionOn(pool.router, nil, policy.ReasonWrite, 1), true
	case *trackedTx:
		if pool == nil {
			return Decision{}, false
		}
		return decisionOn(pool.router, nil, policy.ReasonInTransaction, 1), true
	case *readOnlyTx:
		if pool == nil {
			return Decision{}, false
		}
		pool.mu.Lock()
		defer pool.mu.Unlock()
		if pool.replica == nil && pool.primary == nil {
			return Decision{}, false
		}
		reason := pool.reason
		if pool.primary != nil && reason == 0 {
			reason = policy.ReasonReadOnlyTransaction
		}
		return decisionOn(pool.router, pool.server, reason, 1), true
	}
	return Decision{}, false
}

func decisionOn(rt *router, s *server, reason policy.Reason, attempts int) Decision {
	d := Decision{Server: primaryName, Resolver: rt.name, Reason: reason, Attempts: attempts}
	if s != nil {
		d.Server, d.Replica = s.name, true
	}
	return d
}
