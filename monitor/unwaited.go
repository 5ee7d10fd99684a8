package monitor

import (
	"sync/atomic"
	"time"
)

// unwaited are transactions of this process whose COMMIT may be acknowledged before it is
// flushed, while others are waited for. A sample of the primary that was asked for
// meanwhile says of what was flushed that it is all that was committed a while before,
// and not when it was asked for.
type unwaited struct {
	open  atomic.Int64
	until atomic.Int64 // when the last that has ended is flushed, since Monitor.base
}

// at reports whether some may not have been flushed at a moment. It is asked before a
// sample is: whatever was acknowledged before the moment is open, or has an end.
func (u *unwaited) at(moment time.Duration) bool {
	return u.open.Load() > 0 || int64(moment) < u.until.Load()
}

// AsyncBegins says that a transaction is under way whose COMMIT may be acknowledged
// before it is flushed (SET LOCAL synchronous_commit), and AsyncEnds that it is over.
// Unlike MarkAsync it holds for no other.
func (m *Monitor) AsyncBegins() { m.unwaited.open.Add(1) }

// AsyncEnds is called once for each AsyncBegins, when the COMMIT was acknowledged, or
// there is none.
func (m *Monitor) AsyncEnds() {
	m.mu.Lock()
	flushed := int64(time.Since(m.base) + m.primary.flushes())
	m.mu.Unlock()
	for old := m.unwaited.until.Load(); flushed > old && !m.unwaited.until.CompareAndSwap(old, flushed); {
		old = m.unwaited.until.Load()
	}
	m.unwaited.open.Add(-1) // afterwards: in between it would be neither
}

// flushes is within what time a commit is flushed that is not waited for: three rounds of
// the WAL writer. The caller holds Monitor.mu.
func (p *primary) flushes() time.Duration { return 3 * p.delay }
