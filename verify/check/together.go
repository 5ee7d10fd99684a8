package check

import (
	"slices"
	"time"

	"github.com/readsplit/readsplit/verify/history"
)

func ago(ns int64) time.Duration { return time.Duration(ns).Round(time.Millisecond / 10) }

// together judges the reads of one event in the light of each other. A read that
// shows a write of one transaction implies the other writes of that transaction,
// and all that was known before that transaction began: a server's states are the
// beginnings of one order of commits.
func (j *judge) together(i int, e *history.Event) {
	if e.Together == history.Apart || len(e.Reads) < 2 {
		return
	}
	if e.Together == history.Follows && e.Mode == history.AnyReplica {
		return // two statements, of which each gave up everything
	}
	if e.Together == history.Follows && e.Reason == "primary_lost" {
		return // the only server that is behind nobody cannot be asked
	}
	for n, from := range e.Reads {
		newest := j.newest(from)
		for m, to := range e.Reads {
			if m == n || e.Together == history.Follows && m < n {
				continue
			}
			if j.implied(i, to, newest) {
				return
			}
			if j.halves(i, from, to) {
				return
			}
		}
	}
}

// newest returns the write that began last of those that r shows, -1 for none.
func (j *judge) newest(r history.Read) int {
	best := -1
	for _, v := range shown(r) {
		w, ok := j.byValue[place{r.Key, v}]
		if ok && j.committed(r.Key, v) && (best < 0 || j.h.Events[w].Invoke > j.h.Events[best].Invoke) {
			best = w
		}
	}
	return best
}

// implied checks that a read shows all that was known before another write began
// which was shown beside it.
func (j *judge) implied(i int, r history.Read, newest int) (broken bool) {
	if newest < 0 {
		return false
	}
	at := j.h.Events[newest].Invoke
	if history.IsRegister(r.Key) {
		reg := j.register(r.Key)
		n := reg.before(at)
		if v, ok := j.version(r); ok && n > 0 && v < n {
			j.violation(Order, append(j.writers(r.Key, reg.values[n-1]), newest, i), "%s, which was there before a write began that is shown", missing(r, n, reg.values[n-1]))
			return true
		}
		return false
	}
	if history.IsPlace(r.Key) {
		return false
	}
	have := set(r.Values)
	for _, v := range j.list(r.Key).before(at) {
		if !have[v] {
			j.violation(Order, append(j.writers(r.Key, v), newest, i), "%s does not show %s, which was there before a write began that is shown", r.Key, v)
			return true
		}
	}
	return false
}

// halves checks that to shows its part of the transactions that from shows. From a
// register that is every transaction up to its version.
func (j *judge) halves(i int, from, to history.Read) (broken bool) {
	values := from.Values
	if history.IsRegister(from.Key) {
		v, ok := j.version(from)
		if !ok || v <= 0 {
			return false
		}
		values = j.register(from.Key).values[:v]
	}
	have := set(to.Values)
	toVersion, stands := j.version(to)
	for _, v := range slices.Backward(values) {
		w, ok := j.byValue[place{from.Key, v}]
		if !ok {
			continue
		}
		for _, other := range j.h.Events[w].Writes {
			if other.Key != to.Key || !j.committed(other.Key, other.Value) {
				continue
			}
			missing := false
			switch {
			case history.IsRegister(to.Key):
				missing = stands && toVersion < j.register(to.Key).version[other.Value]
			case history.IsList(to.Key):
				missing = !have[other.Value]
			}
			if missing {
				j.violation(Parts, []int{w, i}, "%s shows %s, and %s not %s of the same transaction", from.Key, v, to.Key, other.Value)
				return true
			}
		}
	}
	return false
}
