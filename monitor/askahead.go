package monitor

import "time"

// ahead asks a replica for its position while the primary is still being asked for the
// one that a reader waits for. A replica that replays within the way to the primary has
// it by then, and the reader waits for two answers at the same time instead of one after
// the other. Whenever a server is asked, what it says is compared with the position:
// asked too early it only says less.
//
// Where replicas are slower than that it is of no use, and is left alone until it is.
type ahead struct {
	r       *replica // that is asked; nil: none is
	capture uint64   // that it is asked for
	turn    int      // whose turn it is among those that are about as quick
	failed  int
	skipped int
}

const (
	// aheadFails failures, less two for each success among them, end it.
	aheadFails = 4
	// aheadTries is how many captures are taken without, before it is tried again.
	aheadTries = 16
)

// pays reports whether it is worth trying.
func (a *ahead) pays() bool {
	if a.failed < aheadFails {
		return true
	}
	a.skipped++
	return a.skipped%aheadTries == 0
}

func (a *ahead) learn(succeeded bool) {
	a.r = nil
	if succeeded {
		a.failed = max(a.failed-2, 0)
		return
	}
	a.failed = min(a.failed+1, aheadFails+1)
}

// askAhead begins it for a capture that is about to be sent, of which somebody waits for
// the answer.
func (m *Monitor) askAhead(capture uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := &m.ahead
	if a.r != nil {
		a.learn(false) // it has not answered since
	}
	if !a.pays() {
		return
	}
	if a.r = m.first(); a.r != nil {
		a.capture = capture
		a.r.wake()
	}
}

// first returns the replica that will most likely be the first to tell a position that
// the primary has now. Those that are about as quick take turns, or the reads that follow
// would all be served by one. The caller holds m.mu.
func (m *Monitor) first() (first *replica) {
	m.ahead.turn++
	all := m.all()
	n, now := len(all), time.Now()
	var least time.Duration
	for k := range n {
		r := all[(k+m.ahead.turn)%n]
		if !r.serves() || r.noPosition || r.distance.is() > farWait || now.Before(r.health.until) {
			continue
		}
		if d := r.estimate.delay + r.distance.is(); first == nil || 2*d+alike < least {
			first, least = r, d
		}
	}
	return first
}

// alike is how much later one of two replicas that are as quick may seem to be.
const alike = 100 * time.Microsecond

// learnAhead takes in that the capture, or the replica, has answered. The caller holds
// m.mu.
func (m *Monitor) learnAhead() {
	a := &m.ahead
	c, ok := m.captures.covering(a.capture)
	if !ok || a.r.began.Before(c.started) {
		return // the other one is still to come
	}
	a.learn(a.r.known >= c.position(false).LSN)
}
