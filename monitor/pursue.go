package monitor

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/policy"
)

const (
	// soughtFor is for how long writes have their position captured at once after a read
	// had to see one that was not.
	soughtFor = time.Second
	// pursuits is how many captures are begun at most, for nobody who waits, in the time
	// that the quickest replica takes to replay one. More would bring the position of a
	// write no closer to what a replica has.
	pursuits = 8
)

// Quickest is how long the quickest replica that follows the primary takes, as far as is
// known, to replay what the primary has; 0: that is not known, or must be found out on
// the connection of each read. Until then after a write no replica is worth asking.
func (m *Monitor) Quickest() time.Duration { return time.Duration(m.quick.Load()) }

func quickestOf(s *policy.Snapshot) time.Duration {
	least, some := time.Duration(math.MaxInt64), false
	for i := range s.Replicas {
		r := &s.Replicas[i]
		switch {
		case r.Gone || r.Drained || !r.Up || r.Role == policy.RoleForeign || r.Role == policy.RoleLogical || r.Role == policy.RolePrimary && !r.AllowPrimary:
			// It is not what a read waits for.
		case r.Balanced || r.NoPosition || r.Role != policy.RoleStandby:
			return 0
		case r.Paused:
			some = true // and who waits for it waits in vain
		default:
			least, some = min(least, r.CatchUp), true
		}
	}
	if !some {
		return 0 // there is nothing to wait for, and the rules say why
	}
	return least
}

// Pursue has capture n taken where replicas are so slow that nobody waits for the position
// of a write which was made a moment ago: read then, it would be what the primary has by
// then, and a replica have to replay more than what had to be seen. Where replicas are
// quick it does nothing. There are few captures in the time that a replica takes,
// whoever writes and reads.
func (m *Monitor) Pursue(n uint64) {
	slow := m.Quickest()
	if slow <= m.cfg.MaxWait || m.snap.Load().Primary.Lost {
		return
	}
	// However slow they were: that they are quick again is found out by captures.
	pause := max(captureEvery, min(slow, m.cfg.SampleEvery)/pursuits)
	if m.primary.began.since(m.base) >= pause {
		m.primary.demand(n)
	}
}

// Sought says that a read has to see a write whose position is not known.
func (m *Monitor) Sought() { m.primary.sought.now(m.base) }

// moment is when something happened last, for a clock that never goes back; the zero
// moment is long ago.
type moment struct{ ns atomic.Int64 }

func (t *moment) now(base time.Time) { t.ns.Store(int64(time.Since(base)) + 1) }

func (t *moment) since(base time.Time) time.Duration {
	ns := t.ns.Load()
	if ns == 0 {
		return math.MaxInt64
	}
	return time.Since(base) - time.Duration(ns)
}
