package readsplit

import (
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// register is a claim that several goroutines read and advance.
//
// When something was written last is kept beside the claim: it changes with each write,
// while what a write makes reads see changes with the captures of the primary's
// position, of which there are few. So a write that finds a claim which points at the
// capture that covers it already leaves that as it is. With a new one for each write,
// writers on many processors would spend their time on replacing each other's.
type register struct {
	p    atomic.Pointer[session.Claim]
	last atomic.Int64 // write, in nanoseconds since processStart and 1; 0: none
}

var noClaim = &session.Claim{}

// load returns the claim. Its LastWrite is that of some write; lastWrite knows the
// newest.
func (r *register) load() *session.Claim {
	if c := r.p.Load(); c != nil {
		return c
	}
	return noClaim
}

// written reports whether something was written.
func (r *register) written() bool { return r.last.Load() != 0 }

// lastWrite is when something was written last; zero: never.
func (r *register) lastWrite() time.Time {
	n := r.last.Load()
	if n == 0 {
		return time.Time{}
	}
	return processStart.Add(time.Duration(n - 1))
}

// newerThan reports whether what must be seen is more than it was at a time.
func (r *register) newerThan(t time.Time) bool {
	return r.lastWrite().After(t) || r.load().At.After(t)
}

// update replaces the claim by what change makes of it. change may run several
// times.
func (r *register) update(change func(c session.Claim) session.Claim) session.Claim {
	for {
		old := r.p.Load()
		var was session.Claim
		if old != nil {
			was = *old
		}
		c := change(was)
		if c.LastWrite != was.LastWrite {
			r.wroteAt(c.LastWrite)
		}
		was.LastWrite = c.LastWrite
		if c == was || r.replace(old, c) {
			return c
		}
	}
}

// wrote updates the claim after a write that was acknowledged before next was read. One
// that points there already stays as it is, and is not even copied to find that out.
func (r *register) wrote(next uint64, insert bool, h lsn.History, now, until time.Time) {
	if c := r.p.Load(); c != nil && c.Capture >= next && (c.Insert || !insert) && !until.After(c.Until) {
		r.wroteAt(now)
		return
	}
	r.update(func(c session.Claim) session.Claim { return c.AfterWrite(next, insert, h, now).Staying(until) })
}

// replace puts c in the place of old.
func (r *register) replace(old *session.Claim, c session.Claim) bool {
	return r.p.CompareAndSwap(old, &c)
}

// wroteAt notes that something was written.
func (r *register) wroteAt(t time.Time) {
	n := int64(t.Sub(processStart)) + 1
	for {
		old := r.last.Load()
		if n <= old || r.last.CompareAndSwap(old, n) {
			return
		}
	}
}

// copyTo gives to what r has.
func (r *register) copyTo(to *register) {
	to.p.Store(r.p.Load())
	to.last.Store(r.last.Load())
}
