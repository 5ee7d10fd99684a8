package retry

import (
	"context"
	"errors"
	"time"
)

// ErrServerDead is the cause with which whoever watches the servers cancels the attempts in flight on one that it
// holds dead: a frozen server breaks no connection and returns no error, for as long as nobody gives up on it.
//
//	attempt, cancel := context.WithCancelCause(ctx)
//	cancel(retry.ErrServerDead)
var ErrServerDead = errors.New("readsplit: the server is held dead; its reads in flight are broken off and run elsewhere")

// ErrAttemptTimeout is the cause with which one attempt ends at its own deadline while its caller still waits.
//
//	attempt, cancel := context.WithTimeoutCause(ctx, d, retry.ErrAttemptTimeout)
var ErrAttemptTimeout = errors.New("readsplit: the attempt reached its deadline; the read is run elsewhere")

// OfRead judges the error with which a read failed on a replica, from the error alone. It takes a context error
// for the caller's own; whoever has the contexts at hand asks [OfAttempt], which can tell.
//
// An error of which nothing is known is the caller's: a read is moved only for a reason.
func OfRead(err error) Verdict {
	if err == nil {
		return Verdict{}
	}
	return judge(err)
}

// OfAttempt judges the error with which a read failed that ran under the context attempt on behalf of the context
// caller (attempt is caller itself or derived from it).
//
// A context error alone does not say whose context ended. A driver reports its own connect timeout as
// context.DeadlineExceeded, and so it does a read that was broken off with [ErrServerDead]; neither is a reason to
// fail a caller who still waits. A caller who has left gets the error, whatever it is.
func OfAttempt(caller, attempt context.Context, err error) Verdict {
	if err == nil {
		return Verdict{}
	}
	if Ended(caller) {
		return surface(CauseCaller)
	}
	v := judge(err)
	if v.CountsAsWrite {
		// The refusal is the stronger news: it was a write, whatever happened to its attempt meanwhile.
		return v
	}
	if Ended(attempt) {
		switch cause := context.Cause(attempt); {
		case cause == nil: // see Ended
			return elsewhere(CauseAttemptTimeout)
		case errors.Is(cause, ErrServerDead):
			return suspect(CauseServerDead)
		case errors.Is(cause, ErrAttemptTimeout), errors.Is(cause, context.DeadlineExceeded):
			// Slow is not dead, and no other read shall do without the server for it: a lock that replay holds keeps
			// up the readers of one table.
			return elsewhere(CauseAttemptTimeout)
		}
	}
	if v.Cause == CauseCaller && errors.Is(err, context.DeadlineExceeded) {
		// Nobody here set that deadline: it is the driver's own, for a connection or an answer that did not come.
		return suspect(CauseConnection)
	}
	return v
}

// Ended reports whether a context has ended, or its deadline has passed. A driver gives
// the deadline to its sockets, and those can be quicker than the context's own timer: an
// impatient caller would be taken for a server that does not answer.
func Ended(ctx context.Context) bool {
	if ctx.Err() != nil {
		return true
	}
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Before(deadline)
}

// judge descends through wrapped and joined errors to the first that says something.
func judge(err error) Verdict {
	if v, ok := judgeOne(err); ok {
		return v
	}
	v := surface(CauseStatement)
	switch x := err.(type) { //nolint:errorlint // this is the descent itself
	case interface{ Unwrap() error }:
		if inner := x.Unwrap(); inner != nil {
			v = judge(inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range x.Unwrap() {
			if inner != nil {
				v = stronger(v, judge(inner))
			}
		}
	}
	if v.Cause == CauseStatement && (safeToRetry(err) || isNetwork(err)) {
		return suspect(CauseConnection)
	}
	return v
}

// judgeOne judges one error without what it wraps.
func judgeOne(err error) (Verdict, bool) {
	switch {
	case is(err, context.Canceled), err == context.DeadlineExceeded: //nolint:errorlint // net's own timeout Is it too
		return surface(CauseCaller), true
	case err == ErrServerDead: //nolint:errorlint // one layer at a time
		return suspect(CauseServerDead), true
	case err == ErrAttemptTimeout: //nolint:errorlint // one layer at a time
		return elsewhere(CauseAttemptTimeout), true
	}
	if code, ok := sqlState(err); ok {
		v := postgresRead(code, err.Error())
		if v.Cause == CauseConnection && sessionGoesOn(err) {
			v.ServerSuspect = false // postgres_fdw or dblink: it is another server that it does not reach
		}
		return v, true
	}
	if number, ok := sqlErrorNumber(err); ok {
		return sqlServerRead(number), true
	}
	return connectionRead(err)
}

// stronger merges the verdicts of joined errors. A caller who has left wins; then whatever goes to the primary,
// since another replica would refuse it again; then whatever may run elsewhere.
func stronger(a, b Verdict) Verdict {
	win := a
	if rank(b) > rank(a) {
		win = b
	}
	win.CountsAsWrite = a.CountsAsWrite || b.CountsAsWrite
	win.ServerSuspect = a.ServerSuspect || b.ServerSuspect
	return win
}

func rank(v Verdict) int {
	switch {
	case v.Cause == CauseCaller:
		return 4
	case v.Action == Primary:
		return 3
	case v.Action == Elsewhere:
		return 2
	case v.Cause != CauseStatement:
		return 1
	default:
		return 0
	}
}
