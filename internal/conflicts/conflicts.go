// Package conflicts remembers the statements that replay keeps cancelling on standbys.
//
// A long report that a standby cancels after minutes is run again, and may be cancelled again: its user waits for
// every run. So a statement that was cancelled twice within ten minutes is kept away from ordinary replicas for a
// minute, then tried there again, and for twice as long each time that it is cancelled again, up to an hour.
//
// What is cancelled now and then is not kept away. A short statement that runs a thousand times a second is cancelled
// whenever VACUUM has removed something, dozens of runs at once, and running it again costs a millisecond; on the
// primary it would cost the primary. So runs that were under way together when one of them was cancelled count once,
// and a statement is kept away only while no more of its runs come through than are cancelled.
//
// Everybody who has never been in conflict pays one atomic load, or one look into a small map while there is any; there
// is no lock on that path. Statements are kept as hashes: no text, and no literal in it, stays in memory.
package conflicts

import (
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Strikes is after how many cancellations a statement is kept away. One says that there is VACUUM; at the second
	// its user has waited twice.
	Strikes = 2
	// Window is how long a cancellation counts: as long as a report takes, and the next round of autovacuum (every
	// minute by default) with several to spare.
	Window = 10 * time.Minute
	// FirstTime is how long a statement is kept away at first, LongestTime at most.
	FirstTime   = time.Minute
	LongestTime = time.Hour
	// Long is from when on a run that was cancelled is not tried on an ordinary replica again by the same read: one
	// replay is what its user can be asked to pay.
	Long = time.Second
	// Most is how many statements are remembered; the one that was cancelled longest ago makes room.
	Most = 64
)

// Memory is the statements that were cancelled lately. The zero Memory is empty and ready to use. It is safe for
// concurrent use, starts no goroutine and reads no clock.
type Memory struct {
	mu    sync.Mutex // of those who change it
	known atomic.Pointer[map[uint64]statement]
}

// statement is replaced, never changed, but for ran.
type statement struct {
	strikes     int
	first, last time.Time // cancellation
	until       time.Time // when it may be tried again; zero: it was never kept away
	period      time.Duration
	ran         *atomic.Int64 // runs that came through since first, or since it was kept away
}

var seed = maphash.MakeSeed()

func key(text string) uint64 { return maphash.String(seed, text) }

// Empty reports whether nothing was ever cancelled, so that Avoids need not be asked.
func (m *Memory) Empty() bool { return m.known.Load() == nil }

// Avoids reports whether a statement is to be kept away from ordinary replicas now.
func (m *Memory) Avoids(text string, now time.Time) bool {
	known := m.known.Load()
	if known == nil {
		return false
	}
	return now.Before((*known)[key(text)].until)
}

// Ran takes in that a run on a replica came through.
func (m *Memory) Ran(text string) {
	known := m.known.Load()
	if known == nil {
		return
	}
	if s, ok := (*known)[key(text)]; ok {
		s.ran.Add(1)
	}
}

// Cancelled takes in that replay has cancelled a run that began at a moment.
func (m *Memory) Cancelled(text string, began, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := make(map[uint64]statement)
	if old := m.known.Load(); old != nil {
		maps.Copy(known, *old)
	}
	maps.DeleteFunc(known, func(_ uint64, s statement) bool { return s.forgotten(now) })
	k := key(text)
	s, ok := known[k]
	switch {
	case !ok:
		s = statement{strikes: 1, first: now, last: now, ran: new(atomic.Int64)}
	case began.Before(s.last) || now.Before(s.until):
		// Under way when another one was cancelled, or where it may be.
		s.last = now
	default:
		s.strikes++
		s.last = now
		needed := Strikes
		if s.period > 0 {
			needed = 1 // it is on trial
		}
		if s.strikes >= needed && s.ran.Load() <= int64(s.strikes) {
			s.period = min(max(2*s.period, FirstTime), LongestTime)
			s.until = now.Add(s.period)
			s.strikes, s.ran = 0, new(atomic.Int64)
		}
	}
	known[k] = s
	for len(known) > Most {
		delete(known, oldest(known))
	}
	m.known.Store(&known)
}

// forgotten reports whether a statement has been well for long enough to begin anew: for a window and, where it was
// kept away, once more for as long as that.
func (s statement) forgotten(now time.Time) bool {
	if s.period == 0 {
		return now.Sub(s.first) > Window
	}
	return now.Sub(s.until) > Window+s.period
}

func oldest(known map[uint64]statement) (k uint64) {
	var when time.Time
	for candidate, s := range known {
		if when.IsZero() || s.last.Before(when) {
			k, when = candidate, s.last
		}
	}
	return k
}

// Avoided is how many statements are kept away now.
func (m *Memory) Avoided(now time.Time) (n int) {
	if known := m.known.Load(); known != nil {
		for _, s := range *known {
			if now.Before(s.until) {
				n++
			}
		}
	}
	return n
}
