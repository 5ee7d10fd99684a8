package check

import (
	"fmt"

	"github.com/readsplit/readsplit/verify/history"
)

// mustSee judges a read by what it had to see: the writes of those whose it is, and
// what is older than its bound. own says that it had to see a write of theirs;
// skipped that the router says that no bound could be proven.
func (j *judge) mustSee(i int, e *history.Event, s *scopes) (own, skipped bool) {
	var whose []*scope
	switch {
	case e.Mode == history.AnyReplica:
		return false, false
	case e.Session != "":
		whose = append(whose, of(s.sessions, e.Session))
		if e.Mode != history.Stale {
			whose = append(whose, of(s.unscoped, e.Process))
		}
	case e.Mode != history.Stale:
		whose = append(whose, of(s.process, e.Process))
	}
	for _, r := range e.Reads {
		for n, sc := range whose {
			shared := n > 0 || e.Session == ""
			some, open := j.ownWrites(i, e, r, sc, shared)
			own, skipped = own || some, skipped || open
		}
		at, rule, bounded := j.bound(e)
		if !bounded {
			continue
		}
		switch l, found := j.within(e, r, at); {
		case !found:
		case rule == Bounded && j.unbounded(e):
			skipped = true
		default:
			j.violation(rule, append(j.writers(r.Key, l.value), i), "%s", l.text)
		}
	}
	return own, skipped
}

// unbounded reports whether nothing may be promised of how old a read is: its router
// says that the primary was lost, or says nothing while the primary was broken.
func (j *judge) unbounded(e *history.Event) bool {
	return e.Reason == "primary_lost" || e.Reason == "" && j.broken(e)
}

// broken reports whether the primary was broken during a read, or shortly before.
func (j *judge) broken(e *history.Event) bool {
	return j.during(e.Invoke-afterwards, e.Return, func(f *history.Event) bool { return f.Breaks })
}

// overdue reports whether a write no longer binds a read that may be of others: the
// primary is lost, and the write is older than the window.
func (j *judge) overdue(e *history.Event, n need, shared bool) bool {
	return shared && j.h.Header.Window > 0 && e.Invoke-j.h.Events[n.write].Return > int64(j.h.Header.Window) && j.unbounded(e)
}

// ownWrites checks that r shows what a scope must see. some says that there was
// anything, open that something was missed of which nothing is promised.
func (j *judge) ownWrites(i int, e *history.Event, r history.Read, sc *scope, shared bool) (some, open bool) {
	missed := func(n need, format string, args ...any) {
		if j.overdue(e, n, shared) {
			open = true
			return
		}
		j.violation(OwnWrites, append(n.via.events(), n.write, i), format, args...)
	}
	if history.IsRegister(r.Key) {
		n, some := sc.registers[r.Key]
		if v, ok := j.version(r); some && ok && v < n.version {
			missed(n, "%s", missing(r, n.version, n.value))
		}
		return some, open
	}
	needs := sc.lists[r.Key]
	if history.IsPlace(r.Key) {
		if len(needs) > 0 && len(r.Values) == 0 {
			missed(needs[0], "%s is shown empty, and %s was written there", r.Key, needs[0].value)
		}
		return len(needs) > 0, open
	}
	have := set(r.Values)
	for _, n := range needs {
		if !have[n.value] {
			missed(n, "%s does not show %s", r.Key, n.value)
			break // one of a read is enough
		}
	}
	return len(needs) > 0, open
}

func set(values []string) map[string]bool {
	s := make(map[string]bool, len(values))
	for _, v := range values {
		s[v] = true
	}
	return s
}

// bound returns the moment before which everything that was known must be seen. The
// promise is judged at the moment of the decision, which is not before the read was
// invoked.
func (j *judge) bound(e *history.Event) (at int64, rule Rule, bounded bool) {
	most := j.h.Header.MaxLag
	switch e.Mode {
	case history.Fresh:
		return e.Invoke, Current, true
	case history.Stale, history.AnyReplica:
		return 0, "", false
	case history.AtMost:
		if most == 0 || e.Bound < most {
			most = e.Bound
		}
	}
	return e.Invoke - int64(most), Bounded, most > 0
}

// late is what a read should have shown by a moment, and did not.
type late struct{ value, text string }

// within looks for something that was known before a moment and that r does not
// show.
func (j *judge) within(e *history.Event, r history.Read, at int64) (l late, found bool) {
	if history.IsRegister(r.Key) {
		reg := j.register(r.Key)
		n := reg.before(at)
		if v, ok := j.version(r); !ok || n == 0 || v >= n {
			return late{}, false
		}
		return late{reg.values[n-1], fmt.Sprintf("%s, known %v before", missing(r, n, reg.values[n-1]), ago(e.Invoke-reg.known[n-1]))}, true
	}
	known := j.list(r.Key)
	due := known.before(at)
	if history.IsPlace(r.Key) {
		if len(due) == 0 || len(r.Values) > 0 {
			return late{}, false
		}
		return late{due[0], fmt.Sprintf("%s is shown empty, and %s was there %v before", r.Key, due[0], ago(e.Invoke-known.known[due[0]]))}, true
	}
	have := set(r.Values)
	for _, v := range due {
		if !have[v] {
			return late{v, fmt.Sprintf("%s does not show %s, known %v before", r.Key, v, ago(e.Invoke-known.known[v]))}, true
		}
	}
	return late{}, false
}
