package monitor_test

import (
	"context"
	"errors"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
)

// waiting is a Source of a standby whose server can say by itself when it has replayed
// a position. Each question takes as long as the standby's others.
type waiting struct {
	*fake
	s *standby

	// Guarded by the world's mutex.
	hang     error         // what each wait fails with
	frozen   bool          // no wait ends but by its context
	lies     bool          // every wait ends at once
	connects time.Duration // how long that takes
	onRun    uint64
	open     bool
	waits    []awaited
	opened   int
	under    int
	mostAway int
}

type awaited struct {
	run      uint64
	to       lsn.LSN
	most     time.Duration
	at, done time.Time
}

var errTooMany = errors.New("too many connections")

// can makes the standbys of w those of a server that knows WAIT FOR LSN.
func (w *world) can(version int) (all []*waiting, edit func(*monitor.Config)) {
	for _, s := range w.standbys {
		s.state.Version = version
		all = append(all, &waiting{fake: s.fake, s: s, connects: 3 * time.Millisecond})
	}
	return all, func(c *monitor.Config) {
		for i := range c.Replicas {
			c.Replicas[i].Source = all[i]
		}
	}
}

func (f *waiting) AwaitReplay(ctx context.Context, run uint64, to lsn.LSN, most time.Duration) error {
	f.w.mu.Lock()
	f.under++
	f.mostAway = max(f.mostAway, f.under)
	connect := !f.open || run != f.onRun
	i := len(f.waits)
	f.waits = append(f.waits, awaited{run: run, to: to, most: most, at: time.Now()})
	half, hang := f.latency/2, f.hang
	f.w.mu.Unlock()
	defer f.w.change(func() {
		f.under--
		f.waits[i].done = time.Now()
	})
	if connect {
		<-time.After(f.connects) // of the bubble's time
		f.w.change(func() { f.opened++; f.open, f.onRun = true, run })
	}
	if hang != nil {
		f.w.change(func() { f.open = false })
		return hang
	}
	if to == 0 {
		return nil
	}
	<-time.After(half)
	for began := time.Now(); ctx.Err() == nil; <-time.After(10 * time.Microsecond) {
		var ended, frozen bool
		f.w.change(func() {
			frozen = f.frozen
			a := f.s.now()
			ended = f.lies || a.Replay >= to || !a.InRecovery || time.Since(began) >= most
		})
		if ended && !frozen {
			<-time.After(half)
			return nil
		}
	}
	f.w.change(func() { f.open = false })
	return ctx.Err()
}

// real are the waits that were for a position.
func (f *waiting) real() (waits []awaited) {
	f.w.change(func() {
		for _, a := range f.waits {
			if a.to != 0 {
				waits = append(waits, a)
			}
		}
	})
	return waits
}
