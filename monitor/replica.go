package monitor

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// soon is within what time the return to a run that was left before means that
// both are behind one name, and not that the name has moved.
const soon = time.Minute

// ErrNotStandby says that a server that is configured as a replica is not in
// recovery.
var ErrNotStandby = errors.New("readsplit: not a standby")

// ErrNotLogical says that a server that is declared to be fed by logical replication is
// of the primary's own database cluster.
var ErrNotLogical = errors.New("readsplit: not fed by logical replication")

// replica is what is known of one replica.
type replica struct {
	m      *Monitor
	i      int
	target Target
	poke   chan struct{}
	gen    atomic.Uint64
	ctx    context.Context // ends when the monitor, or the replica in it, does
	cancel context.CancelFunc
	ended  chan struct{}      // closed when the goroutine has ended; nil: there is none
	renew  Renewer            // nil: the source cannot
	asks   ConflictSource     // nil: the source cannot
	feed   SubscriptionSource // nil: the source cannot
	fedAt  time.Time          // when it may be asked for its subscriptions; the goroutine's own
	health health
	hangs  hangs

	distance distance

	// Guarded by Monitor.mu, but for conflictsAt.
	troubles    troubles
	conflicts   lsn.Conflicts
	fed         Subscription
	counted     bool      // conflicts are the server's
	conflictsAt time.Time // when it may be asked for them; the goroutine's own

	// Guarded by Monitor.mu.
	up         bool
	down       bool // dead, for others than the goroutine
	role       policy.Role
	balanced   bool
	noPosition bool       // it, or a server behind the name, does not tell where it is
	backends   backends   // where it is balanced: the servers behind the name
	doubts     uint64     // how often something has put what is known in doubt
	asked      uint64     // doubts when the newest question was sent
	pace       pace       // of questions that somebody waits for
	suspect    bool       // a StateSuspect was reported, and no StateUp since
	pollFor    lsn.LSN    // readers wait for this position, and r is asked again and again
	roused     bool       // to be asked everything, whenever that would be due
	quiet      bool       // a position is taken in
	stranger   bool       // a new connection reached another server than the sampler's
	server     lsn.Server // the run that known is about
	known      lsn.LSN    // every connection to this run shows at least this
	minSince   lsn.LSN    // the least that a connection opened since the sample began has shown
	sample     lsn.Sample // the newest full sample, with Replay kept up to date
	began      time.Time  // when the newest question was sent
	answered   time.Time
	left       departures // the runs before this one
	since      time.Time  // when it came back
	gone       bool
	drained    bool
	lineage    lineage
	replayedAt time.Time
	estimate   estimate

	// Guarded by Monitor.mu.
	measured want          // the position whose delay is being measured
	met      lsn.LSN       // the furthest position whose delay has been measured
	lacked   time.Duration // for how long it was seen missing

	// Owned by the goroutine.
	fails   int
	dead    bool
	renewed time.Time // when the name was last asked anew because it led to a primary
	hurry   bool      // somebody waits for the answer
}

