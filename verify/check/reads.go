package check

import (
	"strconv"
	"time"

	"github.com/readsplit/readsplit/verify/history"
)

// scopes are all that must see something.
type scopes struct {
	sessions map[string]*scope
	process  map[int]*scope // all that was written in a process
	unscoped map[int]*scope // what was written there without a session
	tokens   map[string]*scope
	taken    map[string]int // the event that took a token
}

func of[K comparable](m map[K]*scope, key K) *scope {
	s := m[key]
	if s == nil {
		s = newScope()
		m[key] = s
	}
	return s
}

// reads goes through the history in the order of time and judges each read by what
// had to be seen when it was invoked.
func (j *judge) reads() {
	s := &scopes{sessions: map[string]*scope{}, process: map[int]*scope{}, unscoped: map[int]*scope{}, tokens: map[string]*scope{}, taken: map[string]int{}}
	seen := j.newSeen()
	for _, p := range j.points() {
		e := &j.h.Events[p.event]
		switch e.Kind {
		case history.KindWrite:
			of(s.process, e.Process).add(j, p.event, nil)
			if e.Session == "" {
				of(s.unscoped, e.Process).add(j, p.event, nil)
			} else {
				of(s.sessions, e.Session).add(j, p.event, nil)
			}
		case history.KindToken:
			if e.Result == history.OK {
				s.tokens[e.Token], s.taken[e.Token] = of(s.sessions, e.Session).copied(), p.event
				seen.take(e)
			}
		case history.KindJoin:
			if from := s.tokens[e.Token]; from != nil {
				of(s.sessions, e.Session).join(from, s.taken[e.Token], p.event)
				seen.join(e, s.taken[e.Token], p.event)
			}
		case history.KindRead:
			j.read(p.event, e, s, seen)
		}
	}
}

// afterwards is how long a fault of the primary may be over while clients still see the
// errors that it caused.
const afterwards = int64(5 * time.Second)

// read judges one read.
func (j *judge) read(i int, e *history.Event, s *scopes, seen *seen) {
	if e.Result != history.OK {
		switch {
		case e.Queued:
			j.violation(Served, []int{i}, "the read never had its turn on the primary: %s", e.Error)
		case e.Free || j.broken(e):
			j.report.Excused++
		default:
			j.violation(Served, []int{i}, "the read failed: %s", e.Error)
		}
		return
	}
	j.report.Reads++
	replica := false
	open := false // something about it cannot be judged
	for _, r := range e.Reads {
		on := server(e, r)
		replica = replica || on != "" && on != j.primaryAt(e.Invoke, e.Return)
		if !j.written(i, e, r) {
			open = true
		}
	}
	if replica {
		j.report.OnReplica++
	}
	own, skipped := j.mustSee(i, e, s)
	if own && replica {
		j.report.OwnOnReplica++
	}
	j.together(i, e)
	seen.read(i, e, replica)
	if open || skipped {
		j.report.Unknown++
	}
}

// written checks that what r shows was written, and reports whether it can be
// compared: it cannot where it was lost later.
func (j *judge) written(i int, e *history.Event, r history.Read) bool {
	stands := true
	for _, v := range shown(r) {
		w, known := j.byValue[place{r.Key, v}]
		switch {
		case !known:
			j.violation(Stranger, []int{i}, "%s shows %s, which no client has written", r.Key, v)
		case j.committed(r.Key, v):
		case !j.final:
			stands = false
		case j.h.Events[w].Result == history.Failed:
			j.violation(Undone, []int{w, i}, "%s shows %s, whose write failed (%s)", r.Key, v, j.h.Events[w].Error)
		case j.mayBeLost(&j.h.Events[w]) && !j.lostBefore(e.Invoke, &j.h.Events[w]):
			stands = false
		case j.mayBeLost(&j.h.Events[w]):
			j.violation(Stranger, []int{w, i}, "%s shows %s, which was lost before: the server is of another history", r.Key, v)
		case j.h.Events[w].Result == history.OK:
			stands = false // it is reported as lost
		default:
			j.violation(Undone, []int{w, i}, "%s shows %s, which is gone", r.Key, v)
		}
	}
	if reg := j.registers[r.Key]; reg != nil && stands && r.Version > 0 {
		if v, ok := reg.version[r.Value]; ok && v != r.Version && j.final {
			j.violation(Stranger, []int{i}, "%s shows %s as version %d, and it is version %d", r.Key, r.Value, r.Version, v)
		}
	}
	return stands
}

func shown(r history.Read) []string {
	if history.IsRegister(r.Key) {
		if r.Version <= 0 {
			return nil
		}
		return []string{r.Value}
	}
	return r.Values
}

// lostBefore reports whether the fault that may have lost a write was over, and
// the bound on staleness has passed, before a moment: then nobody may see it any
// more.
func (j *judge) lostBefore(at int64, w *history.Event) bool {
	for _, i := range j.faults {
		f := &j.h.Events[i]
		if f.Return >= w.Invoke && (f.Promoted != "" || f.Loses) && f.Return+int64(j.h.Header.MaxLag)+afterwards < at {
			return true
		}
	}
	return false
}

// version returns the version that r proves to have been seen; ok is false where it
// shows what was lost, which stands at no place in the order of the rest.
func (j *judge) version(r history.Read) (v int64, ok bool) {
	if r.Version <= 0 {
		return r.Version, true
	}
	v, ok = j.register(r.Key).version[r.Value]
	return v, ok
}

// missing describes a register that shows too little.
func missing(r history.Read, version int64, value string) string {
	have := "version " + strconv.FormatInt(r.Version, 10)
	if r.Version < 0 {
		have = "no row"
	}
	return r.Key + " shows " + have + ", and not yet version " + strconv.FormatInt(version, 10) + " (" + value + ")"
}
