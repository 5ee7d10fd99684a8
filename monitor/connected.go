package monitor

import (
	"errors"
	"fmt"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// Look is what was known of a replica when a new connection to it was asked for
// its position. An answer contradicts only news that are older than the question:
// without it, every connection that a sample overtakes would seem to have reached
// an older state, and void what is known for all readers.
type Look struct {
	r          *replica
	generation uint64
	known      lsn.LSN
	dialed     time.Time // zero: not before the look
}

// ErrLeft says that a connection was opened before the name of its replica led to another
// server, and leads to the one that the name has left since. It is no use, and says nothing
// of where the name leads: open another.
var ErrLeft = errors.New("readsplit: the connection leads to a server that the replica's name has left")

// Look returns what is known of replica i now. Take it before a new connection of
// its read pool is asked, and give it the answer with [Look.Connected].
func (m *Monitor) Look(i int) Look {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.all()[i]
	return Look{r: r, generation: r.gen.Load(), known: r.known}
}

// Dialed is l for a connection that was begun to be opened at a time. To the server that
// its name led to by then it may come after a sample has reached the next one, and the name
// would seem to lead now to the one and now to the other: to be several servers.
func (l Look) Dialed(at time.Time) Look {
	l.dialed = at
	return l
}

// Generation is the replica's generation when it was looked at.
func (l Look) Generation() uint64 { return l.generation }

// Connected takes in what a new connection of replica i's read pool reached, as
// [Look.Connected] does for a connection that is asked just now.
func (m *Monitor) Connected(i int, c lsn.Connect) error {
	_, err := m.Look(i).Connected(c)
	return err
}

// Connected takes in what a new connection reached. It must be called before the
// connection is used: when the server shows less than it was known to show, or is
// another one, every approval so far is void. again says that other news have
// overtaken the answer, which may be of a state from before them: look again, and
// ask the connection once more.
func (l Look) Connected(c lsn.Connect) (again bool, err error) {
	r, m := l.r, l.r.m
	m.mu.Lock()
	before := r.doubts
	events, again, err := l.connected(c)
	doubted := r.doubts != before
	m.mu.Unlock()
	m.emit(events)
	if doubted || err != nil {
		r.wake()
	}
	return again, err
}

// connected is Connected under Monitor.mu.
func (l Look) connected(c lsn.Connect) (events []Change, again bool, err error) {
	r := l.r
	switch {
	case r.target.Logical && r.m.primary.history.System == c.System:
		return nil, false, fmt.Errorf("%w: replica %q is declared Logical and is of the primary's own database cluster: it is not read from; correct its address, or leave Replica.Logical out", ErrNotLogical, r.target.Name)
	case !c.InRecovery && !r.target.AllowPrimary && !r.target.Logical:
		return nil, false, fmt.Errorf("%w: replica %q is a primary and is not read from; set Replica.AllowPrimaryAsReplica if that is meant", ErrNotStandby, r.target.Name)
	case r.server.Started == 0, r.balanced:
		// Nothing is claimed of the server that the connection could contradict.
	case r.gen.Load() != l.generation:
		return nil, true, nil
	case !l.dialed.IsZero() && l.dialed.Before(r.left.when(c.Server)):
		return nil, false, ErrLeft
	case r.server.System != c.System || r.server.Started != c.Started:
		r.stranger = true
		r.doubt()
	case !c.InRecovery:
		// The run that is known, promoted meanwhile or a primary all along: it
		// shows everything that it has shown.
		return nil, false, nil
	case c.Replay < l.known:
		r.known, r.replayedAt = 0, time.Time{}
		r.doubt()
		events = append(events, Change{Replica: r.i, State: StateRegressed})
	case c.Replay < r.known:
		return nil, true, nil
	}
	r.minSince = min(r.minSince, c.Replay)
	return events, false, nil
}

// doubt makes every approval void until another question has been answered. The
// caller holds Monitor.mu.
func (r *replica) doubt() {
	r.next()
	r.doubts++
	r.up = false
	r.publish()
}
