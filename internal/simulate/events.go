package simulate

import "time"

// events are what will happen, in order; what happens at the same moment happens in
// the order in which it was planned, so that a run can be repeated.
type events struct {
	list []event
	seq  uint64
}

type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

func (e *events) plan(at time.Duration, do func()) {
	e.seq++
	e.list = append(e.list, event{at, e.seq, do})
	for i := len(e.list) - 1; i > 0; {
		up := (i - 1) / 2
		if !e.list[i].before(e.list[up]) {
			return
		}
		e.list[i], e.list[up] = e.list[up], e.list[i]
		i = up
	}
}

// next takes the first event out.
func (e *events) next() (first event, ok bool) {
	if len(e.list) == 0 {
		return event{}, false
	}
	first = e.list[0]
	last := len(e.list) - 1
	e.list[0] = e.list[last]
	e.list[last] = event{}
	e.list = e.list[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return first, true
		}
		if child+1 < last && e.list[child+1].before(e.list[child]) {
			child++
		}
		if !e.list[child].before(e.list[i]) {
			return first, true
		}
		e.list[i], e.list[child] = e.list[child], e.list[i]
		i = child
	}
}
