package monitor

import (
	"cmp"
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// mostTargets bounds the positions that are remembered.
const mostTargets = 64

// target is a position that somebody waits for.
type target struct {
	lsn   lsn.LSN
	until time.Time
}

// targets are the positions that are waited for. Those who wait for one share it.
type targets struct {
	list  []target  // by position
	crowd time.Time // until then somebody may wait whose position is not in list
}

// add takes in that somebody waits for need; known has been reached.
func (t *targets) add(need lsn.LSN, until time.Time, known lsn.LSN) {
	if len(t.list) == mostTargets {
		t.lowest(known, time.Now())
	}
	i, found := slices.BinarySearchFunc(t.list, need, func(have target, need lsn.LSN) int { return cmp.Compare(have.lsn, need) })
	switch {
	case found:
		if until.After(t.list[i].until) {
			t.list[i].until = until
		}
	case len(t.list) < mostTargets:
		t.list = slices.Insert(t.list, i, target{need, until})
	case until.After(t.crowd):
		t.crowd = until
	}
}

// crowded reports whether somebody may wait who is not remembered.
func (t *targets) crowded(now time.Time) bool { return now.Before(t.crowd) }

// lowest forgets what is not beyond known and who has given up, and returns what comes
// first.
func (t *targets) lowest(known lsn.LSN, now time.Time) (first target, ok bool) {
	t.list = slices.DeleteFunc(t.list, func(have target) bool { return have.lsn <= known || !now.Before(have.until) })
	if len(t.list) == 0 {
		return target{}, false
	}
	return t.list[0], true
}

// meets reports whether anybody who waits may wait for no more than known, and forgets
// them: they are woken, and come again if they still wait.
func (t *targets) meets(known lsn.LSN, now time.Time) bool {
	first, ok := t.lowest(0, now)
	if ok = ok && first.lsn <= known; ok {
		t.lowest(known, now)
	}
	return ok || t.crowded(now)
}
