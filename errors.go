package readsplit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/readsplit/readsplit/policy"
)

// Errors that a statement or a call can end with. Test with errors.Is.
var (
	// ErrPrimaryLost: the primary cannot be reached and this read asked for a
	// bound on staleness that nothing proves (Config.PrimaryLost: Refuse, or
	// AtMost). Try again later, or ask for less with Stale.
	ErrPrimaryLost = errors.New("readsplit: the primary cannot be reached, so that no bound on staleness is proven")

	// ErrUnknownGroup: the context, or a clause of dbresolver, names what is neither a
	// resolver nor a group: no replica is in it, and Config.Groups does not describe it.
	// The message lists those that there are.
	ErrUnknownGroup = errors.New("readsplit: unknown group or resolver")

	// ErrTokenInTransaction: a token was asked for while a transaction of its
	// session is open, so that it could not cover what the transaction writes.
	// Commit or roll back first.
	ErrTokenInTransaction = errors.New("readsplit: a session token cannot be taken inside an open transaction")

	// ErrWriteInReadOnlyTransaction: a statement that is not a read came after
	// the first one in a transaction that began with sql.TxOptions{ReadOnly: true}
	// and runs on a replica. Begin without ReadOnly.
	ErrWriteInReadOnlyTransaction = errors.New("readsplit: not a read, in a read-only transaction that runs on a replica: begin it without ReadOnly and without Clauses(dbresolver.Read)")

	// ErrClosed: db.Use was called with a plugin that was closed. Make another.
	ErrClosed = errors.New("readsplit: the plugin is closed")
)

// refusal is a read that was refused by decision.
type refusal struct {
	reason policy.Reason
}

func (e *refusal) Error() string {
	return fmt.Sprintf("%v (%s)", ErrPrimaryLost, because(e.reason))
}

// because puts a reason into an error: its label, and what it means in the words that
// explanations use.
func because(r policy.Reason) string {
	sentence := strings.TrimSuffix(r.Sentence(), ".")
	return r.String() + ": " + strings.ToLower(sentence[:1]) + sentence[1:]
}

func (e *refusal) Unwrap() error { return ErrPrimaryLost }
