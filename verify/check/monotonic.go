package check

import (
	"slices"

	"github.com/readsplit/readsplit/verify/history"
)

// seen is what each session, and each token, has seen of each key.
type seen struct {
	j        *judge
	sessions map[string]sights
	tokens   map[string]sights
}

// sights are what was seen, by key. The slices only grow at their end, so that a
// copy of one stays what it was.
type sights map[string][]sight

// sight is one read of a key.
type sight struct {
	event   int
	version int64    // of a register
	values  []string // of a list
	binds   bool     // whoever has it must not see less
	via     *via     // how it came to a session that has not seen it
}

func (j *judge) newSeen() *seen {
	return &seen{j: j, sessions: map[string]sights{}, tokens: map[string]sights{}}
}

func sightsOf(m map[string]sights, name string) sights {
	s := m[name]
	if s == nil {
		s = sights{}
		m[name] = s
	}
	return s
}

// take lets a token carry what binds its session.
func (s *seen) take(e *history.Event) {
	t := sights{}
	for key, all := range s.sessions[e.Session] {
		for _, old := range all {
			// What it saw itself was seen before it took the token, unless that is
			// another goroutine's.
			if old.binds && (old.via != nil || s.j.h.Events[old.event].Return < e.Invoke) {
				t[key] = append(t[key], old)
			}
		}
	}
	s.tokens[e.Token] = t
}

// join binds a session by what a token carries.
func (s *seen) join(e *history.Event, taken, joined int) {
	to := sightsOf(s.sessions, e.Session)
	for key, all := range s.tokens[e.Token] {
		for _, old := range all {
			old.via = &via{joined, &via{taken, old.via}}
			to[key] = append(to[key], old)
		}
	}
}

// read compares a read with those of its session that had returned before it was
// invoked, and with those that a token brought.
func (s *seen) read(i int, e *history.Event, replica bool) {
	if e.Session == "" {
		return
	}
	promised := slices.Contains(s.j.h.Header.Monotonic, e.Process)
	by := sightsOf(s.sessions, e.Session)
	next := sights{}
	held := false
	for _, r := range e.Reads {
		now, ok := s.sight(i, r)
		if !ok {
			continue
		}
		now.binds = promised
		next[r.Key] = append(next[r.Key], now)
		if e.InTx || e.Mode == history.AnyReplica {
			continue
		}
		for _, old := range by[r.Key] {
			if old.via == nil && s.j.h.Events[old.event].Return >= e.Invoke {
				continue
			}
			held = held || old.binds
			text, less := s.less(r, now, old)
			if less && old.binds && !s.ahead(e, r, old) {
				s.j.violation(Backwards, append(old.via.events(), old.event, i), "%s", text)
			} else if less {
				s.j.report.WentBackwards++
			}
			if less {
				break // one of a read is enough
			}
		}
	}
	if held && replica {
		s.j.report.Monotonic++
	}
	for key, all := range next {
		by[key] = append(by[key], all...)
	}
}

// sight returns what a read shows; ok is false where it cannot be compared.
func (s *seen) sight(i int, r history.Read) (now sight, ok bool) {
	switch {
	case history.IsRegister(r.Key):
		v, ok := s.j.version(r)
		return sight{event: i, version: v}, ok
	case history.IsList(r.Key):
		now = sight{event: i}
		for _, v := range r.Values {
			if s.j.committed(r.Key, v) {
				now.values = append(now.values, v)
			}
		}
		return now, true
	}
	return sight{}, false
}

// ahead reports whether a read on the primary may not have shown yet what a standby
// had shown before: a commit record is on its way to the standbys before the primary
// lets new readers see what it commits, and nothing says when it does but the
// acknowledgement.
func (s *seen) ahead(e *history.Event, r history.Read, old sight) bool {
	if on := server(e, r); on == "" || on != s.j.primaryAt(e.Invoke, e.Return) {
		return false
	}
	if history.IsRegister(r.Key) {
		return s.j.registers[r.Key].known[old.version-1] > e.Invoke
	}
	l := s.j.list(r.Key)
	have := set(r.Values)
	for _, v := range old.values {
		if known, ok := l.known[v]; !have[v] && ok && known <= e.Invoke {
			return false // this one was there
		}
	}
	return true
}

// less reports whether a read shows less than what was seen before.
func (s *seen) less(r history.Read, now, old sight) (text string, less bool) {
	if history.IsRegister(r.Key) {
		return missing(r, old.version, "seen before"), now.version < old.version
	}
	have := set(now.values)
	for _, v := range old.values {
		if !have[v] {
			return r.Key + " does not show " + v + ", which was seen before", true
		}
	}
	return "", false
}
