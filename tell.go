package readsplit

import (
	"context"
	"errors"
	"time"

	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// tell tells the observers of a decision that was followed.
func (r *route) tell(ctx context.Context, s *server, reason policy.Reason) {
	told := r.router.plugin.told.Decisions
	if len(told) == 0 {
		return
	}
	d := observe.Decision{
		At: time.Now(), Resolver: r.router.name, Server: primaryName, Reason: reason,
		Read:     reason != policy.ReasonWrite && reason != policy.ReasonUnknownStatement,
		Attempts: max(int(r.attempts), 1), Waited: r.past().waited, Begins: r.begins,
	}
	if r.begins {
		d.Read = true // only a read-only one has a route
	}
	if s != nil {
		d.Server, d.Replica = s.name, true
	}
	tellEach(r.router.plugin, told, func(o observe.DecisionObserver) { o.ObserveDecision(ctx, d) })
}

// unserved takes in that a read was refused: while the primary is lost, by what it or
// the configuration asks for, or because the primary has no place for it. Nobody else
// sees it, since it is sent nowhere.
func (r *route) unserved(ctx context.Context, reason policy.Reason, err error) {
	var lost *refusal
	switch {
	case errors.As(err, &lost):
		reason = lost.reason
	case errors.Is(err, groups.ErrRefused):
		reason = policy.ReasonGroupRefused
		r.class.count(nil, reason, r.past().objected)
	case !errors.Is(err, overload.ErrPrimaryBusy):
		return
	}
	r.router.counters.onNobody[reason].Add(1)
	d := observe.Decision{
		At: time.Now(), Resolver: r.router.name, Reason: reason, Read: true, Refused: true,
		Attempts: max(int(r.attempts), 1) - 1, Waited: r.past().waited, Begins: r.begins,
	}
	tellEach(r.router.plugin, r.router.plugin.told.Decisions, func(o observe.DecisionObserver) { o.ObserveDecision(ctx, d) })
}

// tellBegin tells the observers of a transaction that begins on the primary. Its
// statements follow it, and are not told of.
func (rt *router) tellBegin(ctx context.Context, readOnly bool, reason policy.Reason) {
	told := rt.plugin.told.Decisions
	if len(told) == 0 {
		return
	}
	d := observe.Decision{
		At: time.Now(), Resolver: rt.name, Server: primaryName, Reason: reason,
		Read: readOnly, Attempts: 1, Begins: true,
	}
	tellEach(rt.plugin, told, func(o observe.DecisionObserver) { o.ObserveDecision(ctx, d) })
}

// tellRetry tells the observers of a read that failed on s and runs again.
func (r *route) tellRetry(ctx context.Context, s *server, v retry.Verdict, err error) {
	told := r.router.plugin.told.Retries
	if len(told) == 0 {
		return
	}
	e := observe.Retry{At: time.Now(), Resolver: r.router.name, Server: s.name, Cause: v.Cause, Err: err}
	if v.Cause == retry.CauseRecoveryConflict {
		e.Conflict = retry.ConflictOf(err)
	}
	tellEach(r.router.plugin, told, func(o observe.RetryObserver) { o.ObserveRetry(ctx, e) })
}

// tellChange tells the observers of a server that became something else. Of the
// plugin's own primary the main router tells.
func (rt *router) tellChange(c monitor.Change) {
	told := rt.plugin.told.Changes
	if len(told) == 0 || c.Server == primaryName && rt.name != "" && !rt.owns() {
		return
	}
	e := observe.Change{At: time.Now(), Resolver: rt.name, Server: c.Server, State: string(c.State), Err: c.Err}
	tellEach(rt.plugin, told, func(o observe.ChangeObserver) { o.ObserveChange(e) })
}

// tellToken tells the observers what became of a token.
func (rt *router) tellToken(outcome observe.TokenOutcome) {
	if rt.rehearsal != nil {
		return
	}
	tellEach(rt.plugin, rt.plugin.told.Tokens, func(o observe.TokenObserver) {
		o.ObserveToken(observe.Token{At: time.Now(), Resolver: rt.name, Outcome: outcome})
	})
}

// tellCapture tells the observers of a question to the primary for its position.
func (rt *router) tellCapture(began time.Time, err error) {
	tellEach(rt.plugin, rt.plugin.told.Captures, func(o observe.CaptureObserver) {
		o.ObserveCapture(observe.Capture{At: began, Resolver: rt.name, Took: time.Since(began), Err: err})
	})
}
