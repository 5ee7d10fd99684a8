package session

import (
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// Claim is what reads must see of the writes of one session in one database.
// The zero Claim asks for nothing. A Claim is a value that is never changed:
// every method returns the claim that follows.
type Claim struct {
	// Position is the furthest position that is known to be needed; At is when
	// the primary was known to have it.
	Position lsn.Position
	At       time.Time

	// Capture, unless 0, is the number of the first capture of the primary's
	// position that covers the newest write: it replaces Position once it is
	// there. A write costs this number instead of a round trip.
	Capture uint64
	// Insert asks for the insert position of that capture: the commit may have
	// been acknowledged before it was flushed.
	Insert bool
	// History is the primary's history when the write was acknowledged. A
	// capture of another history may not contain the write any more.
	History lsn.History

	// Verify, unless 0, is the number of a capture that began after Position
	// arrived from outside: a Position beyond its insert position is of another
	// history, whatever it says.
	Verify uint64

	// Unsure, unless zero, is until when reads go to the primary, because the
	// outcome of a write is unknown or a token could not be trusted. After it, a
	// capture taken then decides.
	Unsure time.Time

	// Until, unless zero, is until when reads go to the primary after a write, where a
	// position alone is not trusted. After it, the position decides.
	Until time.Time

	// LastWrite is when the session last wrote; zero: never, or before Join.
	LastWrite time.Time
}

// Empty reports whether c asks for nothing.
func (c Claim) Empty() bool {
	return c.Position.Zero() && c.Capture == 0 && c.Unsure.IsZero()
}

// AfterWrite returns the claim after a write that was acknowledged before next
// was read: next is the number of the first capture that starts after that.
func (c Claim) AfterWrite(next uint64, insert bool, h lsn.History, now time.Time) Claim {
	// An earlier write that has not been captured keeps its own demand for the
	// insert position: one capture covers both.
	c.Insert = insert || (c.Capture != 0 && c.Insert)
	if c.Capture == 0 {
		// Of several open writes the oldest names the history that must not have
		// been lost.
		c.History = h
	}
	c.Capture = max(c.Capture, next)
	c.LastWrite = now
	return c
}

// Staying returns the claim that keeps reads on the primary until the given time;
// zero: no longer than c does.
func (c Claim) Staying(until time.Time) Claim {
	if until.After(c.Until) {
		c.Until = until
	}
	return c
}

// AfterUnsure returns the claim after an event whose outcome is unknown: reads
// go to the primary until the given time, and after it until a capture that
// begins then is reached.
func (c Claim) AfterUnsure(until, now time.Time) Claim {
	if until.After(c.Unsure) {
		c.Unsure = until
	}
	c.LastWrite = now
	return c
}

// Expire returns the claim once Unsure has passed: next is the number of the
// first capture that starts from now on.
func (c Claim) Expire(next uint64, h lsn.History) Claim {
	c.Unsure = time.Time{}
	return c.AfterDoubt(next, h)
}

// AfterDoubt returns the claim after a doubt that has ended, here or in another
// process: next is the number of the first capture that starts from now on. It
// needs the insert position, because nothing is known of how the unknown write
// was committed.
func (c Claim) AfterDoubt(next uint64, h lsn.History) Claim {
	if c.Capture == 0 {
		c.History = h // else that of the oldest open write, as in AfterWrite
	}
	c.Capture, c.Insert = max(c.Capture, next), true
	return c
}

// Settle returns the claim after the position that covers Capture is known. It
// replaces Position, since a later capture covers all earlier writes.
func (c Claim) Settle(p lsn.Position, at time.Time) Claim {
	c.Capture, c.Insert, c.History = 0, false, lsn.History{}
	if lsn.Compare(c.Position, p) != lsn.After {
		c.Position, c.At, c.Verify = p, at, 0
	}
	return c
}

// Join returns the claim that asks for both c and a position that came from
// outside: the further of the two. ok is false when they are of different
// histories, so that neither can stand for the other.
func (c Claim) Join(p lsn.Position, verify uint64, now time.Time) (joined Claim, ok bool) {
	switch {
	case p.Zero():
		return c, true
	case c.Position.Zero() || lsn.Compare(c.Position, p) == lsn.Before:
		c.Position, c.At, c.Verify = p, now, verify
		return c, true
	default:
		return c, lsn.Compare(c.Position, p) != lsn.Incomparable
	}
}
