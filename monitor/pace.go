package monitor

import "time"

// pace bounds how often something is done: at once as long as it is rare, and burst times
// in a row, but never more often than every interval for long. To wait for a timer takes
// an idle process a millisecond, however short it is.
type pace struct {
	every time.Duration
	burst int
	due   time.Time // when the next one would be, were there no bursts
}

// wait is how long to wait before the next one.
func (p *pace) wait(now time.Time) time.Duration {
	return p.due.Add(-time.Duration(p.burst-1) * p.every).Sub(now)
}

// took notes that one was done.
func (p *pace) took(now time.Time) {
	if p.due.Before(now) {
		p.due = now
	}
	p.due = p.due.Add(p.every)
}
