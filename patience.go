package readsplit

import (
	"time"

	"github.com/readsplit/readsplit/policy"
)

// patience is when a decision began and how long it may wait. Few decisions wait for
// anything, and to read the clock costs as much as a third of all the rules: it is read
// when somebody first asks.
type patience struct {
	began time.Time // zero: nobody has asked
	most  time.Duration
}

// until is when a decision that may wait is over.
func (p *patience) until() time.Time { return p.since().Add(p.most) }

// since is when the decision began: no later than any wait of it.
func (p *patience) since() time.Time {
	if p.began.IsZero() {
		p.began = time.Now()
	}
	return p.began
}

// waitsBy is the patience of whoever may wait until a given time.
func waitsBy(until time.Time) *patience { return &patience{began: until} }

// nowAfter is the moment now for a decision by snap. It must be asked after snap was
// fetched: by a clock that was read before, news would seem younger than they are.
//
// time.Now reads two clocks, of which decisions go by one. The wall clock's time is that
// of the newest sample of the primary, moved on.
func nowAfter(snap *policy.Snapshot) time.Time {
	at := snap.Primary.Sampled
	if at.IsZero() {
		return time.Now()
	}
	return at.Add(time.Since(at))
}
