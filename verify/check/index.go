package check

import (
	"math"
	"slices"
	"sort"

	"github.com/readsplit/readsplit/verify/history"
)

// never is the time of what has not been known at any time.
const never = int64(math.MaxInt64)

// judge holds what is known of a history while it is judged. Events are named by
// their index.
type judge struct {
	h      *history.History
	report *Report

	faults []int
	// byValue is the write that wrote a value to a key.
	byValue map[place]int
	// final says that the history has the state at the end: of all keys then, and a
	// key that is not there was empty.
	final bool
	// registers and lists are what was committed to each key for good.
	registers map[string]*register
	lists     map[string]*list
}

type place struct{ key, value string }

// register is one key with versions.
type register struct {
	values  []string         // by version - 1; "" where a version was never seen
	version map[string]int64 // by value
	// known is when the version, or a later one, was known to have been committed.
	known []int64
}

// list is one key to which values are added, or a place that is filled once.
type list struct {
	count map[string]int
	known map[string]int64
	order []string // by known
}

func (j *judge) index() {
	j.byValue = map[place]int{}
	j.registers = map[string]*register{}
	j.lists = map[string]*list{}
	for i := range j.h.Events {
		e := &j.h.Events[i]
		switch e.Kind {
		case history.KindFault:
			j.faults = append(j.faults, i)
			j.report.Faults++
		case history.KindFinal:
			j.final = true
			j.takeFinal(e)
		case history.KindWrite:
			j.report.Operations++
			for _, w := range e.Writes {
				j.byValue[place{w.Key, w.Value}] = i
			}
		default:
			j.report.Operations++
		}
	}
	j.observe()
	j.know()
}

func (j *judge) register(key string) *register {
	r := j.registers[key]
	if r == nil {
		r = &register{version: map[string]int64{}}
		j.registers[key] = r
	}
	return r
}

func (j *judge) list(key string) *list {
	l := j.lists[key]
	if l == nil {
		l = &list{count: map[string]int{}, known: map[string]int64{}}
		j.lists[key] = l
	}
	return l
}

func (j *judge) takeFinal(e *history.Event) {
	if !history.IsRegister(e.Key) {
		for _, v := range e.Values {
			j.list(e.Key).count[v]++
		}
		return
	}
	r := j.register(e.Key)
	r.values = e.Values
	for i, v := range e.Values {
		if _, twice := r.version[v]; !twice {
			r.version[v] = int64(i) + 1
		}
	}
}

// observe takes what was committed from what clients were told, where there is no
// state at the end.
func (j *judge) observe() {
	if j.final {
		return
	}
	for i := range j.h.Events {
		e := &j.h.Events[i]
		if e.Result != history.OK {
			continue
		}
		for _, w := range e.Writes {
			switch {
			case !history.IsRegister(w.Key):
				j.list(w.Key).count[w.Value] = 1
			case w.Version > 0:
				j.register(w.Key).set(w.Version, w.Value)
			}
		}
		for _, r := range e.Reads {
			if history.IsRegister(r.Key) && r.Version > 0 {
				j.register(r.Key).set(r.Version, r.Value)
			}
		}
	}
}

func (r *register) set(version int64, value string) {
	if _, there := r.version[value]; there {
		return
	}
	for int64(len(r.values)) < version {
		r.values = append(r.values, "")
	}
	if r.values[version-1] == "" {
		r.values[version-1] = value
		r.version[value] = version
	}
}

// know finds out from when on each value was known to have been committed: its
// commit was acknowledged, or a reader on the primary had it. What a standby shows
// may be ahead of what the primary shows to new readers by the time that a process
// there takes to say so, and is no proof for them.
func (j *judge) know() {
	for _, r := range j.registers {
		r.known = make([]int64, len(r.values))
		for i := range r.known {
			r.known[i] = never
		}
	}
	for i := range j.h.Events {
		e := &j.h.Events[i]
		if e.Result != history.OK {
			continue
		}
		for _, w := range e.Writes {
			j.knownAt(w.Key, w.Value, e.Return)
		}
		if e.Kind != history.KindRead {
			continue
		}
		for _, r := range e.Reads {
			if on := server(e, r); on == "" || on != j.primaryAt(e.Invoke, e.Return) {
				continue
			}
			if history.IsRegister(r.Key) {
				j.knownAt(r.Key, r.Value, e.Return)
			}
			for _, v := range r.Values {
				j.knownAt(r.Key, v, e.Return)
			}
		}
	}
	for _, r := range j.registers {
		// Whoever knows a version knows those before it.
		for i := len(r.known) - 2; i >= 0; i-- {
			r.known[i] = min(r.known[i], r.known[i+1])
		}
	}
	for _, l := range j.lists {
		for v := range l.known {
			l.order = append(l.order, v)
		}
		sort.Slice(l.order, func(a, b int) bool {
			if l.known[l.order[a]] != l.known[l.order[b]] {
				return l.known[l.order[a]] < l.known[l.order[b]]
			}
			return l.order[a] < l.order[b]
		})
	}
}

func (j *judge) knownAt(key, value string, at int64) {
	if history.IsRegister(key) {
		r := j.register(key)
		if v, ok := r.version[value]; ok {
			r.known[v-1] = min(r.known[v-1], at)
		}
		return
	}
	l := j.list(key)
	if l.count[value] == 0 {
		return // lost, or never committed
	}
	if known, ok := l.known[value]; !ok || at < known {
		l.known[value] = at
	}
}

// before returns how many versions of r were known before a moment.
func (r *register) before(at int64) int64 {
	return int64(sort.Search(len(r.known), func(i int) bool { return r.known[i] >= at }))
}

// before returns the values of l that were known before a moment.
func (l *list) before(at int64) []string {
	n := sort.Search(len(l.order), func(i int) bool { return l.known[l.order[i]] >= at })
	return l.order[:n]
}

func server(e *history.Event, r history.Read) string {
	if r.Server != "" {
		return r.Server
	}
	return e.Server
}

// primaryAt returns the primary during an interval; "" where it changed within.
func (j *judge) primaryAt(from, to int64) string {
	primary := j.h.Header.Primary
	for _, i := range j.faults {
		switch f := &j.h.Events[i]; {
		case f.Promoted == "" || f.Invoke > to:
		case f.Return >= from:
			return ""
		default:
			primary = f.Promoted
		}
	}
	return primary
}

// during returns the faults of which ok is true that were in force in an interval.
func (j *judge) during(from, to int64, ok func(f *history.Event) bool) bool {
	return slices.ContainsFunc(j.faults, func(i int) bool {
		f := &j.h.Events[i]
		return f.Invoke <= to && f.Return >= from && ok(f)
	})
}
