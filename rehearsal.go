package readsplit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/explain"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// rehearsal is one call of Explain. Statements are decided by the code that decides
// them when they run, on routers that stand in for the real ones: those know the same
// servers and news, and have copies of all that a statement changes (what sessions
// wrote and saw, counters, rows that are open), which are thrown away in the end.
//
// Whatever a stand-in shares with the real router, a rehearsal must not change.
type rehearsal struct {
	p *Plugin

	mu       sync.Mutex // one statement at a time
	report   *explain.Report
	routers  map[*router]*router
	sessions map[*Session]*Session
	requests map[*request]*request
	rows     map[*gorm.Statement]bool // under way, and give rows to the application
	over     bool                     // Explain has returned, and the report is its caller's

	look
}

// look is what was seen while one statement was decided.
type look struct {
	trace    policy.Trace // of the newest ruling
	query    policy.Query // of the newest ruling
	decision policy.Decision
	ruled    bool // there is a trace
	ended    bool // there is a decision
	asked    asked
}

// asked is what a decision would have asked of servers.
type asked uint8

const (
	askedCapture asked = 1 << iota // where the primary is
	askedShown                     // where a replica is that has shown something
	askedNews                      // whether replicas have caught up meanwhile
)

// asker are the questions of a decision to servers, and what makes the monitor ask them
// some of its own.
type asker interface {
	AwaitCapture(ctx context.Context, n uint64, until time.Time) bool
	AwaitShown(ctx context.Context, i int, generation uint64, t, until time.Time) (lsn.Position, bool)
	AwaitNews(ctx context.Context, news <-chan struct{}, until time.Time) bool
	Want(need lsn.LSN, at, until time.Time)
	Rouse(ctx context.Context, until time.Time)
	NextCapture() uint64
	Sought()
	Pursue(n uint64)
	Foresee(n uint64)
}

// errRehearsalOver is what a handle of a rehearsal gives that is used later. Whoever
// kept one would write with it otherwise, again and again, and nothing would be there.
var errRehearsalOver = errors.New("readsplit: Explain has returned, and the handle that its function was given runs nothing: use the one that Explain was given")

// end ends the rehearsal: nothing is added to the report any more.
func (h *rehearsal) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

// useless is an error once the rehearsal is over.
func (h *rehearsal) useless() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return errRehearsalOver
	}
	return nil
}

func newRehearsal(p *Plugin, report *explain.Report) *rehearsal {
	return &rehearsal{
		p: p, report: report,
		routers: map[*router]*router{}, sessions: map[*Session]*Session{}, requests: map[*request]*request{},
		rows: map[*gorm.Statement]bool{},
	}
}

// note adds to what the report says beside its statements, once.
func (h *rehearsal) note(text string) {
	if !slices.Contains(h.report.Notes, text) {
		h.report.Notes = append(h.report.Notes, text)
	}
}

// found reports whether the report says already that a statement fails with err.
func (h *rehearsal) found(err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.report.Statements, func(s explain.Statement) bool {
		return s.Err != nil && (errors.Is(err, s.Err) || errors.Is(s.Err, err))
	})
}

// ruling asks the policies, or what a rehearsal wants to know of their answer.
func (rt *router) ruling(q *policy.Query, snap *policy.Snapshot, now time.Time) policy.Decision {
	if rt.rehearsal != nil {
		return rt.rehearsal.ruling(rt, q, snap, now)
	}
	return rt.decider.Decide(q, snap, rt.load(q.Group), now)
}

func (h *rehearsal) ruling(rt *router, q *policy.Query, snap *policy.Snapshot, now time.Time) policy.Decision {
	h.trace, h.query, h.ruled = rt.decider.Consider(q, snap, rt, now), *q, true
	for i := range h.trace.Replicas {
		for j := range h.trace.Replicas[i].Verdicts {
			if v := &h.trace.Replicas[i].Verdicts[j]; v.Reason == policy.ReasonFailedThisRead {
				v.Detail = "nothing has failed in an explanation: the read belongs to another replica"
			}
		}
	}
	return h.trace.Decision
}

// decided takes in what became of a query.
func (h *rehearsal) decided(q *query, d policy.Decision) {
	h.query, h.decision, h.ended = q.Query, d, true
}

// mute is the asker of a rehearsal: what is not known stays unknown.
type mute struct {
	h  *rehearsal
	rt *router
}

func (m mute) AwaitCapture(context.Context, uint64, time.Time) bool {
	m.h.asked |= askedCapture
	return false
}

func (m mute) AwaitShown(_ context.Context, i int, generation uint64, t, _ time.Time) (lsn.Position, bool) {
	p, ok := m.rt.monitor.Shown(i, generation, t)
	if !ok {
		m.h.asked |= askedShown
	}
	return p, ok
}

func (m mute) AwaitNews(context.Context, <-chan struct{}, time.Time) bool {
	m.h.asked |= askedNews
	return false
}

func (mute) Want(lsn.LSN, time.Time, time.Time) {}

func (m mute) Rouse(context.Context, time.Time) { m.h.asked |= askedNews }

// NextCapture is that of the monitor, which is not awake for it.
func (m mute) NextCapture() uint64 { return m.rt.monitor.Captures() + 1 }

func (mute) Sought()        {}
func (mute) Pursue(uint64)  {}
func (mute) Foresee(uint64) {}
