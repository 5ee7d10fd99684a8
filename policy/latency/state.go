package latency

import (
	"math"
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

// idle is how long no read has ended, in units of Fade.
func (s state) idle(now time.Duration) float64 {
	return max(float64(int64(momentOf(now))-int64(s.at))*float64(time.Millisecond)/float64(Fade), 0)
}

// faded is what the estimate counts as.
func (s state) faded(now time.Duration) logarithm {
	return max(s.log-logarithm(min(s.idle(now)*octave*math.Log2E, 1<<30)), logOf(1))
}

// weight is what is left of an observation's weight.
func (s state) weight(now time.Duration) float64 { return math.Exp(-s.idle(now)) }

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
