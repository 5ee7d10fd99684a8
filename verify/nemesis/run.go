package nemesis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/readsplit/readsplit/verify/history"
)

// Run carries out a schedule and returns when the last fault was undone, or ctx has
// ended and all were. One goroutine runs for each step. A fault that makes no sense
// at its moment (pausing a server that is down) is told to skipped and forgotten.
func Run(ctx context.Context, env *Env, steps []Step, record func(e history.Event), skipped func(s Step, err error)) error {
	var mu sync.Mutex
	var errs []error
	var running sync.WaitGroup
	began := time.Now()
	for _, s := range steps {
		running.Go(func() {
			if !sleep(ctx, s.At-time.Since(began)) {
				return
			}
			if err := strike(ctx, env, s, record, skipped); err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// undoWithin bounds how long servers may take to come back.
const undoWithin = 30 * time.Second

func strike(ctx context.Context, env *Env, s Step, record func(e history.Event), skipped func(s Step, err error)) error {
	f, ok := Lookup(s.Fault)
	if !ok {
		return fmt.Errorf("verify: fault %q is not known", s.Fault)
	}
	e := history.Event{Kind: history.KindFault, Fault: f.Name, On: s.On, Breaks: f.Breaks, Loses: f.Loses, Invoke: history.Now()}
	injecting, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	undo, err := f.inject(injecting, env, s)
	cancel()
	if err != nil {
		skipped(s, err)
		if !f.Breaks {
			return nil
		}
		// It may have struck all the same.
		e.Return = history.Now()
		record(e)
		return nil
	}
	sleep(ctx, s.For)
	err = undone(ctx, undo)
	e.Return = history.Now()
	record(e)
	if err != nil {
		return fmt.Errorf("verify: undo %s on %s: %w", s.Fault, s.On, err)
	}
	return nil
}

// undone ends a fault. What another fault is in the way of is tried again.
func undone(ctx context.Context, undo Undo) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	for {
		err := undo()
		if err == nil || !sleep(ctx, 200*time.Millisecond) {
			return err
		}
	}
}

// sleep returns false when ctx has ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
