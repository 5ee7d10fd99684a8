package readsplit

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// read runs attempt on the server that is right for the read, and again
// elsewhere as long as the failure is the server's and nothing has reached the
// caller. attempt is given nil for the primary, whose errors are final. discard
// drops a result that turned out not to be trusted. text is the statement's.
func (r *route) read(ctx context.Context, text string, attempt func(s *server) error, discard func()) error {
	rt, m := r.router, marksOf(ctx)
	primary := r.past().forced
	if primary != 0 {
		r.detour.forced = 0
	}
	var last error // of a replica
	for {
		r.attempts++
		if primary == 0 && r.attempts > 1 && !rt.cfg.Retry.Allows(int(r.attempts)) {
			primary = policy.ReasonReplicaFailed // the last run is the primary's
		}
		if primary != 0 && r.class != nil {
			again, err := r.leaves(ctx, primary, last)
			if err != nil {
				r.attempts-- // it has not run
				r.unserved(ctx, primary, err)
				return err
			}
			if again {
				primary = 0
			}
		}
		r.tries = true
		s, generation, reason, err := r.choose(ctx, m, text, primary)
		r.tries = false
		if err == nil && s == nil {
			s, generation, reason, err = r.admit(ctx, text, reason)
		}
		if err != nil {
			err = lastly(err, last)
			r.unserved(ctx, reason, err)
			return err
		}
		if s == nil {
			if r.past().refused {
				r.wrote, r.effect = true, effect{insert: true, began: rt.historyNow()}
			}
			r.ranOn(ctx, nil, reason)
			err := rt.noticed(r.placed(attempt))
			rt.told(m, nil, 0, nil, err)
			return err
		}
		trial := r.past().trial
		if trial {
			r.detour.trial = false
		}
		ran, err := r.tryOn(s, attempt, r.began, trial)
		if err == errOutOfService { //nolint:errorlint // ours, and never wrapped
			r.attempts-- // it has not run
			continue
		}
		late := r.over()
		if u := unfitted(err); u != nil && ctx.Err() == nil {
			r.elsewhere(s, u, trial)
			continue
		}
		if c := r.past().check; err == nil && c != nil && c.server == s {
			c.capture = rt.asks.NextCapture()
			if c.reason != 0 {
				reason = c.reason
			}
		}
		if err == nil {
			rt.monitor.Served(s.index, trial)
			if rt.monitor.Generation(s.index) == generation {
				r.generation = generation
				if ran.took > 0 && !r.begins { // a slow server is quick to begin a transaction
					s.meterFor(r.pooled()).Served(r.began+ran.took, ran.took, ran.inFlight)
				}
				r.toldBy(m, s, generation, nil)
				rt.conflicts.Ran(text)
				r.ranOn(ctx, s, reason)
				return nil
			}
			// Between the decision and now the server came back in an older
			// state, and this answer may be from there.
			if discard != nil {
				discard()
			}
			rt.counters.voided.Add(1)
			if !rt.cfg.Retry.Allows(int(r.attempts)) {
				primary = policy.ReasonReplicaFailed
			}
			continue
		}
		next, again := r.failed(ctx, s, err, lastRun{text, processStart.Add(r.began), late, trial, ran, generation})
		if !again {
			r.toldBy(m, s, generation, err)
			r.ranOn(ctx, s, reason)
			return err
		}
		if next != 0 {
			primary = next
		}
		last = err
		if !rt.cfg.Retry.Allows(int(r.attempts)) {
			if primary == 0 && !r.past().lifted {
				r.ranOn(ctx, s, reason)
				return err
			}
		} else if primary == 0 && !rt.pause(ctx, int(r.attempts)) {
			return err
		}
	}
}

// try runs an attempt and counts it while it runs, also when it panics: what is
// in flight, or a trial, for ever keeps reads away from its server for ever.
// Of one that succeeds it says how long it took where that is due, or always.
func (s *server) try(attempt func(s *server) error, began time.Duration, trial bool, of *class, always bool) (ran pace, err error) {
	meter := s.meterFor(of)
	ran.inFlight = meter.Begin(began)
	timed := always || meter.Due(began)
	over := false
	defer func() {
		now := began // it cannot have been later
		if timed || err != nil || !over {
			now = sinceStart()
			ran.took = now - began
		}
		meter.End(now)
		if trial {
			s.trial.Store(false)
		}
	}()
	if s.out.Load() {
		// Decided before an operator took it away, who now waits for nothing any more.
		return ran, errOutOfService
	}
	err = attempt(s)
	over = true
	return ran, err
}

var errOutOfService = errors.New("readsplit: the replica was taken out of service")

// failed judges an error of a replica: whether the read may run again, and the
// reason when that must be on the primary.
func (r *route) failed(ctx context.Context, s *server, err error, run lastRun) (primary policy.Reason, again bool) {
	if ctx.Err() == nil && r.router.closed.Load() {
		return policy.ReasonNoReplicas, true // broken off by Close
	}
	if ctx.Err() == nil && s.gone.Load() {
		return 0, true // its place in the monitor may be another's by now
	}
	v := retry.OfAttempt(ctx, ctx, err)
	if ctx.Err() == nil && (errors.Is(err, retry.ErrServerDead) || errors.Is(err, monitor.ErrNotStandby) || errors.Is(err, monitor.ErrNotLogical)) {
		v = retry.Verdict{Action: retry.Elsewhere, Cause: retry.CauseServerDead}
	}
	v = r.weigh(ctx, v, err, run)
	// What was sent to a run that has ended, or to a server that the name has left, was
	// broken off from here: it says nothing of the one that is there now, which a few such
	// reads would eject for a while in its first moment.
	current := r.router.monitor.Generation(s.index) == run.generation
	if v.ServerSuspect && current && !s.balanced() { // one of several servers, which says nothing of the others
		r.router.monitor.Suspect(s.index, err)
	}
	if v.Strikes() && current {
		r.router.monitor.Struck(s.index, run.trial, err)
	}
	s.timeFailed(ctx, v, run, r.pooled())
	r.excludes(s)
	switch v.Action {
	case retry.Elsewhere:
		r.router.counters.retried(v.Cause)
		r.tellRetry(ctx, s, v, err)
		return 0, true
	case retry.Primary:
		r.router.counters.retried(v.Cause)
		r.tellRetry(ctx, s, v, err)
		switch {
		case v.CountsAsWrite:
			r.strays().refused = true
			r.router.counters.refused.Add(1)
			return policy.ReasonRefusedByReplica, true
		case v.Cause == retry.CauseSchemaBehind:
			return policy.ReasonSchemaBehind, true
		default:
			return policy.ReasonReplicaFailed, true
		}
	default:
		return 0, false
	}
}

// excludes keeps the read from coming back to s.
func (r *route) excludes(s *server) {
	d := r.strays()
	d.exclude |= 1 << (s.index % 64)
	if i := slices.Index(d.failedOn[:], 0); i >= 0 {
		d.failedOn[i] = int32(s.index + 1)
	}
}

// pause waits between two runs of a read.
func (rt *router) pause(ctx context.Context, ran int) bool {
	d := rt.cfg.Retry.Delay(ran, rand.Uint64())
	return d <= 0 || rest(ctx, d)
}
