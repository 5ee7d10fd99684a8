package monitor

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/readsplit/readsplit/policy"
)

const (
	// pollFirst is the time from one question to the next to a replica that
	// somebody waits for, whoever else comes and waits; it grows by half each
	// time, to pollMost. Where nobody waits and it is only measured, pollMost is the least.
	pollFirst = 200 * time.Microsecond
	pollMost  = time.Millisecond
	// pollBurst questions may be asked with less in between: the answer to the last
	// one may have been given before it was known what is waited for.
	pollBurst = 3
	// deadAfter failed probes in a row mean that a server is gone.
	deadAfter = 2
	// slowest is how many SampleEvery lie at most between two questions to a server
	// that is gone.
	slowest = 10
)

func (r *replica) wake() {
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

func (r *replica) run(rng *rand.Rand) {
	every := func() time.Duration { return jitter(rng, r.m.every()) }
	var side sync.WaitGroup
	defer side.Wait()
	regular := time.Now().Add(phase(rng, r.m.every()))
	poll := pollFirst
	due := regular
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.poke:
			r.hurry = true
			if early := r.early(); !early.IsZero() {
				if early.Before(due) {
					due = early
					timer.Reset(time.Until(due))
				}
				continue
			}
		case <-timer.C:
		}
		r.m.mu.Lock()
		full := !r.up || r.roused || !time.Now().Before(regular)
		r.roused = false
		r.m.mu.Unlock()
		if full {
			r.sampleFull()
			r.askConflicts()
			r.askSubscription()
			// A server that is gone is asked less and less often.
			regular = time.Now().Add(every() * time.Duration(min(1+r.fails/8, slowest)))
			if r.fails == 1 {
				regular = time.Now() // the server may only have restarted
			}
		} else {
			r.hurry = true
			r.samplePosition()
		}
		r.hurry = false
		next := time.Until(regular)
		waiting, wanted, lacks := r.wanted()
		var told time.Time
		if waiting && wanted {
			told = r.hang(side.Go)
		}
		switch {
		case !told.IsZero():
			next = min(next, time.Until(told)) // the server says it
			poll = pollFirst
		case waiting && wanted && r.distance.is() <= farWait:
			// Since it was asked, and not since it has answered.
			next = min(next, max(poll-time.Since(r.began), 0))
			poll = min(poll+poll/2, pollMost)
		case wanted:
			// Nobody waits, or nobody can wait for an answer from so far away: it is only
			// measured, to a quarter of what it takes.
			next = min(next, max(pollMost, lacks/4, r.distance.is()))
		default:
			poll = pollFirst
		}
		due = time.Now().Add(next)
		timer.Reset(next)
	}
}

// early returns when r may be asked again if it was asked just now, and else
// zero. Every reader that waits pokes r again when it hears the news of the last
// answer; without this they would keep the server answering without a pause.
func (r *replica) early() time.Time {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	now := time.Now()
	next := r.began.Add(pollMost)
	if now.Before(r.m.want.until) || r.m.ahead.r == r {
		next = now.Add(r.pace.wait(now))
	}
	if r.up && now.Before(next) {
		return next
	}
	return time.Time{}
}

// wanted reports whether r lacks a position that was asked for, for how long,
// and whether anybody still waits for it.
func (r *replica) wanted() (waiting, wanted bool, lacks time.Duration) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	w, now := r.m.want, time.Now()
	waiting = now.Before(w.until)
	lacks = now.Sub(w.at)
	if r.measured.lsn != 0 {
		// Others are wanted all the time: how far this one is says when to look.
		lacks = max(now.Sub(r.measured.at), r.estimate.delay/2)
	}
	wanted = r.up && !r.balanced && !r.noPosition && r.role == policy.RoleStandby && r.known < w.lsn && now.Sub(w.until) <= 5*r.m.cfg.SampleEvery
	if !waiting || !wanted {
		r.pollFor = 0
	}
	return waiting, wanted, lacks
}

// sampleFull asks r everything.
func (r *replica) sampleFull() {
	ctx, cancel := r.timeout()
	defer cancel()
	began, stranger := r.begin()
	if stranger && r.renew != nil {
		// The connection may be to a server that the name has left.
		r.renew.Renew()
	}
	s, fresh, err := r.target.Source.Sample(ctx)
	if err != nil {
		r.failed(err)
		return
	}
	if !fresh {
		r.distance.took(time.Since(began))
	}
	r.alive()
	r.m.mu.Lock()
	events := append(r.take(began, s, fresh || r.renew == nil), r.see(time.Now())...)
	r.m.mu.Unlock()
	r.m.emit(events)
}

// samplePosition asks r for its replay position only, and everything when that
// is not enough.
func (r *replica) samplePosition() {
	ctx, cancel := r.timeout()
	defer cancel()
	began, _ := r.begin()
	replay, standby, connected, err := r.target.Source.Position(ctx)
	if err != nil {
		r.failed(err)
		return
	}
	if !connected || !standby {
		r.sampleFull()
		return
	}
	r.distance.took(time.Since(began))
	r.alive()
	r.m.mu.Lock()
	s := r.sample
	s.Replay, s.Receive = replay, max(s.Receive, replay)
	r.quiet = true
	events := r.take(began, s, false)
	r.quiet = false
	r.m.mu.Unlock()
	r.m.emit(events)
}

// begin marks the moment from which on a new connection, or a read that fails,
// may contradict the sample that is about to be taken.
func (r *replica) begin() (now time.Time, stranger bool) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.minSince, r.asked = maxLSN, r.doubts
	now = time.Now()
	r.pace.took(now)
	return now, r.stranger
}
