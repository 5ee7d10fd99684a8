package latency

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	// Fade is how long it takes, without a read that ends, until an estimate counts
	// as 1/e of what it was.
	Fade = 5 * time.Second
	// FailureLeast is the shortest read that a failure counts as.
	FailureLeast = 100 * time.Millisecond
	// FailureFactor is how many times the estimate a failure counts as at least.
	FailureFactor = 8
	// StallFactor bounds, in estimates, how slow reads that do not end make a server
	// look: a single report on an otherwise idle server must not keep all other reads
	// away while the other servers drown.
	StallFactor = 8

	readMoves    = 1.0 / 16 // how far a read moves the estimate
	failureMoves = 1.0 / 4  // how far a failure does
)

// Meter counts the reads in flight on one server and estimates how long a read
// takes there. The zero Meter is ready to use; it must not be copied. It is safe for
// concurrent use.
type Meter struct {
	inFlight atomic.Int64
	// waiting is the moment, +1 ns, since which reads have been in flight without one
	// that ended; 0: unknown. While none is in flight it says nothing: the next that
	// begins sets it.
	waiting atomic.Int64
	whole   average // how long a read takes
	each    average // the same for each read that was in flight when it began
}

// InFlight is how many reads have begun and not ended.
func (m *Meter) InFlight() int64 { return m.inFlight.Load() }

// Begin says that a read is sent to the server at now, and returns how many are in
// flight with it.
func (m *Meter) Begin(now time.Duration) (inFlight int64) {
	if inFlight = m.inFlight.Add(1); inFlight == 1 {
		m.waiting.Store(int64(now) + 1)
	}
	return inFlight
}

// End says that a read that began is over, however it ended.
func (m *Meter) End(now time.Duration) {
	if m.inFlight.Add(-1) > 0 {
		m.waiting.Store(int64(now) + 1)
	}
}

// Due reports whether nothing was measured in the millisecond of now: whoever needs no
// better estimate than a read each millisecond gives has to measure a read that is due
// alone.
func (m *Meter) Due(now time.Duration) bool { return m.whole.load().at < momentOf(now) }

// Served says that a read has succeeded at now, after took. inFlight is what Begin
// returned.
func (m *Meter) Served(now, took time.Duration, inFlight int64) {
	m.observe(now, took, inFlight, readMoves)
}

// Failed says that a read has failed at now, after took, for a reason that lies in
// the server.
func (m *Meter) Failed(now, took time.Duration) {
	known := m.whole.load().log.duration()
	m.observe(now, max(took, FailureLeast, min(known, math.MaxInt64/FailureFactor)*FailureFactor), 1, failureMoves)
}

// Abandoned says that a caller has given up at now, after took: the read would have
// taken that long at least. It is no news where an estimate says so anyway, nor, of a
// server that nobody has measured, before [FailureLeast].
func (m *Meter) Abandoned(now, took time.Duration, inFlight int64) {
	known := m.whole.load().log
	if known > 0 && took > known.duration() || known == 0 && took >= FailureLeast {
		m.observe(now, took, inFlight, readMoves)
	}
}

func (m *Meter) observe(now, took time.Duration, inFlight int64, moves float64) {
	each := took
	if inFlight > 1 { // to divide takes as long as all the rest
		each /= time.Duration(inFlight)
	}
	m.each.observe(now, each, moves)
	m.whole.observe(now, took, moves)
}

// Latency is how long a read that begins now is expected to take, the way there and
// back and the wait for a connection included; 0: no read has been measured yet.
func (m *Meter) Latency(now time.Duration) time.Duration {
	whole := m.whole.load()
	if whole.log == 0 {
		return 0
	}
	inFlight := max(m.inFlight.Load(), 0)
	expected := whole.faded(now).duration()
	// The reads that made it slow may have ended by now, long before others tell: in a
	// queue of a hundred the last one waits for all of them, the next one for nobody.
	if each := m.each.load().log.duration(); each < expected/time.Duration(inFlight+1) {
		expected = max(each*time.Duration(inFlight+1), 1)
	}
	if since := m.waiting.Load(); since > 0 && inFlight > 0 {
		stalled := min(now-time.Duration(since-1), StallFactor*whole.log.duration())
		return max(expected, stalled)
	}
	return expected
}
