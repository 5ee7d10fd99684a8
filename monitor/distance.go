package monitor

import (
	"sync/atomic"
	"time"
)

// distance is how long a question to a server takes, the way there and back included.
// It only decides what is worth asking for, never what is proven.
type distance struct{ ns atomic.Int64 }

// took takes in one answer. The least counts most: a server that was busy once is not
// farther away.
func (d *distance) took(t time.Duration) {
	old := d.ns.Load()
	if now := int64(t); old == 0 || now <= old {
		d.ns.Store(max(now, 1))
	} else {
		d.ns.Store(old + (now-old)/8)
	}
}

// is returns the distance; 0: not known yet.
func (d *distance) is() time.Duration { return time.Duration(d.ns.Load()) }

// Distance is how long a question to replica i takes, the way there and back included; 0:
// not known yet.
func (m *Monitor) Distance(i int) time.Duration { return m.all()[i].distance.is() }

// farWait is for how long a read waits for the primary's position by default. A
// primary that takes longer is far away.
const farWait = 5 * time.Millisecond

// Foresee has capture n taken at once where the primary is so far away that no read
// could wait for it: whoever reads a moment after a write then knows where it is, and
// what must be reached is not more than what had been written by then. One question is
// under way at a time, so that this is at most one for each way there and back. Near a
// primary it does nothing: there a read that needs a capture waits for it.
func (m *Monitor) Foresee(n uint64) {
	if m.primary.distance.is() > max(m.cfg.MaxWait, farWait) && !m.snap.Load().Primary.Lost {
		m.primary.demand(n)
	}
}

// comesBy reports whether capture n, which was asked for, may have finished by then.
// To wait for what comes later would add the wait to a read that goes to the primary
// all the same.
func (m *Monitor) comesBy(n uint64, until time.Time) bool {
	takes := m.primary.distance.is()
	takes -= takes / 16
	if takes <= 0 {
		return true
	}
	began := time.Now()
	if asked := m.primary.asking.Load(); asked != nil {
		began = asked.began
		if asked.n < n {
			began = began.Add(takes) // another one comes first
		}
	}
	return began.Add(takes).Before(until)
}

// asking is a question to the primary that is under way.
type asking struct {
	n     uint64
	began time.Time
}

// answersBy reports whether an answer of r may be there by then.
func (r *replica) answersBy(until time.Time) bool {
	takes := r.distance.is()
	return takes < farWait || time.Until(until) > takes-takes/4
}
