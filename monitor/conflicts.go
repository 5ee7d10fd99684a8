package monitor

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// ConflictSource is a Source that can ask a standby what replay has cancelled there,
// with lsn.ConflictsSQL. It must not connect: connected is false, and nothing is asked,
// where there is no connection. An error of the server's own (a missing right) need not
// cost the connection.
type ConflictSource interface {
	Conflicts(ctx context.Context) (c lsn.Conflicts, connected bool, err error)
}

const (
	// conflictsBan follows a question that failed: the role has not the right to see
	// it, most likely, and each failure is a line in the server's log.
	conflictsBan = 10 * time.Minute
	// conflictsPart of SampleTimeout is the most that the question may take, and a
	// fifth of that is what a sample may have taken for it to be asked: a server that
	// is slow to say its position is not asked for less.
	conflictsPart = 4
)

// Conflicts returns what replica i has counted itself; ok is false before its first
// answer, and where its source cannot ask.
func (m *Monitor) Conflicts(i int) (c lsn.Conflicts, ok bool) {
	r := m.all()[i]
	m.mu.Lock()
	defer m.mu.Unlock()
	return r.conflicts, r.counted
}

// conflictsAreDue reports whether r may be asked now: seldom, and only when nobody
// waits for its position, which would have to wait for the answer.
func (r *replica) conflictsAreDue(now time.Time) bool {
	if r.asks == nil || r.m.cfg.ConflictsEvery <= 0 || now.Before(r.conflictsAt) {
		return false
	}
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	return r.up && r.role == policy.RoleStandby && now.After(r.m.want.until) &&
		r.answered.Sub(r.began) <= r.m.cfg.SampleTimeout/conflictsPart/5
}

// askConflicts asks r what replay has cancelled there. A failure says nothing of r: the
// next sample does.
func (r *replica) askConflicts() {
	now := time.Now()
	if !r.conflictsAreDue(now) {
		return
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.m.cfg.SampleTimeout/conflictsPart)
	defer cancel()
	c, connected, err := r.asks.Conflicts(ctx)
	switch {
	case err != nil:
		r.conflictsAt = now.Add(conflictsBan)
	case connected:
		r.conflictsAt = now.Add(r.m.cfg.ConflictsEvery)
		r.m.mu.Lock()
		r.conflicts, r.counted = c, true
		r.m.mu.Unlock()
	}
}
