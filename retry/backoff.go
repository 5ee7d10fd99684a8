package retry

import (
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// Defaults of [Backoff].
const (
	DefaultAttempts = 3
	DefaultBase     = 5 * time.Millisecond
	DefaultMax      = 100 * time.Millisecond
)

// Backoff bounds how often a read is run again and how long it pauses before. It holds no state, draws no random
// number and does not wait: the caller does all three. The zero Backoff is ready to use.
type Backoff struct {
	// Attempts is how many times one read may run, its first run included. -1 means once: no retry. Defaults to 3.
	Attempts int

	// Base is the longest pause before the first run again; the longest pause doubles with every further one. -1
	// means no pause. Defaults to 5 ms.
	Base time.Duration

	// Max bounds the longest pause. Defaults to 100 ms, or to Base where that is longer.
	Max time.Duration
}

// Validate returns an error that names every field whose value has no meaning, or nil.
func (b Backoff) Validate() error {
	var errs []error
	if b.Attempts < -1 {
		errs = append(errs, fmt.Errorf("readsplit: Backoff.Attempts is %d: must be positive; 0 takes the default of %d, -1 means no retry", b.Attempts, DefaultAttempts))
	}
	if b.Base < -1 {
		errs = append(errs, fmt.Errorf("readsplit: Backoff.Base is %v: must not be negative; 0 takes the default of %v, -1 means no pause", b.Base, DefaultBase))
	}
	if b.Max < 0 {
		errs = append(errs, fmt.Errorf("readsplit: Backoff.Max is %v: must not be negative; 0 takes the default of %v, and Base: -1 means no pause", b.Max, DefaultMax))
	} else if b.Max > 0 && b.base() > b.Max {
		errs = append(errs, fmt.Errorf("readsplit: Backoff.Max is %v: must not be below Backoff.Base, which is %v; raise Max or lower Base", b.Max, b.base()))
	}
	return errors.Join(errs...)
}

// Allows reports whether a read that has run n times may run once more.
func (b Backoff) Allows(n int) bool {
	switch {
	case b.Attempts == 0:
		return n < DefaultAttempts
	case b.Attempts < 0:
		return n < 1
	default:
		return n < b.Attempts
	}
}

// Delay returns the pause before a read that has run n times runs once more: between 0 and the longest pause for
// that n, both included, picked by r. With r uniform over all uint64 the pause is uniform too, so that the readers
// that one dead server has thrown out do not come back together.
func (b Backoff) Delay(n int, r uint64) time.Duration {
	longest := b.longest(n)
	if longest <= 0 {
		return 0
	}
	picked, _ := bits.Mul64(r, uint64(longest)+1)
	return time.Duration(picked)
}

// longest doubles without overflow: it stops at Max.
func (b Backoff) longest(n int) time.Duration {
	d, limit := b.base(), b.limit()
	for i := 1; i < n && d > 0; i++ {
		if d > limit/2 {
			return limit
		}
		d *= 2
	}
	return min(d, limit)
}

func (b Backoff) base() time.Duration {
	switch {
	case b.Base == 0:
		return DefaultBase
	case b.Base < 0:
		return 0
	default:
		return b.Base
	}
}

func (b Backoff) limit() time.Duration {
	if b.Max > 0 {
		return b.Max
	}
	return max(DefaultMax, b.base())
}
