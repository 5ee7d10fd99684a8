package check

import (
	"slices"
	"time"

	"github.com/readsplit/readsplit/verify/history"
)

// flushedWithin is how long after its acknowledgement a commit that was not waited
// for may still be lost in a crash: three rounds of the WAL writer (200 ms), on a
// machine that is busy.
const flushedWithin = int64(10 * time.Second)

// outcomes compares what the clients were told with what the primary held at the
// end.
func (j *judge) outcomes() {
	for key, r := range j.registers {
		for i, v := range r.values {
			if j.final && r.version[v] != int64(i)+1 {
				j.violation(Twice, j.writers(key, v), "%s: value %s is version %d and %d", key, v, r.version[v], i+1)
			}
		}
	}
	for key, l := range j.lists {
		for v, n := range l.count {
			if n > 1 {
				j.violation(Twice, j.writers(key, v), "%s: value %s is there %d times", key, v, n)
			}
		}
	}
	for i := range j.h.Events {
		if e := &j.h.Events[i]; e.Kind == history.KindWrite {
			j.outcome(i, e)
		}
	}
}

func (j *judge) writers(key, value string) []int {
	if i, ok := j.byValue[place{key, value}]; ok {
		return []int{i}
	}
	return nil
}

func (j *judge) outcome(i int, e *history.Event) {
	var there, gone []string
	for _, w := range e.Writes {
		switch {
		case !j.final:
		case j.committed(w.Key, w.Value):
			there = append(there, w.Key)
		default:
			gone = append(gone, w.Key)
		}
	}
	switch {
	case e.Result == history.Failed && len(there) > 0:
		j.violation(Undone, []int{i}, "%v: the write failed (%s), and is there", there, e.Error)
	case e.Says == history.Failed && len(there) > 0:
		j.violation(Undone, []int{i}, "%v: the error does not say that the outcome is unknown (%s), and the write is there", there, e.Error)
	case len(there) > 0 && len(gone) > 0:
		j.violation(Torn, []int{i}, "one transaction: %v is there and %v is not", there, gone)
	case e.Result == history.OK && len(gone) > 0 && j.mayBeLost(e):
		j.report.LostExcused++
	case e.Result == history.OK && len(gone) > 0:
		j.violation(Lost, []int{i}, "%v: acknowledged, and gone", gone)
	}
	switch {
	case e.Result == history.Unknown && e.Says == history.Unknown:
		j.report.SaidUnknown++
	case e.Result == history.Failed && e.Says == history.Unknown:
		j.report.Overcautious++
	}
	for _, w := range e.Writes {
		if v, ok := j.register(w.Key).version[w.Value]; ok && w.Version > 0 && j.final && v != w.Version && e.Result == history.OK {
			j.violation(Undone, []int{i}, "%s: the client was told version %d of %s, which is version %d", w.Key, w.Version, w.Value, v)
		}
	}
}

// committed reports whether a value was committed for good.
func (j *judge) committed(key, value string) bool {
	if history.IsRegister(key) {
		r := j.registers[key]
		return r != nil && r.version[value] > 0
	}
	l := j.lists[key]
	return l != nil && l.count[value] > 0
}

// mayBeLost reports whether an acknowledged write may be gone: it was not waited
// for and the primary crashed soon after, or another server took over. Once that is
// over (which leaves everybody the time to find it out) nobody may take the old
// primary's acknowledgement for one any more.
func (j *judge) mayBeLost(e *history.Event) bool {
	return slices.ContainsFunc(j.faults, func(i int) bool {
		f := &j.h.Events[i]
		return f.Return >= e.Invoke && (f.Promoted != "" && (e.Result != history.OK && e.Invoke <= f.Return || e.Return <= f.Return) ||
			e.Async && f.Loses && f.Invoke <= e.Return+flushedWithin)
	})
}
