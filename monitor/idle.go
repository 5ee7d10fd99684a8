package monitor

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/policy"
)

// idleAfter is for how long nothing must have happened until servers are sampled at
// Config.IdleSampleEvery.
const idleAfter = 3 * time.Second

// rest is whether this process does anything that the news of servers matter for.
type rest struct {
	state   atomic.Int32
	used    atomic.Bool               // since the newest regular sample of the primary
	wokenAt atomic.Pointer[time.Time] // when waking began

	// The goroutine's that samples the primary.
	usedAt time.Time
	woken  bool // it has seen waking before
}

// States of rest.
const (
	awake  int32 = iota
	asleep       // sampled seldom
	waking       // asked for news, and nobody has looked whether they are there
)

// Use says that somebody is about to look at the snapshot for a decision, or has
// written. drowsy says that the servers were sampled seldom, because nobody had done
// that for a while: [Monitor.Rouse] comes first.
func (m *Monitor) Use() (drowsy bool) {
	if !m.rest.used.Load() { // a load alone where reads follow each other
		m.rest.used.Store(true)
	}
	return m.rest.state.Load() != awake
}

// Drowsy is Use of somebody who only looks.
func (m *Monitor) Drowsy() bool { return m.rest.state.Load() != awake }

// Rouse has every server sampled at once if they were sampled seldom, and waits until
// some replica is known well enough to be read from. It gives up when until has passed or
// ctx is done. Those who come meanwhile wait with it, and nobody does where what is known
// is good enough as it is.
func (m *Monitor) Rouse(ctx context.Context, until time.Time) {
	m.rouse()
	m.await(ctx, until, func() bool {
		return m.rest.state.Load() == awake || m.knowsSome()
	}, func() bool {
		// On a busy primary what a replica has replayed may lie before the sample of now,
		// and the one before that is old: it is waited for as for anybody's write.
		c, ok := m.captures.newest()
		if at := m.rest.wokenAt.Load(); ok && at != nil && !c.started.Before(*at) {
			m.Want(c.position(false).LSN, c.started, until)
		}
		return true
	})
	m.rest.state.CompareAndSwap(waking, awake) // now it is for the rules
}

// rouse is Rouse without waiting.
func (m *Monitor) rouse() {
	if !m.rest.state.CompareAndSwap(asleep, waking) {
		return
	}
	now := time.Now()
	m.rest.wokenAt.Store(&now)
	m.AskPrimary()
	m.mu.Lock()
	for _, r := range m.all() {
		r.roused = true
	}
	m.mu.Unlock()
	for _, r := range m.all() {
		r.wake()
	}
}

// knowsSome reports whether some replica is known to be within MaxLag, by news that are
// recent enough.
func (m *Monitor) knowsSome() bool {
	s, now := m.snap.Load(), time.Now()
	for i := range s.Replicas {
		r := &s.Replicas[i]
		lag, ok := r.Lag(now)
		// Behind a name of several servers it is asked on the connection, and of one of which
		// nothing is stated either there is nothing to wait for. What is stated counts from
		// the primary's newest sample, so that there is for that.
		near := r.Balanced || r.NoPosition && !ok || ok && lag <= m.cfg.MaxLag
		if r.Up && r.Role == policy.RoleStandby && now.Sub(r.Sampled) <= m.cfg.MaxSampleAge && near {
			return true
		}
	}
	return false
}

// settle decides, at a regular sample of the primary, how often servers are sampled from
// now on.
func (m *Monitor) settle() {
	if m.cfg.IdleSampleEvery <= m.cfg.SampleEvery {
		return
	}
	now := time.Now()
	switch {
	case m.rest.used.Swap(false) || m.rest.usedAt.IsZero() || m.cfg.UnderWay != nil && m.cfg.UnderWay():
		m.rest.usedAt = now
		m.rouse()
	case now.Sub(m.rest.usedAt) >= idleAfter:
		m.rest.state.CompareAndSwap(awake, asleep)
	}
	// Whoever was woken stays waking until the next regular sample, unless a reader has
	// looked before: those who come meanwhile would find old news.
	if m.rest.woken {
		m.rest.state.CompareAndSwap(waking, awake)
	}
	m.rest.woken = m.rest.state.Load() == waking
}

// every is the pause between two samples of a server.
func (m *Monitor) every() time.Duration {
	if m.rest.state.Load() == asleep {
		return m.cfg.IdleSampleEvery
	}
	return m.cfg.SampleEvery
}

// seldom is by how much what is known may be older than it would be if servers were
// sampled as ever.
func (m *Monitor) seldom() time.Duration {
	if m.rest.state.Load() == awake {
		return 0
	}
	return 2 * m.cfg.IdleSampleEvery
}
