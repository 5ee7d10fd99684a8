package catalog

import (
	"context"
	"time"
)

// run is the goroutine of Start.
func (c *Catalog) run() {
	defer close(c.done)
	for c.ctx.Err() == nil {
		began := time.Now()
		look, err := c.turn()
		// A migration of a thousand statements says Refresh a thousand times: at most
		// half of the time goes into loads.
		if !c.pause(min(time.Since(began), defaultEvery), nil) || !c.pause(c.interval(look, err), c.wake) {
			return
		}
	}
}

// interval is how long to wait for a Refresh before the next look; 0 is for ever.
// look is how long the newest one took.
func (c *Catalog) interval(look time.Duration, err error) time.Duration {
	switch every := c.cfg.Every; {
	case every > 0 && err == nil:
		return max(every, min(look*time.Duration(c.apart), longestApart))
	case every > 0:
		return every
	case err != nil:
		return defaultRetry // what Refresh asked for is still to come
	}
	return 0
}

// pause waits for d, for ever if it is 0 and there is something to be woken by. It
// reports false when the Catalog was closed.
func (c *Catalog) pause(d time.Duration, woken <-chan struct{}) bool {
	var over <-chan time.Time
	if d > 0 || woken == nil {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-c.ctx.Done():
		return false
	case <-woken:
	case <-over:
	}
	return true
}

// turn brings the snapshot up to date: with a look alone, whose duration it
// returns, if nothing has changed.
func (c *Catalog) turn() (look time.Duration, err error) {
	c.mu.Lock()
	wanted, current, mark := c.wanted, c.current, c.mark
	c.mu.Unlock()
	began := time.Now()
	if current {
		now, err := ask(c, c.asked.look)
		if look = time.Since(began); err != nil || now == mark {
			return look, c.ended(err)
		}
		began = time.Now()
	}
	f, err := ask(c, c.asked.load)
	if err != nil {
		return look, c.ended(err)
	}
	c.publish(newSnapshot(f, c.snapshot.Load().said), f.mark, wanted, began)
	return look, c.ended(nil)
}

func ask[T any](c *Catalog, query func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.Timeout)
	defer cancel()
	return query(ctx)
}

// publish puts s in use. A load that began before the latest Refresh may have seen
// what was before the change: its risks count, what it takes for reads does not.
func (c *Catalog) publish(s *snapshot, mark string, wanted uint64, began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = wanted == c.wanted
	if !c.current {
		s = s.forgotten()
	}
	c.replace(s)
	c.mark = mark
	c.status.Loads++
	c.status.LoadedAt, c.status.Took = began, time.Since(began)
	close(c.loaded)
	c.loaded = make(chan struct{})
}

// ended notes how a query ended, and tells of the first failure in a row.
func (c *Catalog) ended(err error) error {
	if c.ctx.Err() != nil {
		return err // broken off by Close
	}
	c.mu.Lock()
	first := err != nil && c.status.Err == nil
	c.status.Err = err
	c.mu.Unlock()
	if first {
		c.cfg.OnError(err)
	}
	return err
}