// take records a sample; fresh says that it came over a new connection. The caller
// holds Monitor.mu.
func (r *replica) take(began time.Time, s lsn.Sample, fresh bool) (events []Change) {
	note := func(state State) {
		events = append(events, Change{Replica: r.i, State: state})
	}
	// What was asked before a doubt arose does not settle it: another question
	// follows at once.
	settled := r.asked == r.doubts
	if s.Pooled && !r.balanced {
		// What is asked next may be answered by another server, whatever this one says.
		r.balance(note)
		r.next()
	}
	if r.balanced {
		return append(events, r.takeBalanced(began, s)...)
	}
	same := r.server.System == s.System && r.server.Started == s.Started
	switch {
	case r.server.Started == 0: // the first answer ever
		r.server = s.Server
	case !same:
		// Another run: what its predecessor had shown proves nothing of it. If a
		// new connection reached another run than the predecessor, it was this.
		if at := r.left.when(s.Server); !at.IsZero() && time.Since(at) < soon {
			r.balance(note)
		}
		r.left.add(r.server)
		r.void(s.Server)
		r.stranger = false
		note(StateRestarted)
	case s.InRecovery && !s.TellsNoPosition() && s.Replay < r.known:
		// The same postmaster, an older state: it lost its processes and
		// recovers from its last restartpoint.
		r.void(s.Server)
		note(StateRegressed)
	}
	switch {
	case !r.stranger || !settled:
	case fresh:
		// The run that was known still answers a new connection, though another
		// one had reached another run meanwhile: one name, several servers.
		r.balance(note)
	default:
		// The sampler's connection may be to a server that the name has left. It is
		// asked over another one next.
		settled = false
	}
	if r.balanced { // since a moment ago
		return append(events, r.takeBalanced(began, s)...)
	}
	forked := r.forks()
	r.began, r.answered, r.sample = began, time.Now(), s
	if forked != r.forks() {
		events = append(events, r.rejudgeOthers()...)
	}
	r.judgeHang(began, &s)
	events = append(events, r.tellsNoPosition(&s)...)
	if r.noPosition {
		r.known = 0
	}

	if r.target.Logical {
		r.takeLogical(note)
	} else {
		role := policy.RoleStandby
		if !s.InRecovery {
			role = policy.RolePrimary
		}
		if role != r.role && role == policy.RolePrimary && !r.target.AllowPrimary {
			note(StateWritable)
		}
		r.role = role
	}
	// A connection that was opened while the question was under way may be to a
	// state that is older than the answer.
	r.known = max(r.known, min(s.Replay, r.minSince))
	events = append(events, r.rejudge()...)
	r.measure()
	if r.m.ahead.r == r {
		r.m.learnAhead()
	}
	if settled {
		r.up, r.stranger = true, false
		if r.suspect {
			r.suspect = false
			note(StateUp)
		}
	}
	r.publishLater()
	return events
}

// balance takes in that the name answers as several servers.
func (r *replica) balance(note func(State)) {
	if !r.balanced {
		note(StateBalanced)
	}
	r.balanced = true
}

// next begins a generation. The caller holds Monitor.mu.
func (r *replica) next() {
	if g := r.gen.Add(1); r.m.cfg.OnVoid != nil {
		r.m.cfg.OnVoid(r.i, g)
	}
}

// void forgets what is known of the run that ended and makes every approval
// that was based on it invalid. The caller holds Monitor.mu.
func (r *replica) void(now lsn.Server) {
	r.next()
	r.recovers()
	r.server = now
	r.known = 0
	r.replayedAt = time.Time{}
}

// rejudge compares r's newest sample with what is known of the primary. The
// caller holds Monitor.mu.
func (r *replica) rejudge() (events []Change) {
	if r.balanced {
		return r.rejudgeBackends()
	}
	if r.answered.IsZero() {
		return nil
	}
	if r.target.Logical {
		// The primary may have been asked for the first time since.
		r.takeLogical(func(state State) { events = append(events, Change{Replica: r.i, State: state}) })
		return events
	}
	if !r.sample.InRecovery {
		return nil
	}
	p := &r.m.primary
	before := r.lineage.verdict
	history := r.lineage.history
	r.lineage.fork = r.m.forked()
	v := r.lineage.judge(p.history, &r.sample, p.insert, !p.insertAt.IsZero() && !p.insertAt.Before(r.answered))
	if history != r.lineage.history {
		r.replayedAt = time.Time{} // a bound that was proven in another history
		r.measured, r.met, r.lacked = want{}, 0, 0
	}
	if v == proven {
		if at, ok := p.marks.replayedAt(r.known); ok && at.After(r.replayedAt) {
			r.replayedAt = at
		}
	}
	switch {
	case v == before:
	case v == proven:
		events = append(events, Change{Replica: r.i, State: StateProven})
	case v == foreign:
		events = append(events, Change{Replica: r.i, State: StateForeign})
	}
	return events
}

// measure follows how long r takes to reach a position that was asked for. The
// caller holds Monitor.mu.
func (r *replica) measure() {
	if r.noPosition || r.target.Logical {
		return // there is no position that it could reach
	}
	w := r.m.want
	most := 3 * r.m.cfg.MaxWait
	switch {
	case r.measured.lsn != 0 && r.known >= r.measured.lsn:
		r.estimate.reached(r.lacked, time.Since(r.measured.at), most)
		r.measured, r.met, r.lacked = want{}, r.measured.lsn, 0
	case r.measured.lsn == 0 && w.lsn <= r.met:
	case r.measured.lsn == 0 && r.known >= w.lsn:
		r.met = w.lsn
		r.estimate.found(time.Since(w.at), most)
	default:
		if r.measured.lsn == 0 {
			r.measured = w
		}
		r.lacked = max(r.began.Sub(r.measured.at), 0)
		r.estimate.missing(r.lacked)
	}
}

