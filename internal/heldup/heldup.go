// Package heldup measures how busy the machine of a test is. What is promised of times is
// promised of a machine that has a processor to spare: a bound on a time allows for as many
// delays as it has steps.
package heldup

import (
	"sync/atomic"
	"testing"
	"time"
)

// Watch measures from now on how late whoever waits on this machine goes on, and returns
// the longest delay so far.
func Watch(t testing.TB) func() time.Duration {
	t.Helper()
	var longest atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		const pause = 5 * time.Millisecond
		timer := time.NewTimer(pause)
		defer timer.Stop()
		for began := time.Now(); ; began = time.Now() {
			timer.Reset(pause)
			select {
			case <-stop:
				return
			case <-timer.C:
				longest.Store(max(longest.Load(), int64(time.Since(began)-pause)))
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped })
	return func() time.Duration { return time.Duration(longest.Load()) }
}
