package nemesis

import (
	"context"
	"errors"
	"sync"
	"time"
)

// repeated does something again and again until it is undone. One goroutine runs
// until then; the undo joins it. Errors are no news: the servers are being broken.
func repeated(every time.Duration, do func(ctx context.Context) error) Undo {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			_ = do(ctx)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() error {
		cancel()
		running.Wait()
		return nil
	}
}

// until asks again and again until the answer is yes.
func until(ctx context.Context, holds func(ctx context.Context) (bool, error)) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := holds(ctx)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New("verify: what was waited for did not come")
		case <-tick.C:
		}
	}
}
