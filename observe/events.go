package observe

import (
	"time"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// Decision is one run of a statement outside of transactions, or the beginning of a
// transaction: where it went, and why; or a read that was refused. GORM wraps Create, Update and Delete in a
// transaction unless SkipDefaultTransaction is set.
type Decision struct {
	At time.Time
	// Resolver is the name of the resolver that the statement belongs to; empty where
	// it belongs to none.
	Resolver string
	// Server is the name of the replica, or "primary"; empty where the read was refused.
	Server  string
	Replica bool
	// Refused says that the read failed with readsplit.ErrPrimaryLost,
	// overload.ErrPrimaryBusy or groups.ErrRefused, and was sent nowhere, or nowhere any more.
	Refused bool
	// Reason is why, from one closed list.
	Reason policy.Reason
	// Read says that the statement was taken for a read, or the transaction is a
	// read-only one.
	Read bool
	// Begins says that a transaction has begun there. Its statements follow it and are
	// not told of. A read-only one chooses its server with its first statement, and is
	// told of again if it has to move to the primary.
	Begins bool
	// Attempts is how often the statement was run: more than 1 when a replica failed
	// and it was run again elsewhere, 0 when it was refused before it ran.
	Attempts int
	// Waited is how long the decision took, waiting for a replica to reach the
	// session's position included.
	Waited time.Duration
}

// Retry is a read that failed on a replica and is run again.
type Retry struct {
	At       time.Time
	Resolver string
	Server   string // where it failed
	Cause    retry.Cause
	// Conflict is what the read stood in the way of, where replay cancelled it.
	Conflict retry.ConflictKind
	// Err is what the replica said.
	Err error
}

// Change is a server that has become something else.
type Change struct {
	At       time.Time
	Resolver string
	Server   string // the name of a replica, or "primary"
	// State is one of the monitor's states: up, down, paused, drained, ... Those that may
	// come and go (paused, cut_off, lagging and their ends) are told when they have
	// lasted.
	State string
	// Err is why, where an error is the reason.
	Err error
}

// Capture is a question to the primary for its position, which all who wrote before it
// share.
type Capture struct {
	At       time.Time
	Resolver string
	Took     time.Duration
	Err      error
}

// Discovery is something that Config.Discover has found, or could not find.
type Discovery struct {
	At     time.Time
	Source string // who was asked
	// Kind is one of package discover's: failed, answers, empty, added, removing, refused.
	Kind   string
	Server string // the name of the server; empty where it is about none
	Err    error  // why, of failed and refused
}

// Bad reports whether it is bad news.
func (d Discovery) Bad() bool {
	return d.Kind != "answers" && d.Kind != "added" && d.Kind != "removing"
}

// Token is a session token that was judged when it was joined.
type Token struct {
	At       time.Time
	Resolver string
	Outcome  TokenOutcome
}

// TokenOutcome is what became of a token.
type TokenOutcome uint8

// Outcomes. None of them is an error for the user who sent the token.
const (
	TokenAccepted TokenOutcome = iota // its position counts
	TokenUnsure                       // it says that the outcome of a write is unknown
	TokenRefused                      // forged, truncated, or signed with a key that is not configured
	TokenForeign                      // of another database cluster or history, or beyond what the primary has written
	TokenExpired                      // older than a token counts
)

var outcomes = [...]string{"accepted", "unsure", "refused", "foreign", "expired"}

// String returns the outcome as a label of a metric.
func (o TokenOutcome) String() string {
	if int(o) < len(outcomes) {
		return outcomes[o]
	}
	return "unknown"
}
