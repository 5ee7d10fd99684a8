package monitor

import (
	"fmt"
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// Behind a balanced name (a Kubernetes -ro service, HAProxy, a managed reader
// endpoint, a pooler) stands another server for each connection or, behind a pooler,
// for each transaction. A sample says nothing of the next read, so that a read asks
// for itself, on the connection that it runs on, and brings the answer here
// ([Monitor.Checked]): what it means needs the primary's samples, and needs it to be
// known for each of the servers whether it follows the primary's history.

// backend is one of the servers behind a balanced name: one run of it.
type backend struct {
	lineage  lineage
	sample   lsn.Sample // of whichever connection asked last
	began    time.Time  // when that was asked
	answered time.Time
	full     time.Time // when it was asked for everything last
	slow     time.Time // no wait for it helps until then
	told     State     // the newest event about it, so that each is told once
}

const (
	// mostBackends bounds the servers that are remembered for one name; the ones that
	// answered last are kept.
	mostBackends = 64
	// forgotten is for how long a server is remembered that no connection has reached.
	forgotten = 5 * time.Minute
	// forgottenFork is that for one that was promoted. Until then the control file of a
	// standby that follows it has said so.
	forgottenFork = 15 * time.Minute
	// lately is for how long a name that leads to primaries counts as one of standbys
	// after a standby has answered there.
	lately = 15 * time.Second
)

// backends are the servers behind a name, by what they say that they are.
type backends map[lsn.Server]*backend

// Balanced reports whether the name of replica i answers as several servers.
func (m *Monitor) Balanced(i int) bool { return m.snap.Load().Replicas[i].Balanced }

// Checked takes in what the server said that one connection to the balanced replica i
// leads to, and returns what it is, as if it were a replica with a name of its own:
// good for this connection alone and, behind a pooler, for this transaction. began is
// when the question was sent; full says that all was asked and nothing taken from Known.
func (m *Monitor) Checked(i int, began time.Time, s lsn.Sample, full bool) policy.Replica {
	r := m.all()[i]
	m.mu.Lock()
	b, events := r.heard(began, s, full)
	v := r.facts(b, began, &s)
	m.mu.Unlock()
	m.emit(events)
	return v
}

// Known completes the answer of a server behind replica i to lsn.BriefCheckSQL by what
// it said when it was asked for everything; ok is false where that was longer ago than
// age, or where it has become something else since.
func (m *Monitor) Known(i int, s lsn.Sample, age time.Duration) (full lsn.Sample, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for server, b := range m.all()[i].backends {
		if server.Started != s.Started || server.Addr != s.Addr || server.Port != s.Port {
			continue
		}
		if b.sample.InRecovery != s.InRecovery || time.Since(b.full) > age {
			return s, false
		}
		full = b.sample
		full.Replay, full.Receive, full.Paused, full.BackendPID = s.Replay, max(full.Receive, s.Replay), s.Paused, s.BackendPID
		return full, true
	}
	return s, false
}

// WaitedInVain says that a read has waited for a server behind replica i and has not
// got what it needs: for a while nobody else should wait for it.
func (m *Monitor) WaitedInVain(i int, server lsn.Server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := m.all()[i].backends[server]; b != nil {
		b.slow = time.Now().Add(m.cfg.SampleEvery)
	}
}

// takeBalanced records an answer that the sampler got from whichever server behind
// the name it reached. The caller holds Monitor.mu.
func (r *replica) takeBalanced(began time.Time, s lsn.Sample) (events []Change) {
	r.began, r.answered, r.sample, r.server = began, time.Now(), s, s.Server
	r.stranger, r.known, r.replayedAt = false, 0, time.Time{}
	_, events = r.heard(began, s, true)
	r.role = r.roleOfName()
	if r.role == policy.RolePrimary && r.renew != nil && began.Sub(r.renewed) >= time.Second {
		// A standby may have come back, and this connection would never show it.
		r.renewed = began
		r.renew.Renew()
	}
	r.up = true
	if r.suspect {
		r.suspect = false
		events = append(events, Change{Replica: r.i, State: StateUp})
	}
	r.publish()
	return events
}

// roleOfName is that of standbys, as long as any was there lately: which server a
// connection leads to, and whether that may be read from, is found out on it. The
// caller holds Monitor.mu.
func (r *replica) roleOfName() policy.Role {
	if r.target.Logical {
		return r.roleOfLogical(&r.sample)
	}
	if r.sample.InRecovery || r.target.AllowPrimary {
		return policy.RoleStandby
	}
	for _, b := range r.backends {
		if b.sample.InRecovery && r.answered.Sub(b.answered) < lately {
			return policy.RoleStandby
		}
	}
	return policy.RolePrimary
}

// heard records the answer of a server behind the name. The caller holds Monitor.mu.
func (r *replica) heard(began time.Time, s lsn.Sample, full bool) (b *backend, events []Change) {
	forked := r.forks()
	b = r.backends[s.Server]
	if b == nil {
		r.forgetBackends()
		r.cameBack(&s)
		b = &backend{}
		b.lineage.fork = r.m.forked()
		if r.backends == nil {
			r.backends = make(backends)
		}
		r.backends[s.Server] = b
	}
	if !began.Before(b.began) || b.sample.InRecovery != s.InRecovery {
		b.sample, b.began, b.answered = s, began, time.Now()
		if full {
			b.full = began
		}
	}
	if s.TellsNoPosition() && !r.noPosition {
		events = r.tellsNoPosition(&s)
	}
	events = append(events, r.judgeBackend(b)...)
	if forked != r.forks() {
		events = append(append(events, r.rejudgeBackends()...), r.rejudgeOthers()...)
	}
	return b, events
}

// forgetBackends makes room for another server: those that have not answered for long
// are gone, as an instance is that was scaled away.
func (r *replica) forgetBackends() {
	now := time.Now()
	var oldest lsn.Server
	var at time.Time
	for server, b := range r.backends {
		if age := now.Sub(b.answered); age > forgottenFork || age > forgotten && !r.m.forkedOff(&b.sample) {
			delete(r.backends, server)
			continue
		}
		if at.IsZero() || b.answered.Before(at) {
			oldest, at = server, b.answered
		}
	}
	if len(r.backends) >= mostBackends {
		delete(r.backends, oldest)
	}
}

// judgeBackend compares a server with the primary as rejudge does a replica. The
// caller holds Monitor.mu.
func (r *replica) judgeBackend(b *backend) (events []Change) {
	p := &r.m.primary
	state := State("")
	switch {
	case r.target.Logical:
		if r.roleOfLogical(&b.sample) != policy.RoleLogical {
			state = StateNotLogical
		}
	case !b.sample.InRecovery:
		if b.sample.System != p.history.System && !p.history.Zero() {
			state = StateForeign
		} else if !r.target.AllowPrimary {
			state = StateWritable
		}
	case b.lineage.judge(p.history, &b.sample, p.insert, !p.insertAt.IsZero() && !p.insertAt.Before(b.answered)) == foreign:
		state = StateForeign
	}
	if state != b.told && state != "" {
		events = append(events, Change{Replica: r.i, State: state, Err: fmt.Errorf("readsplit: the server at %s:%d", b.sample.Addr, b.sample.Port)})
	}
	b.told = state
	return events
}

func (r *replica) rejudgeBackends() (events []Change) {
	fork := r.m.forked()
	for _, b := range r.backends {
		b.lineage.fork = fork
		events = append(events, r.judgeBackend(b)...)
	}
	return events
}

// facts renders what one connection has shown of b, by the answer s that it got. The
// caller holds Monitor.mu.
func (r *replica) facts(b *backend, began time.Time, s *lsn.Sample) policy.Replica {
	p := &r.m.primary
	v := r.view()
	v.Balanced, v.Up, v.Sampled, v.Paused = false, true, began, s.Paused
	v.NoPosition, v.StatedLag = false, 0
	v.CatchUp = 0
	if time.Now().Before(b.slow) {
		v.CatchUp = time.Hour
	}
	switch {
	case r.target.Logical:
		v.Role = r.roleOfLogical(s)
		return v
	case !s.InRecovery:
		v.Role = policy.RolePrimary
		v.AllowPrimary = r.target.AllowPrimary && s.History() == p.history
	case b.lineage.verdict == foreign:
		v.Role = policy.RoleForeign
	default:
		v.Role = policy.RoleStandby
	}
	if v.Role == policy.RoleStandby && s.TellsNoPosition() {
		r.stated(&v, s)
		return v
	}
	if v.Role == policy.RoleStandby && b.lineage.verdict == proven && b.lineage.history == p.history && s.Replay > 0 {
		v.Applied = lsn.Position{History: p.history, LSN: s.Replay}
		if at, ok := p.marks.replayedAt(s.Replay); ok {
			v.ReplayedAt = at
		}
		v.BehindBytes = r.m.bytesBehind(s.Replay)
	}
	return v
}

// backendsWantNudge reports whether a server behind the name that has received all is
// about to seem too old, see nudgeIsDue. The caller holds Monitor.mu.
func (r *replica) backendsWantNudge(now time.Time) bool {
	p := &r.m.primary
	for _, b := range r.backends {
		v := r.facts(b, b.began, &b.sample)
		lag, ok := v.Lag(now)
		switch {
		case v.Paused || v.NoPosition || v.Applied.Zero() || now.Sub(b.answered) > r.m.cfg.MaxLag:
		case v.Applied.LSN >= p.flush || v.Applied.LSN < p.nudged:
		case b.sample.Receive != 0 && b.sample.Receive < p.flush:
		case !ok || lag > r.m.cfg.MaxLag/2:
			return true
		}
	}
	return false
}

// Backend is one of the servers behind a balanced name, as it was when a connection
// to it was asked last.
type Backend struct {
	lsn.Server
	// Role is what it said it is.
	Role policy.Role
	// Position is its replay position; zero while it is not proven to follow the
	// primary's history.
	Position lsn.Position
	// ReplayedAt is as in policy.Replica: at Asked it was at most Asked - ReplayedAt
	// behind. Zero: not known.
	ReplayedAt time.Time
	// NoPosition: it does not tell its position, so that Position and ReplayedAt are
	// what is stated of it, see policy.Replica.
	NoPosition bool
	Paused     bool
	Asked      time.Time
}

// Backends are the servers that were seen behind the balanced name of replica i, those
// that were asked last first; nil for a name of one server.
func (m *Monitor) Backends(i int) (all []Backend) {
	r := m.all()[i]
	m.mu.Lock()
	defer m.mu.Unlock()
	for server, b := range r.backends {
		v := r.facts(b, b.began, &b.sample)
		all = append(all, Backend{
			Server: server, Role: v.Role, Position: v.Applied, ReplayedAt: v.ReplayedAt, NoPosition: v.NoPosition, Paused: v.Paused, Asked: b.began,
		})
	}
	slices.SortFunc(all, func(a, b Backend) int { return b.Asked.Compare(a.Asked) })
	return all
}
