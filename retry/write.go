package retry

import "strings"

// Outcome is what is known of a write, or of a COMMIT, after it ended.
type Outcome uint8

const (
	// Unknown: it may have been committed. Until the session has read a position captured after this moment, it
	// must not read where the write might be missing.
	Unknown Outcome = iota
	// Committed: the server acknowledged it.
	Committed
	// RolledBack: the server said that it did not happen.
	RolledBack
	// NeverSent: it did not reach the server.
	NeverSent
)

// String returns the outcome as it appears in logs and metrics.
func (o Outcome) String() string {
	switch o {
	case Unknown:
		return "unknown"
	case Committed:
		return "committed"
	case RolledBack:
		return "rolled_back"
	case NeverSent:
		return "never_sent"
	default:
		return "invalid"
	}
}

// Happened reports whether the write has, or may have, changed the database: then its session has written.
func (o Outcome) Happened() bool { return o != RolledBack && o != NeverSent }

// OfWrite judges how an autocommit write, or a COMMIT, ended. A nil error is [Committed]; what is not proven
// otherwise is [Unknown]: a connection that broke, a context that ended while the server was at work (it cancels
// the wait for a synchronous replica, not the commit: an error is returned, and the row is there), a server that
// was shut down, a driver.ErrBadConn.
//
// It needs the error of the driver itself. Where gorm has put a second error behind the first (which it keeps as
// text only), or has translated it, the answer is Unknown.
//
// It speaks of one statement. CALL, DO and several statements in one string may commit a part before they fail:
// for these only NeverSent is to be believed.
func OfWrite(err error) Outcome {
	if err == nil {
		return Committed
	}
	if o, ok := outcomeOne(err); ok {
		return o
	}
	switch x := err.(type) { //nolint:errorlint // this is the descent itself
	case interface{ Unwrap() error }:
		inner := x.Unwrap()
		if inner == nil || hidesAnother(err, inner) {
			return Unknown
		}
		return OfWrite(inner)
	case interface{ Unwrap() []error }:
		return leastKnown(x.Unwrap())
	}
	return Unknown
}

// outcomeOne judges one error without what it wraps.
func outcomeOne(err error) (Outcome, bool) {
	if code, ok := sqlState(err); ok {
		o := postgresWrite(code)
		if o == Unknown && sessionGoesOn(err) && len(code) == 5 && ownTrouble(code) {
			o = RolledBack
		}
		return o, true
	}
	if number, ok := sqlErrorNumber(err); ok {
		return sqlServerWrite(number, sqlErrorClass(err)), true
	}
	if neverSent(err) {
		return NeverSent, true
	}
	switch err.Error() {
	case textCommitRollback, textCommitFailedTx:
		return RolledBack, true
	}
	return Unknown, false
}

// leastKnown merges joined errors: each of them may be the one that matters.
func leastKnown(errs []error) Outcome {
	known, seen := NeverSent, false
	for _, err := range errs {
		if err == nil {
			continue
		}
		seen = true
		switch OfWrite(err) {
		case NeverSent:
		case RolledBack:
			known = RolledBack
		default:
			return Unknown
		}
	}
	if !seen {
		return Unknown
	}
	return known
}

// hidesAnother recognises gorm's DB.AddError, which formats the first error as text and wraps the second. The first
// is the one that says what became of the write ("unexpected EOF"); the second, from the rollback on a connection
// that is gone, says truly that it was never sent.
func hidesAnother(outer, inner error) bool {
	return strings.HasSuffix(outer.Error(), "; "+inner.Error())
}

// postgresWrite judges by SQLSTATE. The server reports what it has rolled back as an ERROR and keeps the session;
// whatever can come with the end of the session (FATAL, PANIC) can also come after the commit record was written.
func postgresWrite(code string) Outcome {
	switch code {
	case "53300", "57P03":
		return NeverSent // told to whoever connects
	case "25P03", "25P04", "40003", "57000", "57P01", "57P02", "57P04", "57P05":
		return Unknown
	}
	if len(code) != 5 {
		return Unknown
	}
	switch code[:2] {
	case "00", "01", "02": // not errors
		return Unknown
	case "08", "53", "58", "F0", "XX":
		return Unknown
	}
	return RolledBack
}

// ownTrouble reports whether a code is of the server's own memory, disk or code. As an ERROR it came before the commit
// record: from there on whatever fails is a PANIC.
func ownTrouble(code string) bool {
	switch code[:2] {
	case "53", "58", "XX":
		return true
	}
	return false
}

// sqlServerWrite judges by number. An error of one statement does not undo what the rest of its batch, or a trigger's
// caller, has done: only errors that are known to leave nothing behind are definite.
func sqlServerWrite(number int32, class uint8) Outcome {
	if class >= 20 {
		return Unknown // severs the connection
	}
	switch number {
	case 102, 105, 156, 195, 201, 207, 208, 213, 229, 230, 245, 262, // not compiled, not permitted, not converted
		515, 544, 547, 2601, 2627, 2628, 8115, 8134, 8152, // a constraint or a value
		1205, 1222, 3960, 41302, 41305, 41325, // deadlock victim, lock timeout, conflict of versions
		3930, 3998, // a transaction that cannot be committed any more
		3906: // read-only database
		return RolledBack
	case 976, 978, 982, 983, 988, 921, 922, 4060, 4221, 17142, 17187, 17188, 18401, 18456, 40613:
		return NeverSent // told to whoever logs in
	}
	return Unknown
}
