package monitor

import "github.com/readsplit/readsplit/lsn"

// A replica that was promoted writes another history from then on, and takes along
// whoever receives from it: a standby behind it goes to its new timeline by itself, and
// shows what was never true here. A role that may see what a standby streams (pg_monitor)
// sees that at once. Any other learns of it from the control file, minutes later: to it,
// such a standby looks like one that is a little behind. So once a replica is known to
// write another history, what cannot be seen to stream the primary's is not proven to
// follow it.

// forks reports whether r, a replica that is no standby, writes another history of the
// primary's cluster. One that does not answer any more has not come back from there. The
// caller holds Monitor.mu.
func (r *replica) forks() bool {
	if r.balanced {
		for _, b := range r.backends {
			if r.m.forkedOff(&b.sample) {
				return true
			}
		}
		return false
	}
	h := r.m.primary.history
	return !r.answered.IsZero() && !r.sample.InRecovery && !h.Zero() && r.sample.System == h.System && r.sample.History() != h
}

// forkedOff reports whether s is of a server behind a name that was promoted beside the
// primary. Unlike the server of a name of its own, a run that has ended stays known for
// a while: a former run of the primary itself is none. The caller holds Monitor.mu.
func (m *Monitor) forkedOff(s *lsn.Sample) bool {
	h := m.primary.history
	return !s.InRecovery && !h.Zero() && s.System == h.System && s.Timeline > h.Timeline
}

// cameBack forgets the run of a server behind r's name that was promoted, when a standby
// answers at its address. The caller holds Monitor.mu.
func (r *replica) cameBack(now *lsn.Sample) {
	if !now.InRecovery {
		return
	}
	for server, b := range r.backends {
		if server.Addr == now.Addr && server.Port == now.Port && server.Started < now.Started && r.m.forkedOff(&b.sample) {
			delete(r.backends, server)
		}
	}
}

// forked reports whether any replica does, or did when it was removed. The caller holds
// Monitor.mu.
func (m *Monitor) forked() bool {
	if !m.lostFork.Zero() && m.lostFork == m.primary.history {
		return true
	}
	for _, r := range m.all() {
		if !r.gone && r.forks() {
			return true
		}
	}
	return false
}

// rejudgeOthers judges all replicas but r anew, because r was found to write another
// history, or to have come back from it. The caller holds Monitor.mu.
func (r *replica) rejudgeOthers() (events []Change) {
	for _, other := range r.m.all() {
		if other != r && !other.gone {
			events = append(events, other.rejudge()...)
			other.publish()
		}
	}
	return events
}
