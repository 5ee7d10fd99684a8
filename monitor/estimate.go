package monitor

import "time"

// estimate is how long a replica recently took to replay a position that the
// primary already had. It decides whether a wait can succeed, so that a replica
// that is always 20 ms behind does not add 5 ms to every read.
type estimate struct {
	delay time.Duration
}

// reached takes in that the replica got a position between two moments after the
// primary had it: it still lacked it at the first and had it at the second. Half
// of the difference counts, so that two quick answers start the waits again that
// one slow answer has stopped. A delay that was seen to be beyond most counts as it
// is, so that nobody looks before it is over, and as most when an answer is quick: a
// pause of an hour must not be remembered for longer than one of a second.
func (e *estimate) reached(lacked, had, most time.Duration) {
	took := max(lacked+(had-lacked)/2, lacked)
	if lacked > most {
		e.delay = took
		return
	}
	e.delay = min(e.delay, most)
	e.delay += (min(took, most) - e.delay) / 2
}

// found takes in that the replica, when it was first asked, already had a
// position that the primary had had for d: the delay is at most that. Without
// it a replica that has become too quick to be caught lacking anything would be
// taken for slow for ever.
func (e *estimate) found(d, most time.Duration) {
	if d <= most {
		e.delay = min(e.delay, most)
	}
	if d < e.delay {
		e.delay += (d - e.delay) / 2
	}
}

// missing takes in that the replica still lacks a position that the primary has
// had for d: the delay is at least that.
func (e *estimate) missing(d time.Duration) { e.delay = max(e.delay, d) }
