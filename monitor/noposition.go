package monitor

import (
	"errors"
	"sort"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// errNothingStated is the error of StateNoPosition where nobody has said how far behind
// the server is at most.
var errNothingStated = errors.New("readsplit: its configuration does not say how far behind it is at most")

// never is how long a server takes to catch up that nobody can see catching up.
const never = time.Hour

// stated gives v, a standby that does not tell its position, what follows from what its
// configuration says of it: when the primary was asked last it showed everything that
// the primary had StatedLag earlier. Lag is counted from there. Of what sessions wrote
// it is trusted to have what the primary had a whole Window earlier. Both count from
// the primary's newest answer, and not from now: a replica is not ahead of a primary
// that nobody has heard of, which may have died with what it never sent.
//
// The caller holds Monitor.mu.
func (r *replica) stated(v *policy.Replica, s *lsn.Sample) {
	p, lag := &r.m.primary, r.target.StatedLag
	v.NoPosition, v.StatedLag = true, lag
	v.Applied, v.ReplayedAt, v.BehindBytes = lsn.Position{}, time.Time{}, 0
	v.CatchUp = never
	if lag <= 0 && s.System == 0 {
		v.Role = policy.RoleUnknown // neither says whose standby it is
	}
	if lag <= 0 || p.history.Zero() {
		return
	}
	v.ReplayedAt = p.insertAt.Add(-lag)
	// The position 1 is no write's: whoever must see nothing can be served at once.
	v.Applied = lsn.Position{History: p.history, LSN: max(p.marks.before(p.insertAt.Add(-r.m.cfg.Window)), 1)}
	v.BehindBytes = r.m.bytesBehind(v.Applied.LSN)
}

// before returns what the primary had flushed at t or a little earlier; 0: not known.
// The end of the answer counts: what it names may have been written while it was on
// its way.
func (k *marks) before(t time.Time) lsn.LSN {
	i := sort.Search(len(k.m), func(i int) bool { return k.m[i].ended.After(t) })
	if i == 0 {
		return 0
	}
	return k.m[i-1].flush
}

// tellsNoPosition notes whether r tells its position, and returns the news. The caller
// holds Monitor.mu.
func (r *replica) tellsNoPosition(s *lsn.Sample) (events []Change) {
	none := s.TellsNoPosition()
	if none && !r.noPosition {
		e := Change{Replica: r.i, State: StateNoPosition}
		if r.target.StatedLag <= 0 {
			e.Err = errNothingStated
		}
		events = append(events, e)
	}
	r.noPosition = none
	return events
}
