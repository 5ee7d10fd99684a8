package retry

// Strikes reports whether a failure speaks against the server and not against the
// statement: when it happens several times in a row, other reads should not be sent
// there. A conflict with replay, a lock (which an attempt that took too long may have
// waited for), a plan or a schema that is behind, or whatever is wrong with the
// statement itself, says nothing about the next read.
func (v Verdict) Strikes() bool {
	if v.ServerSuspect {
		return true
	}
	switch v.Cause {
	case CauseConnection, CauseTerminated, CauseStarting,
		CauseTooManyConnections, CauseResources, CauseStorage:
		return true
	case CauseConfiguration:
		return v.Action == Elsewhere // the login is refused, not this statement alone
	default:
		return false
	}
}
