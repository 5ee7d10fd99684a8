package failover

import (
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// Seen is the newest answer of one host.
type Seen struct {
	Sample lsn.Sample
	Began  time.Time // when the question was sent; zero: it has never answered
	Silent bool      // a question that was sent later was not answered
}

// Election decides which host is the primary, from what all of them said. It
// remembers the highest timeline, so that it never goes back. The zero Election has
// seen nothing.
type Election struct {
	system  uint64 // of the cluster; 0: none was elected yet
	highest uint32 // the highest timeline that was ever seen
	first   map[identity]time.Time
	last    Outcome
	decided bool
}

// identity is one run of one server.
type identity struct {
	system  uint64
	started int64
}

func identityOf(s *lsn.Sample) identity { return identity{s.System, s.Started} }

// Decide returns who is the primary at a moment. Answers that are older than
// maxAge are no news: nobody is elected by them. seen has the same hosts in the same
// order each time.
func (e *Election) Decide(now time.Time, maxAge time.Duration, seen []Seen) Outcome {
	if !e.decided {
		e.decided, e.last.Leader, e.first = true, -1, make(map[identity]time.Time)
	}
	system := e.systemOf(seen)
	out := Outcome{Leader: e.last.Leader, Server: e.last.Server, Timeline: e.last.Timeline, Moves: e.last.Moves}
	var primaries []int
	for i := range seen {
		s := &seen[i].Sample
		switch {
		case seen[i].Began.IsZero():
			continue
		case s.System != system:
			out.Foreign = append(out.Foreign, i)
			continue
		case s.InRecovery:
			// What a standby streams is written by somebody, be it a server that is
			// none of ours.
			e.highest = max(e.highest, s.ReceivedTimeline)
			continue
		}
		e.highest = max(e.highest, s.Timeline)
		if now.Sub(seen[i].Began) <= maxAge {
			primaries = append(primaries, i)
		}
	}
	out.Highest = e.highest
	var heads []int
	for _, i := range primaries {
		if seen[i].Sample.Timeline < e.highest {
			out.Refused = append(out.Refused, i)
		} else {
			heads = append(heads, i)
		}
	}
	e.remember(now, seen, heads)
	e.judge(&out, seen, heads)
	if out.State == Elected && e.system == 0 {
		e.system = system
	}
	e.last = out
	return out
}

// systemOf returns the cluster that the hosts belong to: that of the first primary
// that was elected and, before there was one, that of most hosts. A wrong address
// among right ones does not win.
func (e *Election) systemOf(seen []Seen) uint64 {
	if e.system != 0 {
		return e.system
	}
	var most int
	var system uint64
	for i := range seen {
		if seen[i].Began.IsZero() {
			continue
		}
		votes := 0
		for j := range seen {
			if !seen[j].Began.IsZero() && seen[j].Sample.System == seen[i].Sample.System {
				votes++
			}
		}
		if votes > most {
			most, system = votes, seen[i].Sample.System
		}
	}
	return system
}

// remember keeps when each of the heads was first seen, for as long as it is one.
func (e *Election) remember(now time.Time, seen []Seen, heads []int) {
	was := e.first
	e.first = make(map[identity]time.Time, len(heads))
	for _, i := range heads {
		id := identityOf(&seen[i].Sample)
		e.first[id] = now
		if at, ok := was[id]; ok {
			e.first[id] = at
		}
	}
}

// judge fills in who is elected among the heads, the primaries with the highest
// timeline.
func (e *Election) judge(out *Outcome, seen []Seen, heads []int) {
	elected := identityOf(&lsn.Sample{Server: out.Server})
	elect := func(i int) {
		s := &seen[i].Sample
		if out.Leader >= 0 && identityOf(s) != elected {
			out.Moves++
		}
		out.State, out.Leader, out.Server, out.Timeline = Elected, i, s.Server, s.Timeline
	}
	// Of several servers the one that was elected stays, as long as nothing is proven;
	// of several names of one server the one that is in use, as long as it answers.
	keep, best := -1, -1
	for _, i := range heads {
		rank := 0
		if identityOf(&seen[i].Sample) == elected {
			rank += 4
		}
		if !seen[i].Silent {
			rank += 2
		}
		if i == out.Leader {
			rank++
		}
		if rank > best {
			keep, best = i, rank
		}
	}
	switch {
	case len(e.first) > 1 && e.proven(seen, heads):
		out.State, out.Rivals = Tied, heads
	case len(e.first) > 1:
		elect(keep)
		out.Unsettled = true
	case len(e.first) == 1:
		elect(keep)
	case out.Leader >= 0 && out.Timeline == e.highest:
		out.State = Lost
	case e.highest > 0 && (out.Leader >= 0 || len(out.Refused) > 0):
		out.State = Superseded
	default:
		out.State = Unknown
	}
}

// proven reports whether two different servers among the heads are there at the
// same time: each has answered a question that was sent after the other one was
// first seen. The answer of a server from before its restart is young too, and must
// not be taken for a second primary.
func (e *Election) proven(seen []Seen, heads []int) bool {
	if e.last.State == Tied {
		// A tie that was proven stays one until only one of them is left.
		return true
	}
	return slices.ContainsFunc(heads, func(i int) bool {
		return slices.ContainsFunc(heads, func(j int) bool {
			a, b := identityOf(&seen[i].Sample), identityOf(&seen[j].Sample)
			return a != b && seen[i].Began.After(e.first[b]) && seen[j].Began.After(e.first[a])
		})
	})
}
