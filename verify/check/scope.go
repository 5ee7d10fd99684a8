package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/readsplit/readsplit/verify/history"
)

// need is one write that a scope must see.
type need struct {
	write   int   // the event that wrote it
	version int64 // of a register
	value   string
	via     *via
}

// via is how a write came to a scope that has not written it: the tokens and joins,
// the newest first.
type via struct {
	event int
	next  *via
}

func (v *via) events() (all []int) {
	for ; v != nil; v = v.next {
		all = append(all, v.event)
	}
	return all
}

// scope is whoever must see a set of writes: a session, or a process.
type scope struct {
	registers map[string]need
	// lists only grow at their end, so that a copy of the slice stays what it was.
	lists map[string][]need
}

func newScope() *scope {
	return &scope{registers: map[string]need{}, lists: map[string][]need{}}
}

// add adds an acknowledged write.
func (s *scope) add(j *judge, i int, v *via) {
	for _, w := range j.h.Events[i].Writes {
		n := need{write: i, value: w.Value, via: v}
		if history.IsRegister(w.Key) {
			n.version = j.register(w.Key).version[w.Value]
			s.furthest(w.Key, n)
		} else if j.committed(w.Key, w.Value) {
			s.lists[w.Key] = append(s.lists[w.Key], n)
		}
	}
}

// furthest keeps the later of two needs. A write that was lost has no version, and
// need not be seen.
func (s *scope) furthest(key string, n need) {
	if n.version > s.registers[key].version {
		s.registers[key] = n
	}
}

// copied returns what s must see now.
func (s *scope) copied() *scope {
	c := &scope{registers: maps.Clone(s.registers), lists: make(map[string][]need, len(s.lists))}
	for key, l := range s.lists {
		c.lists[key] = l[:len(l):len(l)]
	}
	return c
}

// join adds what another scope had to see, through a token (take) that was joined
// (join).
func (s *scope) join(from *scope, take, join int) {
	for key, n := range from.registers {
		n.via = &via{join, &via{take, n.via}}
		s.furthest(key, n)
	}
	for key, l := range from.lists {
		have := map[string]bool{}
		for _, n := range s.lists[key] {
			have[n.value] = true
		}
		for _, n := range l {
			if !have[n.value] {
				n.via = &via{join, &via{take, n.via}}
				s.lists[key] = append(s.lists[key], n)
			}
		}
	}
}

// point is a moment at which something is added to a scope or asked of it.
type point struct {
	at    int64
	asks  bool // what is asked at a moment comes before what is added at it
	event int
}

// points returns the moments that matter, in order: a write and a join count from
// the moment at which they had returned, a read and a token ask at the moment at
// which they were invoked.
func (j *judge) points() []point {
	points := make([]point, 0, len(j.h.Events))
	for i := range j.h.Events {
		switch e := &j.h.Events[i]; e.Kind {
		case history.KindWrite:
			if e.Result == history.OK {
				points = append(points, point{e.Return, false, i})
			}
		case history.KindJoin:
			points = append(points, point{e.Return, false, i})
		case history.KindRead, history.KindToken:
			points = append(points, point{e.Invoke, true, i})
		}
	}
	slices.SortStableFunc(points, func(a, b point) int {
		if c := cmp.Compare(a.at, b.at); c != 0 || a.asks == b.asks {
			return c
		}
		if a.asks {
			return -1
		}
		return 1
	})
	return points
}
