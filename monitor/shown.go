package monitor

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// Shown returns a position that covers whatever replica i has shown by t, in this
// generation of it: what it had replayed when a question was sent after t. ok is false
// where there was none yet, or where what it replays is not proven to be the primary's.
//
// A record that is being replayed may show before the server counts it. It is one at
// most, so that whoever has replayed more than the position, by any byte, has replayed
// that record as well.
func (m *Monitor) Shown(i int, generation uint64, t time.Time) (p lsn.Position, ok bool) {
	r := m.all()[i]
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.gen.Load() != generation || !r.began.After(t) || !r.sample.InRecovery || r.balanced || r.noPosition ||
		r.lineage.verdict != proven || r.lineage.history != m.primary.history {
		return lsn.Position{}, false
	}
	return lsn.Position{History: r.lineage.history, LSN: r.sample.Replay + 1}, true
}

// AwaitShown is Shown, and asks the replica if need be: whoever waits shares the
// question, and one is under way at most. It gives up when until has
// passed, ctx is done, or the replica is not what it was.
func (m *Monitor) AwaitShown(ctx context.Context, i int, generation uint64, t, until time.Time) (p lsn.Position, ok bool) {
	r := m.all()[i]
	m.watchers.Add(1)
	defer m.watchers.Add(-1)
	m.await(ctx, until, func() bool {
		p, ok = m.Shown(i, generation, t)
		return ok
	}, func() bool {
		s := &m.snap.Load().Replicas[i]
		if !s.Up || s.Generation != generation || s.Applied.Zero() {
			return false
		}
		r.wake()
		return true
	})
	return p, ok
}

// Reached returns the furthest position that the primary is known to have got to: no
// position of its history up to there needs any other proof that it is genuine.
func (m *Monitor) Reached() lsn.Position {
	c, ok := m.captures.newest()
	if !ok {
		return lsn.Position{}
	}
	return c.position(true)
}

// PassedAt returns when the primary was known to have got to p, by the captures that
// are remembered; zero: it was not.
func (m *Monitor) PassedAt(p lsn.Position) time.Time {
	c, ok := m.captures.earliest(func(c *capture) bool { return c.position(true).Covers(p) })
	if !ok {
		return time.Time{}
	}
	return c.started
}
