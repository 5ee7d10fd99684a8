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
	// that ended; 0: unknown.
	waiting atomic.Int64
	// state is the estimate's logarithm and the moment of its newest read.
	state atomic.Uint64
}

// InFlight is how many reads have begun and not ended.
func (m *Meter) InFlight() int64 { return m.inFlight.Load() }

// Begin says that a read is sent to the server at now.
func (m *Meter) Begin(now time.Duration) {
	if m.inFlight.Add(1) == 1 {
		m.waiting.Store(int64(now) + 1)
	}
}

// End says that a read that began is over, however it ended.
func (m *Meter) End(now time.Duration) {
	before := m.waiting.Load()
	if m.inFlight.Add(-1) == 0 {
		// Unless another one began in between, whose moment must not be lost.
		m.waiting.CompareAndSwap(before, 0)
		return
	}
	m.waiting.Store(int64(now) + 1)
}

// Served says that a read has succeeded at now, after took.
func (m *Meter) Served(now, took time.Duration) { m.observe(now, took, readMoves) }

// Failed says that a read has failed at now, after took, for a reason that lies in
// the server.
func (m *Meter) Failed(now, took time.Duration) {
	known := stateOf(m.state.Load()).log.duration()
	m.observe(now, max(took, FailureLeast, FailureFactor*known), failureMoves)
}

// Abandoned says that a caller has given up at now, after took: the read would have
// taken that long at least. It is no news where an estimate says so anyway.
func (m *Meter) Abandoned(now, took time.Duration) {
	if took > stateOf(m.state.Load()).log.duration() {
		m.observe(now, took, readMoves)
	}
}

// Latency is how long a read that begins now is expected to take, the way there and
// back and the wait for a connection included; 0: no read has been measured yet.
func (m *Meter) Latency(now time.Duration) time.Duration {
	s := stateOf(m.state.Load())
	if s.log == 0 {
		return 0
	}
	faded := s.faded(now).duration()
	if m.inFlight.Load() <= 0 {
		return faded
	}
	if since := m.waiting.Load(); since > 0 {
		stalled := min(now-time.Duration(since-1), StallFactor*s.log.duration())
		return max(faded, stalled)
	}
	return faded
}

func (m *Meter) observe(now, took time.Duration, moves float64) {
	log := logOf(took)
	for {
		old := m.state.Load()
		s := stateOf(old)
		switch {
		case s.log == 0:
			s.log = log
		default:
			// What fades counts less, but the estimate itself does not: a server that was
			// tried again and is still slow is as slow as it was.
			moves := 1 - (1-moves)*s.weight(now)
			s.log += logarithm(math.Round(float64(log-s.log) * moves))
		}
		s.at = max(s.at, momentOf(now))
		if m.state.CompareAndSwap(old, s.packed()) {
			return
		}
	}
}
