package retry

// Action is what may be done after a read failed on a replica.
type Action uint8

const (
	// Surface: give the error to the caller. Another server would answer the same, or the caller has left.
	Surface Action = iota
	// Elsewhere: the same read may run on another replica, and on the primary when none is left.
	Elsewhere
	// Primary: the same read may run on the primary, and on no other replica, which would refuse it likewise.
	Primary
)

// String returns the action as it appears in logs and metrics.
func (a Action) String() string {
	switch a {
	case Surface:
		return "surface"
	case Elsewhere:
		return "elsewhere"
	case Primary:
		return "primary"
	default:
		return "invalid"
	}
}

// Cause is why a read failed: one closed list, fit for a metric label.
type Cause uint8

const (
	// CauseNone: there was no error.
	CauseNone Cause = iota
	// CauseStatement: the statement itself is at fault, or nothing in the error speaks of the server.
	CauseStatement
	// CauseCaller: the caller's context ended.
	CauseCaller
	// CauseCanceled: the server cancelled the statement on request or by statement_timeout.
	CauseCanceled
	// CauseConnection: the connection broke, or could not be made.
	CauseConnection
	// CauseServerDead: the attempt was broken off because the server is held dead, see [ErrServerDead].
	CauseServerDead
	// CauseAttemptTimeout: the attempt was broken off at its own deadline, see [ErrAttemptTimeout].
	CauseAttemptTimeout
	// CauseTerminated: the server ended the session, as it does when it shuts down.
	CauseTerminated
	// CauseStarting: the server is starting, recovering, or not open for reads.
	CauseStarting
	// CauseRecoveryConflict: replay cancelled the statement, which needed rows that replay had to remove.
	CauseRecoveryConflict
	// CauseLockTimeout: a lock was not to be had in time, on a standby one that replay holds.
	CauseLockTimeout
	// CauseReadOnlyRefusal: the server refuses writes, and this was one.
	CauseReadOnlyRefusal
	// CauseUnsupportedOnStandby: the statement needs what only a primary has.
	CauseUnsupportedOnStandby
	// CauseSchemaBehind: a table, column, type or function is not there, or not there yet.
	CauseSchemaBehind
	// CauseStalePlan: a prepared statement outlived the schema or the session that it was prepared for.
	CauseStalePlan
	// CauseTooManyConnections: the server takes no further connection.
	CauseTooManyConnections
	// CauseResources: the server, or this process, ran out of memory, disk, locks or file descriptors.
	CauseResources
	// CauseStorage: the server could not read its own files, or found them damaged.
	CauseStorage
	// CauseConfiguration: this login or this kind of connection is refused. It stays so until someone acts.
	CauseConfiguration

	causeEnd
)

var causeNames = [causeEnd]string{
	CauseNone:                 "none",
	CauseStatement:            "statement",
	CauseCaller:               "caller",
	CauseCanceled:             "canceled",
	CauseConnection:           "connection",
	CauseServerDead:           "server_dead",
	CauseAttemptTimeout:       "attempt_timeout",
	CauseTerminated:           "terminated",
	CauseStarting:             "starting",
	CauseRecoveryConflict:     "recovery_conflict",
	CauseLockTimeout:          "lock_timeout",
	CauseReadOnlyRefusal:      "read_only_refusal",
	CauseUnsupportedOnStandby: "unsupported_on_standby",
	CauseSchemaBehind:         "schema_behind",
	CauseStalePlan:            "stale_plan",
	CauseTooManyConnections:   "too_many_connections",
	CauseResources:            "resources",
	CauseStorage:              "storage",
	CauseConfiguration:        "configuration",
}

// String returns the cause as it appears in logs and metrics.
func (c Cause) String() string {
	if c >= causeEnd {
		return "invalid"
	}
	return causeNames[c]
}

// Causes returns the whole list, in the order of its values: what a metric with this label can show.
func Causes() []Cause {
	all := make([]Cause, causeEnd)
	for i := range all {
		all[i] = Cause(i)
	}
	return all
}

// Verdict is the judgement of one failed read. The zero Verdict is that of no error.
type Verdict struct {
	Action Action
	Cause  Cause

	// CountsAsWrite: the statement was taken for a read and turned out to write, or cannot be shown not to.
	// Where it runs next, it has to be treated as a write: its session must see what it did.
	CountsAsWrite bool

	// ServerSuspect: what is known of the server may be void. A server that breaks a connection may come back
	// within 300 ms, in the state of its last restartpoint, and answer with older rows than it had shown before.
	ServerSuspect bool
}

func surface(c Cause) Verdict   { return Verdict{Action: Surface, Cause: c} }
func elsewhere(c Cause) Verdict { return Verdict{Action: Elsewhere, Cause: c} }
func primary(c Cause) Verdict   { return Verdict{Action: Primary, Cause: c} }
func suspect(c Cause) Verdict   { return Verdict{Action: Elsewhere, Cause: c, ServerSuspect: true} }

// asWrite is a refusal of something that is no read: it goes to the primary and counts as what it is.
func asWrite(c Cause) Verdict { return Verdict{Action: Primary, Cause: c, CountsAsWrite: true} }
