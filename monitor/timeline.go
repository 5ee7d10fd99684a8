package monitor

import (
	"sort"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// markRing bounds the primary samples that are kept for the lag: 4,096 at one
// per 50 ms or more is over three minutes. A replica further behind than that
// keeps the bound it had, which only over-estimates its lag.
const markRing = 4096

// mark is one sample of the primary: at this moment it had flushed this much.
type mark struct {
	at    time.Time // when the question was sent
	ended time.Time // when the answer was there
	flush lsn.LSN
}

// marks are samples of the primary in one history, oldest first, with flush
// positions that never go back.
type marks struct {
	m []mark
}

// add appends a sample. Samples closer than gap to the last one are dropped
// unless they are the first at a new position after a pause: they would only
// fill the ring.
func (k *marks) add(at time.Time, flush lsn.LSN, gap time.Duration) {
	if n := len(k.m); n > 0 {
		last := &k.m[n-1]
		switch {
		case flush < last.flush || at.Before(last.at):
			return // an answer that was overtaken
		case flush == last.flush:
			// The same position, later: whoever has replayed it is fresher.
			if n > 1 && k.m[n-2].flush == flush {
				last.at = at
				return
			}
		case at.Sub(last.at) < gap:
			return
		}
		if n == markRing {
			k.m = append(k.m[:0], k.m[markRing/4:]...)
		}
	}
	k.m = append(k.m, mark{at: at, flush: flush})
}

// answered says when the answer to the question of at was there.
func (k *marks) answered(at, ended time.Time) {
	if n := len(k.m); n > 0 && k.m[n-1].at.Equal(at) {
		k.m[n-1].ended = ended
	}
}

// replayedAt returns the start of the newest sample that lies at or before
// replay; ok is false when there is none.
func (k *marks) replayedAt(replay lsn.LSN) (at time.Time, ok bool) {
	i := sort.Search(len(k.m), func(i int) bool { return k.m[i].flush > replay })
	if i == 0 {
		return time.Time{}, false
	}
	return k.m[i-1].at, true
}
