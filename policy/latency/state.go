package latency

import (
	"math"
	"sync/atomic"
	"time"
)

// state is an estimate and the moment of its newest read, in one word, so that
// nobody sees one without the other and reads need no lock.
type state struct {
	log logarithm
	at  moment
}

func stateOf(word uint64) state {
	return state{logarithm(word >> momentBits), moment(word & (1<<momentBits - 1))}
}

func (s state) packed() uint64 { return uint64(s.log)<<momentBits | uint64(s.at) }

// average is over the logarithms of durations.
type average struct{ word atomic.Uint64 }

func (a *average) load() state { return stateOf(a.word.Load()) }

func (a *average) observe(now, took time.Duration, moves float64) {
	log := logOf(took)
	for {
		old := a.word.Load()
		s := stateOf(old)
		if s.log == 0 {
			s.log = log
		} else {
			// What fades counts less, but the average itself does not: a server that was
			// tried again and is still slow is as slow as it was.
			by := 1 - (1-moves)*s.weight(now)
			s.log += logarithm(math.Round(float64(log-s.log) * by))
		}
		s.at = max(s.at, momentOf(now))
		if a.word.CompareAndSwap(old, s.packed()) {
			return
		}
	}
}

// idle is how long no read has ended, in units of Fade.
func (s state) idle(now time.Duration) float64 {
	return max(float64(int64(momentOf(now))-int64(s.at))*float64(time.Millisecond)/float64(Fade), 0)
}

// faded is what the estimate counts as.
func (s state) faded(now time.Duration) logarithm {
	return max(s.log-logarithm(min(s.idle(now)*octave*math.Log2E, 1<<30)), logOf(1))
}

// weight is what is left of an observation's weight.
func (s state) weight(now time.Duration) float64 {
	if s.at >= momentOf(now) {
		return 1 // of a read a moment ago, as most are on a busy server
	}
	return math.Exp(-s.idle(now))
}

// moment counts milliseconds.
type moment uint64

const momentBits = 40 // 34 years

func momentOf(d time.Duration) moment {
	return moment(min(max(d.Milliseconds(), 0), 1<<momentBits-1))
}

// logarithm is the logarithm of a duration, with straight lines between the powers
// of two: the upper bits of a floating-point number are just that, and cost nothing
// to take. 0: none.
type logarithm int64

const (
	dropped = 7                   // bits of a float32 that are not kept
	octave  = 1 << (23 - dropped) // steps between a duration and its double
)

func logOf(d time.Duration) logarithm {
	return logarithm(math.Float32bits(float32(max(d, 1))) >> dropped)
}

func (l logarithm) duration() time.Duration {
	return time.Duration(math.Float32frombits(uint32(l) << dropped))
}
