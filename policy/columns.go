package policy

import (
	"math"
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// columns are what a decision looks at first, of all replicas: few bytes of each, side
// by side. A thousand replicas that all lack a session's position would else cost
// every read after a write a thousand times all the rules. They say nothing that
// [Decider.judge] would not say; whatever is out of the ordinary is left to it.
type columns struct {
	of      *Replica // &Snapshot.Replicas[0], when they were made
	base    time.Time
	steady  bool // base has a monotonic reading
	history lsn.History
	zones   []string // of the replicas that are there, the first mostZones of them
	list    []column

	furthest lsn.LSN       // that any of list has
	quickest time.Duration // to catch up
	odd      int           // how many are left to judge
}

// column is one replica. The times are nanoseconds since columns.base.
type column struct {
	applied  lsn.LSN
	sampled  int64
	replayed int64 // less the margin: now minus this is its lag
	settled  int64 // when it was ejected until, or came back
	catchUp  time.Duration
	fixed    Reason // what is said against it whatever is asked, and whenever
	odd      bool
	waits    bool // it is worth waiting for, if catchUp is short enough
}

// Prepare makes decisions over s quicker, and changes none: without it each replica is
// judged by all rules, one after the other. It is for whoever publishes a Snapshot, is
// called once, by one goroutine, before s is shared, and s must not be changed
// afterwards. now is the clock of the decisions that follow.
func (s *Snapshot) Prepare(now time.Time) {
	n := len(s.Replicas)
	if n == 0 {
		s.columns = nil
		return
	}
	c := &columns{of: &s.Replicas[0], base: now, steady: monotonic(now), history: s.Primary.Position.History, list: make([]column, n), quickest: math.MaxInt64}
	for i := range s.Replicas {
		c.add(&c.list[i], &s.Replicas[i])
	}
	s.columns = c
}

func (c *columns) add(to *column, r *Replica) {
	if !r.Gone && len(c.zones) < mostZones && !slices.Contains(c.zones, r.Zone) {
		c.zones = append(c.zones, r.Zone)
	}
	if r.Reserved || r.Role == RoleLogical { // for whom, the query says, and the rules before what is fixed
		to.odd = true
		c.odd++
		return
	}
	to.fixed = r.fixed()
	if to.fixed != ReasonNone {
		return
	}
	var ok [3]bool
	to.sampled, ok[0] = c.since(r.Sampled)
	to.replayed, ok[1] = c.since(r.ReplayedAt)
	to.settled, ok[2] = c.settledAt(r)
	plain := r.Role == RoleStandby && !r.Balanced && !r.NoPosition && r.Applied.LSN != 0 && r.Applied.History == c.history &&
		!c.history.Zero() && r.Margin < time.Hour && ok == [3]bool{true, true, true}
	if !plain {
		to.odd = true
		c.odd++
		return
	}
	to.replayed -= int64(max(r.Margin, 0))
	to.applied, to.catchUp, to.waits = r.Applied.LSN, r.CatchUp, !r.Paused
	c.furthest = max(c.furthest, to.applied)
	if to.waits {
		c.quickest = min(c.quickest, to.catchUp)
	}
}

// fixed is the first objection against r that depends on nothing but r.
func (r *Replica) fixed() Reason {
	if reason := ruleDrained(r); reason != ReasonNone {
		return reason
	}
	if reason := ruleRole(r); reason != ReasonNone {
		return reason
	}
	return ruleUp(r)
}

// farthest is how far from base a time may be to be a column's: so far that sums of
// them do not overflow.
const farthest = int64(math.MaxInt64 / 8)

// since is t as nanoseconds since base; ok is false where a decision might see another
// distance between its clock and t.
func (c *columns) since(t time.Time) (ns int64, ok bool) {
	ns = int64(t.Sub(c.base))
	return ns, !t.IsZero() && ns > -farthest && ns < farthest && monotonic(t) == c.steady
}

// monotonic reports whether t has a monotonic reading: between two times of which one
// has none, a step of the wall clock counts.
func monotonic(t time.Time) bool { return t != t.Round(0) }

// settledAt is when the later of r's ejection and its absence ended.
func (c *columns) settledAt(r *Replica) (ns int64, ok bool) {
	ns, ok = -farthest, true
	for _, t := range [...]time.Time{r.EjectedUntil, r.Since} {
		if t.IsZero() {
			continue
		}
		at, sane := c.since(t)
		ns, ok = max(ns, at), ok && sane
	}
	return ns, ok
}

const mostZones = 64

// scan is one decision's look at columns.
type scan struct {
	*columns
	now, maxAge, bound, slow int64
	need                     lsn.LSN
	asked                    bool // rules about the query have to be asked
}

// columnsFor looks by s at the columns of in's snapshot, and reports whether they can
// answer for the rules.
func (d *Decider) columnsFor(in *input, s *scan) bool {
	c, q := in.s.columns, in.q
	if c == nil || len(c.list) != len(in.s.Replicas) || c.of != &in.s.Replicas[0] || len(d.each) > 0 || q.KeepServer {
		return false
	}
	now, ok := c.since(in.now)
	s.columns, s.now, s.maxAge, s.slow = c, now, int64(d.limits.MaxSampleAge), int64(max(d.limits.SlowStart, 0))
	s.asked = q.Exclude != 0 || q.Group != ""
	if s.bound = int64(in.bound); q.boundless() || in.lifted {
		s.bound = math.MaxInt64
	}
	if !q.Need.Zero() && q.Mode != AnyReplica {
		s.need = q.Need.LSN
		ok = ok && s.need != 0 && q.Need.History == c.history
	}
	if q.Ahead && q.Mode != AnyReplica {
		s.need = math.MaxUint64
	}
	return ok && s.slow < farthest
}

// pass goes over replicas that are known not to serve in, notes what is said against
// them in out, and returns the place of the first that may serve it or has to be judged
// by the rules, how many of looks are left with that one, and whether it may serve.
// With none left there is none.
func (s *scan) pass(in *input, i, looks int, out *outcome) (at, left int, may bool) {
	var behind, lagging, old bool
	list, now := s.list, s.now
	fixed := ReasonNone
	for ; looks > 0; looks-- {
		c := &list[i]
		if s.asked && s.ask(in, i) {
			break
		}
		if c.fixed != ReasonNone { //nolint:gocritic // in a switch, break would not end the loop
			if telling[c.fixed] > telling[fixed] {
				fixed = c.fixed
			}
		} else if c.odd || now-c.settled < s.slow { // ejected, or coming back
			break
		} else if now-c.sampled > s.maxAge {
			old = true
		} else if now-c.replayed > s.bound {
			lagging = true
		} else if c.applied < s.need {
			behind = true
			out.canWait = out.canWait || c.waits && in.left > 0 && in.remains(c.catchUp) <= in.left
			if s.need > s.furthest && s.hopeless(in, out.canWait) {
				looks = 0
				break
			}
		} else {
			may = true
			break
		}
		if i++; i == len(list) {
			i = 0
		}
	}
	out.bounded = out.bounded || lagging
	out.object(fixed)
	switch {
	case behind:
		out.object(ReasonBehindSession)
	case lagging:
		out.object(ReasonLagging)
	case old:
		out.object(ReasonOldNews)
	}
	return i, looks, may
}

// ask reports whether the rules have to be asked because of what in asks for.
func (s *scan) ask(in *input, i int) bool {
	return in.q.Excludes(i) || ruleGroup(in.q, &in.s.Replicas[i]) != ReasonNone
}

// hopeless reports whether nobody that is still to be looked at can change what is
// decided: the session's position is beyond what anybody has.
func (s *scan) hopeless(in *input, canWait bool) bool {
	return s.odd == 0 && !in.s.Primary.Lost && (canWait || in.left < in.remains(s.quickest))
}
