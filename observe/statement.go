package observe

import (
	"context"

	"github.com/readsplit/readsplit/policy"
)

// Statement is a statement inside of a transaction. Nothing is decided for it: it runs
// where the transaction does.
type Statement struct {
	// Resolver is the name of the resolver that the transaction belongs to; empty where
	// it belongs to none.
	Resolver string
	// Server is the name of the replica, or "primary".
	Server  string
	Replica bool
	// Reason is why it is there.
	Reason policy.Reason
}

// StatementObserver is told of every statement inside of a transaction, before it
// runs: for what belongs to each statement, such as its span. ctx is the statement's.
// A statement that is prepared first is told of twice.
type StatementObserver interface {
	ObserveStatement(ctx context.Context, s Statement)
}
