package testenv

import (
	"context"
	"fmt"
	"time"
)

// poll asks done every interval until it says true, fails, or ctx ends. What done reported last
// as not yet true is in the error, so that a timeout says what it was waiting for.
func poll(ctx context.Context, every time.Duration, done func() (ok bool, state string, err error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		ok, state, err := done()
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), state)
		}
	}
}

// bounded gives ctx a deadline when it has none: a server that never answers must fail the test
// that waits for it, not hang the whole run.
func bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}
