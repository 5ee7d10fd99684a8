package monitor

import (
	"math"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

const (
	// cutAfter is for how long a replica must have received nothing, while the
	// primary had more, to be called cut off.
	cutAfter = 2 * time.Second
	// relapse is how soon after the end of a trouble its return makes the next end
	// harder to believe, and mostCalm bounds how hard.
	relapse  = 10 * time.Minute
	mostCalm = 5 * time.Minute
)

// trouble is something that may be wrong with a replica that answers its probes. Its
// beginning is told of when it has lasted, and so is its end: a lag that crosses the
// bound every second would else wake somebody every second. Whatever comes back again
// and again must be over for longer each time.
type trouble struct {
	begins, ends State
	lasts        time.Duration // for how long, to be told of
	calm         time.Duration // for how long it must be over, the first time

	is    bool
	since time.Time // is has this value
	told  bool      // that it has begun, and not yet that it has ended
	quiet time.Duration
	ended time.Time // when its end was told of
}

// see takes in whether the trouble is there, and returns what is to be told, if
// anything.
func (t *trouble) see(is bool, now time.Time) (news State) {
	if is != t.is || t.since.IsZero() {
		t.is, t.since = is, now
	}
	lasted := now.Sub(t.since)
	switch {
	case t.is && !t.told && lasted >= t.lasts:
		again := !t.ended.IsZero() && t.since.Sub(t.ended) < relapse
		if t.told = true; again {
			t.quiet = min(2*t.quiet, mostCalm)
		} else {
			t.quiet = t.calm
		}
		return t.begins
	case !t.is && t.told && lasted >= t.quiet:
		t.told, t.ended = false, now
		return t.ends
	}
	return ""
}

// troubles are those of one replica. Monitor.mu guards them.
type troubles struct {
	paused, cut, behind trouble

	reached lsn.LSN   // the most that this run was seen to have received or replayed
	stuck   time.Time // since when that has not moved, although the primary has more; zero: it moves
}

func newTroubles() troubles {
	return troubles{
		paused: trouble{begins: StatePaused, ends: StateReplays, calm: time.Second},
		cut:    trouble{begins: StateCutOff, ends: StateReceives, calm: time.Second},
		behind: trouble{begins: StateLagging, ends: StateWithinLag, lasts: time.Second, calm: 10 * time.Second},
	}
}

// forget is for another run of the server: what this one had received says nothing of
// that one.
func (t *troubles) forget() { t.reached, t.stuck = 0, time.Time{} }

// cutOff reports whether the replica receives nothing, by when the primary has answered
// last: one that does not answer sends nothing either, which is not its replicas' fault.
func (t *troubles) cutOff(primary time.Time) bool {
	return !t.stuck.IsZero() && primary.Sub(t.stuck) >= cutAfter
}

// see judges r's newest full sample. The caller holds Monitor.mu.
func (r *replica) see(now time.Time) (events []Change) {
	p, t := &r.m.primary, &r.troubles
	if r.role != policy.RoleStandby || r.balanced || r.noPosition {
		t.forget()
		return nil
	}
	reached := max(r.sample.Receive, r.sample.Replay)
	switch {
	case reached > t.reached || p.flush <= reached:
		t.reached, t.stuck = reached, time.Time{}
	case t.stuck.IsZero():
		t.stuck = now
	}
	note := func(news State) {
		if news != "" {
			events = append(events, Change{Replica: r.i, State: news})
		}
	}
	note(t.paused.see(r.sample.Paused, now))
	if r.m.snap.Load().Primary.Lost {
		return events // nobody's distance to the primary is known
	}
	note(t.cut.see(t.cutOff(p.insertAt), now))
	v := r.view()
	lag, ok := v.Lag(now)
	note(t.behind.see(lag > r.m.cfg.MaxLag+r.m.seldom() || !ok && r.m.cfg.MaxLag < math.MaxInt64/4, now))
	return events
}
