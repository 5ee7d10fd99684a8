package readsplit

import (
	"errors"
	"time"
)

// dialPause keeps a source from opening one connection after the other where none is
// ever open: a listener that routes to itself is followed by the driver as fast as it
// answers, thousands of logins a second, until the attempt ends. Each attempt that ended
// with its time is followed by a longer pause. Only the source's own goroutine uses it.
type dialPause struct {
	length time.Duration // of the last one; 0: none
	until  time.Time
}

const (
	pauseFirst = time.Second
	// pauseMost is also how much later than without pauses a server is found that was
	// frozen.
	pauseMost = 16 * time.Second
)

var errDialPause = errors.New("readsplit: no attempt to connect just now, as the last one got no answer in its time")

// over reports whether the next attempt may begin.
func (p *dialPause) over(now time.Time) bool { return !now.Before(p.until) }

// after takes in that an attempt is over; late: its time was.
func (p *dialPause) after(late bool, now time.Time) {
	if !late {
		*p = dialPause{}
		return
	}
	p.length = min(max(2*p.length, pauseFirst), pauseMost)
	p.until = now.Add(p.length)
}
