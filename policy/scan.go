package policy

import (
	"math"
	"slices"

	"github.com/readsplit/readsplit/lsn"
)

// scan is one decision's look at columns.
type scan struct {
	*columns
	place, looks int // the next one to look at, and how many are left with it

	settled, sampled, replayed int64 // a replica serves that is settled by then, and as young as that
	need                       lsn.LSN
	asked                      bool  // rules about the query have to be asked
	zone                       uint8 // the query's, where strangers are counted
	beyond                     bool  // nobody has need, and the primary is there
	vain                       bool  // nor will anybody have it in time
	hopeless                   bool  // nobody of the columns can change what is decided any more
}

// columnsFor looks by s at the columns of in's snapshot, and reports whether they can
// answer for the rules.
func (d *Decider) columnsFor(in *input, s *scan) bool {
	c, q := in.s.columns, in.q
	if c == nil || len(c.list) != len(in.s.Replicas) || c.of != &in.s.Replicas[0] || len(d.each) > 0 || q.KeepServer || in.trace != nil {
		return false
	}
	now, ok := c.since(in.now)
	slow := int64(max(d.limits.SlowStart, 0))
	s.columns, s.settled = c, now-slow
	s.sampled, s.replayed = now-within(int64(d.limits.MaxSampleAge)), now-within(int64(in.bound))
	if q.boundless() || in.lifted {
		s.replayed = math.MinInt64
	}
	if q.Mode != AnyReplica {
		if !q.Need.Zero() {
			s.need = q.Need.LSN
			ok = ok && s.need != 0 && q.Need.History == c.history
		}
		if q.Ahead {
			s.need = math.MaxUint64
		}
	}
	s.asked = q.Exclude != 0 || q.Group != ""
	if s.need > c.furthest {
		s.beyond, s.vain = !in.s.Primary.Lost, in.left < in.remains(c.quickest)
	}
	if in.strangers >= 0 {
		s.zone = uint8(slices.Index(c.zones, q.Zone) + 1)
	}
	return ok && slow < farthest
}

// within is a bound that can be subtracted from a column's time.
func within(bound int64) int64 { return min(max(bound, -4*farthest), 4*farthest) }

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

// all reports whether every replica may serve.
func (s *scan) all(in *input) bool {
	w := &s.worst
	return w.settled <= s.settled && w.sampled >= s.sampled && w.replayed >= s.replayed && w.applied >= s.need &&
		!s.asked && in.strangers < 0
}

// takeAll makes candidates of all that are left, or of as many as there may be.
func (s *scan) takeAll(sc *scratch) {
	sc.n = min(s.looks, MaxCandidates)
	place := s.place
	for i := range sc.index[:sc.n] {
		sc.index[i] = place
		if place++; place == len(s.list) {
			place = 0
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

// pass goes on as far as the columns answer, takes those that may serve, and notes in out
// what is said against the others. It reports whether the one that it has come to is to be
// judged by the rules. It calls nothing on the way: what has to outlast a call would be
// stored and loaded for each of a thousand replicas.
func (s *scan) pass(in *input, sc *scratch, out *outcome) (odd bool) {
	if s.hopeless {
		return s.toOdd()
	}
	var behind, lagging, old bool
	fixed, list := ReasonNone, s.list
	place, looks, until, n := s.place, s.looks, 0, sc.n
	if s.asked {
		until = looks - 1
	}
pass:
	for looks > until && n < MaxCandidates {
		switch c := &list[place]; {
		case c.settled > s.settled: // ejected, or coming back
			if c.fixed == ReasonNone {
				odd = true
				break pass
			}
			if telling[c.fixed] > telling[fixed] {
				fixed = c.fixed
			}
		case c.sampled < s.sampled:
			old = true
		case c.replayed < s.replayed:
			lagging = true
		case c.applied < s.need:
			behind = true
			out.canWait = out.canWait || c.waits && in.reaches(c.catchUp)
			if s.hopeless = s.beyond && (s.vain || out.canWait); s.hopeless {
				break pass
			}
		case in.strangers < 0 || c.zone == s.zone && c.zone != 0:
			sc.index[n] = place
			n++
		case c.zone == s.zone:
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
