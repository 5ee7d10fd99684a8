// Package history is what happened in a run: which client asked for what, when,
// and what came of it, in a form that a person can read and a checker can judge
// again years later. It knows neither GORM nor a database.
package history

import "time"

// Kind is what an event is about.
type Kind string

// Kinds of events.
const (
	// KindWrite is one transaction that writes, from its beginning to the answer to
	// its commit.
	KindWrite Kind = "write"
	// KindRead is one read, or several that belong together (see Event.Together).
	KindRead Kind = "read"
	// KindToken is a session's token being taken, KindJoin the same token being
	// joined by another session. Token holds its number.
	KindToken Kind = "token"
	KindJoin  Kind = "join"
	// KindFault is a fault: Invoke is before it was injected, Return after it was
	// undone.
	KindFault Kind = "fault"
	// KindFinal is what the primary held of one key when everything was over.
	KindFinal Kind = "final"
)

// Result is what came of an operation, as far as its client can know.
type Result string

// Results. A write whose result is Unknown may have happened, or may still happen
// at any later time; one that has Failed must never be seen.
const (
	OK      Result = "ok"
	Failed  Result = "fail"
	Unknown Result = "unknown"
)

// Mode is what a read asked for.
type Mode string

// Modes, after the marks of a context.
const (
	Normal     Mode = ""
	Fresh      Mode = "fresh"
	AtMost     Mode = "at_most" // Event.Bound
	Stale      Mode = "stale"
	AnyReplica Mode = "any_replica"
)

// Together is how the reads of one event belong together.
type Together string

// Ways in which reads belong together.
const (
	// Apart: nothing is promised about one in the light of another.
	Apart Together = ""
	// Snapshot: they show one state, as one statement or a REPEATABLE READ
	// transaction does.
	Snapshot Together = "snapshot"
	// Follows: each shows the state of the one before it or a later one, as a
	// preload does.
	Follows Together = "follows"
)

// Event is one line of a history. Times are nanoseconds on one monotonic clock
// that all processes of the run share; the promise is about these intervals and
// nothing in between.
type Event struct {
	Kind    Kind   `json:"kind"`
	Process int    `json:"process,omitempty"`
	Client  int    `json:"client,omitempty"`
	Session string `json:"session,omitempty"` // empty: a client without a session
	Way     string `json:"way,omitempty"`     // through which door of GORM
	Invoke  int64  `json:"invoke"`
	Return  int64  `json:"return"`
	Result  Result `json:"result,omitempty"`
	Error   string `json:"error,omitempty"` // its type and SQLSTATE; never a DSN or a value

	// Of writes. Async: the commit was not waited for until it was on disk.
	Writes []Write `json:"writes,omitempty"`
	Async  bool    `json:"async,omitempty"`
	// Says is what the error of a write says of its outcome: that it has failed, or
	// that nobody knows. Empty: there is no error, or whoever returned it says nothing.
	Says Result `json:"says,omitempty"`

	// Of reads. Free: nothing is promised about errors of this one. Server is what
	// the server itself said, Reason and Attempts what the router said.
	Reads    []Read        `json:"reads,omitempty"`
	Together Together      `json:"together,omitempty"`
	Mode     Mode          `json:"mode,omitempty"`
	Bound    time.Duration `json:"bound,omitempty"`
	Free     bool          `json:"free,omitempty"`
	Server   string        `json:"server,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Attempts int           `json:"attempts,omitempty"`
	// Queued: it failed because its turn on the primary never came, though it waited
	// for longer than any fault lasts.
	Queued bool `json:"queued,omitempty"`
	// InTx: a statement of a transaction. What it shows counts as seen, and it is not
	// held to what was seen before.
	InTx bool `json:"in_tx,omitempty"`

	// Of tokens and joins.
	Token string `json:"token,omitempty"`

	// Of faults.
	Fault string `json:"fault,omitempty"`
	On    string `json:"on,omitempty"` // which server
	// Breaks: whoever needs the primary may get an error.
	Breaks bool `json:"breaks,omitempty"`
	// Loses: a commit that was not waited for may be gone.
	Loses bool `json:"loses,omitempty"`
	// Promoted is the server that took over in a failover, which may lose any commit
	// that it had not replayed.
	Promoted string `json:"promoted,omitempty"`

	// Of the final state: the values of Key, of a register by version from 1 on.
	Key    string   `json:"key,omitempty"`
	Values []string `json:"values,omitempty"`
}

// Write is one value that was written. No two writes of a run have the same value.
type Write struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// Version is the version that a register got; 0 where the client was not told.
	Version int64 `json:"version,omitempty"`
}

// Read is what one key showed.
//
// Keys of registers begin with r and have a version that grows by one with each
// commit: 0 is the state before the first write, -1 that the row was missing. Keys of
// lists begin with l, and values are only ever added to them; those of places that
// are filled once begin with f, and show one of their values, or none.
type Read struct {
	Key     string   `json:"key"`
	Version int64    `json:"version,omitempty"`
	Value   string   `json:"value,omitempty"`
	Values  []string `json:"values,omitempty"`
	Server  string   `json:"server,omitempty"` // where it is not the event's
}

// IsRegister reports whether key stands for a register.
func IsRegister(key string) bool { return key != "" && key[0] == 'r' }

// IsList reports whether key stands for a list.
func IsList(key string) bool { return key != "" && key[0] == 'l' }

// IsPlace reports whether key stands for a place that is filled once.
func IsPlace(key string) bool { return key != "" && key[0] == 'f' }

// Header is the first line of a history: what there was, and what was promised.
type Header struct {
	Version int    `json:"version"`
	Seed    uint64 `json:"seed"`
	Episode string `json:"episode"`
	Plugin  string `json:"plugin"`
	Server  string `json:"server"` // PostgreSQL's version
	Primary string `json:"primary"`
	// Command is what runs the same schedule again.
	Command string `json:"command"`
	// MaxLag bounds how old a read may be that asks for nothing; 0: nothing is
	// promised.
	MaxLag time.Duration `json:"max_lag"`
	// Window: while the primary is lost, what nobody's session wrote binds reads for so
	// long; 0: for ever.
	Window time.Duration `json:"window,omitempty"`
	// Monotonic are the processes in which reads of one session never go backwards.
	// A token that is taken there carries what was seen to any process.
	Monotonic []int `json:"monotonic_in,omitempty"`
}

// History is one run of a workload under faults.
type History struct {
	Header Header
	Events []Event
}
