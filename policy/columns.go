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
	traits  []traits // of the same; apart, so that those that are passed over are few bytes

	worst    column        // the worst of each in list: where it may serve, every replica may
	furthest lsn.LSN       // that any of list has
	quickest time.Duration // to catch up
	odd      []int         // the places of those that are left to the rules whatever is asked, in order
}

// column is one replica. The times are nanoseconds since columns.base.
type column struct {
	applied  lsn.LSN
	sampled  int64
	replayed int64 // less the margin: now minus this is its lag
	settled  int64 // when it was ejected until, or came back; farthest where it is odd, or fixed
	catchUp  time.Duration
	fixed    Reason // what is said against it whatever is asked, and whenever
	waits    bool   // it is worth waiting for, if catchUp is short enough
	zone     uint8  // its place in columns.zones, +1; 0: it is not there
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
	c := &columns{of: &s.Replicas[0], base: now, steady: monotonic(now), history: s.Primary.Position.History, list: make([]column, n), traits: make([]traits, n), quickest: math.MaxInt64}
	c.worst = column{applied: math.MaxUint64, sampled: math.MaxInt64, replayed: math.MaxInt64, settled: math.MinInt64}
	for i := range s.Replicas {
		r, to := &s.Replicas[i], &c.list[i]
		replayed, dated := c.since(r.ReplayedAt)
		if c.traits[i] = (traits{weight: r.share(), hash: hashed(r.Name)}); dated && !r.standsIn() {
			c.traits[i].shown = replayed
		}
		to.settled, to.zone = farthest, c.zoneOf(r)
		if r.Reserved || r.Role == RoleLogical { // for whom, the query says, and the rules before what is fixed
			c.odd = append(c.odd, i)
		} else if to.fixed = r.fixed(); to.fixed == ReasonNone && (!dated || !c.plain(to, r, replayed)) {
			c.odd = append(c.odd, i)
		}
		c.worst.applied, c.worst.settled = min(c.worst.applied, to.applied), max(c.worst.settled, to.settled)
		c.worst.sampled, c.worst.replayed = min(c.worst.sampled, to.sampled), min(c.worst.replayed, to.replayed)
	}
	s.columns = c
}

// traits of all replicas of s; none, unless it was prepared.
func (s *Snapshot) traits() []traits {
	if c := s.columns; c != nil && c.of == &s.Replicas[0] {
		return c.traits
	}
	return nil
}

// zoneOf is the place of r's zone in c.zones, +1.
func (c *columns) zoneOf(r *Replica) uint8 {
	if r.Gone {
		return 0
	}
	i := slices.Index(c.zones, r.Zone)
	if i < 0 && len(c.zones) < mostZones {
		i, c.zones = len(c.zones), append(c.zones, r.Zone)
	}
	return uint8(i + 1)
}

// plain fills in to, and reports whether that is all there is to know of r.
func (c *columns) plain(to *column, r *Replica, replayed int64) bool {
	sampled, news := c.since(r.Sampled)
	settled, sane := c.settledAt(r)
	if !news || !sane || r.Role != RoleStandby || r.Balanced || r.NoPosition || r.Margin >= time.Hour ||
		r.Applied.LSN == 0 || r.Applied.History != c.history || c.history.Zero() {
		return false
	}
	to.sampled, to.replayed, to.settled = sampled, replayed-int64(max(r.Margin, 0)), settled
	to.applied, to.catchUp, to.waits = r.Applied.LSN, r.CatchUp, !r.Paused
	c.furthest = max(c.furthest, to.applied)
	if to.waits {
		c.quickest = min(c.quickest, to.catchUp)
	}
	return true
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
