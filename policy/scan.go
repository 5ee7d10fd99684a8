package policy

import (
	"math"
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// bounds are what a column has to keep so that its replica may serve a read. They are few
// enough to stay in registers.
type bounds struct {
	settled, sampled, replayed int64 // settled no later than that, the others no earlier
	need                       lsn.LSN
}

// within reports whether c keeps b.
func (b bounds) within(c *column) bool {
	return c.settled <= b.settled && c.sampled >= b.sampled && c.replayed >= b.replayed && c.applied >= b.need
}

// bounds returns what columns have to keep for in. ok is false where they cannot answer
// for the rules.
func (d *Decider) bounds(in *input) (b bounds, ok bool) {
	c, q := in.s.columns, in.q
	if c == nil || len(c.list) != len(in.s.Replicas) || c.of != &in.s.Replicas[0] || len(d.each) > 0 || q.KeepServer || in.trace != nil {
		return b, false
	}
	now := int64(in.now.Sub(c.base))
	ok = now > -farthest && now < farthest && monotonic(in.now) == c.steady
	b.settled, b.sampled, b.replayed = now-d.slow, now-d.maxAge, now-bound(in.bound)
	if q.boundless() || in.lifted {
		b.replayed = math.MinInt64
	}
	if q.Mode != AnyReplica {
		if !q.Need.Zero() {
			b.need = q.Need.LSN
			ok = ok && b.need != 0 && q.Need.History == c.history
		}
		if q.Ahead {
			b.need = math.MaxUint64
		}
	}
	return b, ok && d.slow < farthest
}

// bound is d as a number that can be subtracted from a column's time.
func bound(d time.Duration) int64 { return min(max(int64(d), -4*farthest), 4*farthest) }

// scan is one decision's look at columns.
type scan struct {
	*columns
	bounds
	place, looks int   // the next one to look at, and how many are left with it
	asked        bool  // rules about the query have to be asked
	zone         uint8 // the query's, where strangers are counted
	beyond       bool  // none that the columns answer for has need, and the primary is there
	vain         bool  // nor will any have it in time
	hopeless     bool  // none of those can change what is decided any more
}

// newScan returns a look at so many replicas from place on.
func newScan(in *input, b bounds, place, looks int) scan {
	c := in.s.columns
	s := scan{columns: c, bounds: b, place: place, looks: looks, asked: in.asksRules()}
	if s.need > c.furthest {
		s.beyond, s.vain = !in.s.Primary.Lost, in.left < in.remains(c.quickest)
	}
	if in.strangers >= 0 {
		s.zone = uint8(slices.Index(c.zones, in.q.Zone) + 1)
	}
	return s
}

// scan goes over the replicas as filter does, and leaves to look those of which the
// columns do not say what the rules would say.
func (d *Decider) scan(in *input, sc *scratch, out *outcome, s *scan) {
	for s.looks > 0 && sc.n < MaxCandidates {
		if s.asked && s.ask(in) || s.pass(in, sc, out) {
			d.look(in, sc, out, s.place)
			s.skip(1)
		}
	}
}

// ask reports whether the rules have to be asked because of what in asks for.
func (s *scan) ask(in *input) bool {
	return in.q.Excludes(s.place) || ruleGroup(in.q, &in.s.Replicas[s.place]) != ReasonNone
}

// skip goes on by so many places.
func (s *scan) skip(n int) {
	s.looks -= n
	if s.place += n; s.place >= len(s.list) {
		s.place -= len(s.list)
	}
}

// pass goes on as far as the columns answer, makes candidates of those that may serve, and
// notes in out what is said against the others. It reports whether the one that it has come
// to has to be judged by the rules. Its loop calls nothing: what outlasts a call is stored
// and loaded again, for each of a thousand replicas.
func (s *scan) pass(in *input, sc *scratch, out *outcome) (odd bool) {
	if s.hopeless {
		return s.toOdd()
	}
	var behind, lagging, old bool
	fixed, list, b := ReasonNone, s.list, s.bounds
	place, looks, until, n := s.place, s.looks, 0, sc.n
	if s.asked {
		until = looks - 1
	}
pass:
	for looks > until && n < MaxCandidates {
		switch c := &list[place]; {
		case c.settled > b.settled: // ejected, or coming back
			if c.fixed == ReasonNone {
				odd = true
				break pass
			}
			if telling[c.fixed] > telling[fixed] {
				fixed = c.fixed
			}
		case c.sampled < b.sampled:
			old = true
		case c.replayed < b.replayed:
			lagging = true
		case c.applied < b.need:
			behind = true
			out.canWait = out.canWait || c.waits && in.reaches(c.catchUp)
			if s.hopeless = s.beyond && (s.vain || out.canWait); s.hopeless {
				break pass
			}
		case in.strangers < 0 || c.zone == s.zone && c.zone != 0:
			sc.index[n] = place
			n++
		case c.zone == s.zone: // neither is among columns.zones: their names have to be compared
			odd = true
			break pass
		case in.strangers > 0:
			in.strangers--
			sc.index[n] = place
			n++
		}
		looks--
		if place++; place == len(list) {
			place = 0
		}
	}
	s.place, s.looks, sc.n = place, looks, n
	out.bounded = out.bounded || lagging
	if fixed != ReasonNone {
		out.object(fixed)
	}
	switch {
	case behind:
		out.object(ReasonBehindSession)
	case lagging:
		out.object(ReasonLagging)
	case old:
		out.object(ReasonOldNews)
	}
	if s.hopeless {
		return s.toOdd()
	}
	return odd
}

// toOdd goes on to the next one that the columns do not answer for, and reports whether
// there is one.
func (s *scan) toOdd() bool {
	ahead := s.looks
	if len(s.odd) > 0 {
		next, _ := slices.BinarySearch(s.odd, s.place)
		if next == len(s.odd) {
			ahead = min(ahead, s.odd[0]+len(s.list)-s.place)
		} else {
			ahead = min(ahead, s.odd[next]-s.place)
		}
	}
	s.skip(ahead)
	return s.looks > 0
}