// view renders r for the snapshot. The caller holds Monitor.mu.
func (r *replica) view() policy.Replica {
	p := &r.m.primary
	v := policy.Replica{
		Name: r.target.Name, Zone: r.target.Zone, Weight: r.target.Weight, Groups: r.target.Groups, Reserved: r.target.Reserved,
		Role: r.role, AllowPrimary: r.target.AllowPrimary && r.standsIn(),
		Gone: r.gone, Drained: r.drained, EjectedUntil: r.health.until, Since: r.since,
		Up: r.up, Balanced: r.balanced, Paused: r.sample.Paused,
		CutOff:     r.troubles.cutOff(p.insertAt),
		Generation: r.gen.Load(),
		Sampled:    r.began, Margin: p.margin, CatchUp: r.estimate.delay,
	}
	if r.balanced {
		v.NoPosition, v.StatedLag = r.noPosition, r.target.StatedLag
		return v // nothing that is known of one server is true of the name
	}
	if r.lineage.verdict == foreign && r.role == policy.RoleStandby {
		v.Role = policy.RoleForeign
	}
	if v.Role == policy.RoleStandby && r.noPosition {
		r.stated(&v, &r.sample)
		return v
	}
	if r.lineage.verdict == proven && r.lineage.history == p.history && r.known > 0 {
		v.Applied = lsn.Position{History: p.history, LSN: r.known}
		v.ReplayedAt = r.replayedAt
		v.BehindBytes = r.m.bytesBehind(r.known)
	}
	return v
}

// standsIn reports whether r, which is not in recovery, is the primary itself.
// Another primary (a replica that was promoted) shows another history.
func (r *replica) standsIn() bool {
	return r.role != policy.RolePrimary || r.sample.History() == r.m.primary.history
}

func (r *replica) publish() {
	v := r.view()
	change := func(s *policy.Snapshot) { s.Replicas[r.i] = v }
	if r.quiet && !r.m.isNews(&r.m.snap.Load().Replicas[r.i], &v) {
		r.m.hushed = max(r.m.hushed, v.Applied.LSN)
		r.m.store(change)
		return
	}
	r.m.publish(change)
}

// isNews reports whether anybody who waits should look at a replica of which nothing but
// the position was asked. To wake a thousand readers with every answer that brings none of
// them what they wait for would cost more than all the questions. The caller holds
// Monitor.mu.
func (m *Monitor) isNews(old, now *policy.Replica) bool {
	return m.watchers.Load() > 0 || m.rest.state.Load() != awake || len(m.late) > 0 ||
		old.Up != now.Up || old.Role != now.Role || old.Generation != now.Generation ||
		old.Applied.History != now.Applied.History || m.needs.meets(now.Applied.LSN, time.Now())
}

// alive ends what failed has begun. It comes before the answer is published:
// reads that the news brings must find the server's pool open again.
func (r *replica) alive() {
	wasDead := r.dead
	r.fails, r.dead = 0, false
	if wasDead {
		r.m.mu.Lock()
		r.down = false
		r.recovers()
		r.m.mu.Unlock()
	}
	if wasDead && r.m.cfg.OnAlive != nil {
		r.m.cfg.OnAlive(r.i)
	}
}

func (r *replica) failed(err error) {
	if r.ctx.Err() != nil {
		return
	}
	r.fails++
	r.m.mu.Lock()
	r.up = false
	r.publish()
	news := !r.suspect
	r.suspect = true
	r.m.mu.Unlock()
	if news {
		r.m.changed(r.i, StateSuspect, err)
	}
	if r.fails >= deadAfter && !r.dead {
		r.dead = true
		r.m.mu.Lock()
		r.down = true
		r.m.mu.Unlock()
		if r.m.cfg.OnDead != nil {
			r.m.cfg.OnDead(r.i)
		}
		r.m.changed(r.i, StateDown, err)
	}
}
