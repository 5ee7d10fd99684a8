package monitor

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// captureRing is how many finished captures are remembered: two seconds at the
// highest rate, which is as long as a replica may be behind by default. A session
// that wrote longer ago than the ring reaches is judged by the oldest capture in
// it, which still covers its write; were that from a moment ago, every replica
// that is a little behind would be refused.
const captureRing = 4096

// capture is one finished capture of the primary's position.
type capture struct {
	n       uint64
	started time.Time
	ended   time.Time
	history lsn.History
	flush   lsn.LSN
	insert  lsn.LSN
	end     lsn.LSN // that no server of the history is beyond
	async   bool
	// unwaited: a transaction that is not waited for may not have been flushed.
	unwaited bool
}

// position picks the LSN that covers a write: the flush position where the
// commit was acknowledged only after it was flushed, else the insert position
// (a commit that was acknowledged before it was flushed lies beyond the flush
// position, and a reader that trusts it misses the write).
func (c *capture) position(insert bool) lsn.Position {
	at := c.flush
	if insert || c.async || c.unwaited {
		at = c.insert
	}
	return lsn.Position{History: c.history, LSN: at}
}

// captures numbers the captures of the primary's position and keeps the latest.
type captures struct {
	started atomic.Uint64 // number of the newest capture that has begun

	mu   sync.RWMutex
	ring [captureRing]capture // by finish order
	len  int                  // filled entries
	next int                  // where the next one goes
}

// after returns the number of the first capture that will start after this
// call: whatever was committed before the call is covered by it.
func (c *captures) after() uint64 { return c.started.Load() + 1 }

// begin numbers a capture. It must be called before the question is sent.
func (c *captures) begin() uint64 { return c.started.Add(1) }

// finish records a capture that succeeded.
func (c *captures) finish(done capture) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ring[c.next] = done
	c.next = (c.next + 1) % captureRing
	c.len = min(c.len+1, captureRing)
}

// earliest returns the first finished capture that satisfies ok, which must be
// false for all captures before some point and true from there on.
func (c *captures) earliest(ok func(*capture) bool) (capture, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	oldest := c.next - c.len + captureRing
	lo, hi := 0, c.len
	for lo < hi {
		mid := (lo + hi) / 2
		if ok(&c.ring[(oldest+mid)%captureRing]) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo == c.len {
		return capture{}, false
	}
	return c.ring[(oldest+lo)%captureRing], true
}

// newest returns the capture that finished last.
func (c *captures) newest() (capture, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.len == 0 {
		return capture{}, false
	}
	return c.ring[(c.next-1+captureRing)%captureRing], true
}

// covering returns the earliest finished capture numbered n or later. The
// earliest is the right one: a later capture covers the write too, but also
// everything that was written since, and a replica that is behind by less than
// the time since the write would be refused for writes that nobody asked about.
func (c *captures) covering(n uint64) (capture, bool) {
	return c.earliest(func(e *capture) bool { return e.n >= n })
}

// since returns the earliest finished capture that began at t or later.
func (c *captures) since(t time.Time) (capture, bool) {
	return c.earliest(func(e *capture) bool { return !e.started.Before(t) })
}
