package overload

import (
	"errors"
	"fmt"
	"time"
)

// ErrPrimaryBusy is the error of a read that wanted a replica, when no replica was
// right for it and as many such reads as the budget allows were running on the
// primary. Nothing was sent.
// Try again later, ask for less with Stale, or raise Config.PrimaryBudget. A
// [*BusyError] holds the numbers.
var ErrPrimaryBusy = errors.New("readsplit: the primary is busy with reads that no replica could serve")

// BusyError is a read for which there was no place. errors.Is finds
// [ErrPrimaryBusy] in it, and the error of the context where that ended the wait.
type BusyError struct {
	Reads   int           // the budget
	Running int           // reads that had a place when it was given up
	Waiting int           // reads that still waited then
	Waited  time.Duration // how long this one did; 0: not at all
	Cause   error         // of the context; nil: the longest wait was over
}

// Error implements error.
func (e *BusyError) Error() string {
	why := ""
	if e.Cause != nil {
		why = ", until its context ended: " + e.Cause.Error()
	}
	return fmt.Sprintf("%v: %d run and %d wait within Config.PrimaryBudget.Reads, %d; this one waited %v%s (bring the replicas back, read with Stale, raise Reads or MaxWait, or set Beyond: overload.ServeStale)",
		ErrPrimaryBusy, e.Running, e.Waiting, e.Reads, e.Waited.Round(100*time.Microsecond), why)
}

// Unwrap makes errors.Is see both.
func (e *BusyError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrPrimaryBusy}
	}
	return []error{ErrPrimaryBusy, e.Cause}
}
