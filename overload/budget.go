package overload

import (
	"errors"
	"fmt"
	"time"
)

// DefaultMaxWait is the default of [Budget.MaxWait].
const DefaultMaxWait = time.Second

// Budget bounds how many reads that wanted a replica run on one primary at the
// same time. Writes, and reads that belong on the primary (Fresh, locking reads,
// reads in transactions and hooks), are never bounded: they neither wait nor count.
// The zero Budget bounds nothing.
type Budget struct {
	// Reads is how many such reads run on the primary at once, from this process.
	// 0: no bound. Defaults to 0.
	Reads int

	// Beyond says what becomes of a read for which there is no place.
	// Defaults to Wait.
	Beyond Beyond

	// MaxWait is how long a read waits for a place at most; after it, it fails with
	// ErrPrimaryBusy. Defaults to 1 s.
	MaxWait time.Duration
}

// Beyond is what becomes of a read for which the budget has no place.
type Beyond uint8

// Choices beyond the budget.
const (
	// Wait waits for a place, by priority and then by turn, for at most MaxWait.
	Wait Beyond = iota
	// ServeStale serves the read from a replica however old that is, with the reason
	// served_stale; what its own session wrote it sees all the same. A read that no
	// replica may serve even so (its own write is on none, it asked for a bound of
	// its own with AtMost, a policy keeps it away, it follows a read that was on the
	// primary) waits as under Wait. As under Stale, a context without a session gives
	// up the writes of its process.
	ServeStale
	// Fail fails the read at once with ErrPrimaryBusy. What belongs to a read that
	// was let in (its preloads, queries of its AfterFind) waits for at most
	// DefaultMaxWait: to fail it then would waste what was done.
	Fail
)

// Limited reports whether b bounds anything.
func (b Budget) Limited() bool { return b.Reads > 0 }

// WithDefaults returns b with its defaults.
func (b Budget) WithDefaults() Budget {
	if b.MaxWait == 0 {
		b.MaxWait = DefaultMaxWait
	}
	return b
}

// Validate returns an error that names every field whose value has no meaning, or
// nil. b is as the application gave it.
func (b Budget) Validate() error {
	var errs []error
	add := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("readsplit: Budget."+format, args...))
	}
	if b.Reads < 0 {
		add("Reads is %d: must not be negative; 0 means no bound", b.Reads)
	}
	if b.Beyond > Fail {
		add("Beyond is %d: must be overload.Wait, overload.ServeStale or overload.Fail", b.Beyond)
	}
	if b.MaxWait < 0 {
		add("MaxWait is %v: must not be negative; 0 takes the default of %v, and Beyond: overload.Fail waits for nothing", b.MaxWait, DefaultMaxWait)
	}
	if b.MaxWait > 0 && b.Beyond == Fail {
		add("MaxWait is %v, and Beyond is overload.Fail, under which nothing waits: leave MaxWait out, or choose overload.Wait", b.MaxWait)
	}
	if b.Reads == 0 && (b.Beyond != Wait || b.MaxWait > 0) {
		add("Reads is 0, which bounds nothing, and Beyond or MaxWait is set: set Reads, or leave both out")
	}
	return errors.Join(errs...)
}
