package retry

import "errors"

// ErrOutcomeUnknown is the kind of the error with which a write or a COMMIT ends that may have been committed: the
// connection broke, the server was shut down, or the context ended, after it was sent and before it was acknowledged.
// Test with errors.Is; errors.As finds the driver's own error behind it.
//
// Read the row again, through the same session, before deciding anything: the session reads from the primary until
// that is safe elsewhere. A statement that is repeated blindly may be done twice.
var ErrOutcomeUnknown = errors.New("readsplit: the outcome of the write is unknown")

// WithOutcome returns err as [ErrOutcomeUnknown] where [OfWrite] cannot tell how the write ended, and err itself
// otherwise. What is marked already stays as it is, and so does an error that speaks neither of the server, nor of the
// connection, nor of a context: a driver that cannot encode a value has not sent it, but has no way to say so.
func WithOutcome(err error) error {
	if err == nil || OfWrite(err) != Unknown || errors.Is(err, ErrOutcomeUnknown) || !brokenOff(err) {
		return err
	}
	return unknownOutcome{err, nil}
}

// brokenOff reports whether something in err can end a write that was sent.
func brokenOff(err error) bool {
	if judge(err).Cause != CauseStatement {
		return true
	}
	for _, e := range layers(err, nil) {
		if _, ok := sqlState(e); ok {
			return true
		}
		if _, ok := sqlErrorNumber(e); ok {
			return true
		}
	}
	return false
}

// AfterUnknown returns err, which came after a write had ended in the error before, as an error that is still
// before's [ErrOutcomeUnknown]. It returns err where before is none.
//
// It is for the Rollback that programs defer: gorm keeps the text of the first error alone, and the second one must
// not hide what is unknown.
func AfterUnknown(before, err error) error {
	if err == nil || !errors.Is(before, ErrOutcomeUnknown) {
		return err
	}
	return unknownOutcome{err, before}
}

// unknownOutcome marks an error.
type unknownOutcome struct {
	err    error
	before error // that is unknown, where err only came after it
}

func (e unknownOutcome) Error() string {
	if e.before != nil {
		return e.err.Error()
	}
	return "readsplit: the outcome of the write is unknown, it may have been committed: read the row again through the same session, do not blindly repeat the write (" + e.err.Error() + ")"
}

// Is makes it an [ErrOutcomeUnknown].
func (e unknownOutcome) Is(target error) bool { return target == ErrOutcomeUnknown }

func (e unknownOutcome) Unwrap() []error {
	if e.before != nil {
		return []error{e.err, e.before}
	}
	return []error{e.err}
}
