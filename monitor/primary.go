package monitor

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

const (
	// captureEvery bounds captures to 2,000 a second, whatever is written and read;
	// captureBurst may come one right after the other.
	captureEvery = 500 * time.Microsecond
	captureBurst = 4
	// nudgeEvery is the shortest time between two nudges.
	nudgeEvery = time.Second
	// nudgeBan follows a nudge that failed.
	nudgeBan = time.Minute
	// askAgain is the shortest time between two samples that failures ask for.
	askAgain = 10 * time.Millisecond
	// lostAfter failed samples in a row mean that the primary cannot be reached.
	lostAfter = 2
)

var errPrimaryInRecovery = errors.New("readsplit: the primary is in recovery: it is a standby")

// primary is the state of the primary's goroutine. The unexported fields below
// poke belong to it, except those guarded by Monitor.mu.
type primary struct {
	wanted atomic.Uint64
	poke   chan struct{}
	again  chan struct{} // ask everything at once

	distance distance
	asking   atomic.Pointer[asking] // nil: nothing is asked just now
	began    moment                 // the newest question
	sought   moment                 // see Sought
	awaited  atomic.Bool            // somebody waits for the capture that is wanted

	lastStart time.Time // of any question
	pace      pace      // of captures
	fails     int
	block     uint64
	segment   uint64
	async     bool // what the newest full sample said

	// Guarded by Monitor.mu.
	history  lsn.History
	marks    marks
	insert   lsn.LSN   // that no replica of this history is beyond
	insertAt time.Time // when the question that brought insert was sent
	flush    lsn.LSN
	margin   time.Duration
	delay    time.Duration // wal_writer_delay

	lastFlush lsn.LSN // at the regular sample before
	nudged    lsn.LSN // whoever has replayed the last nudge has at least this
	nudgedAt  time.Time
}

// demand asks for a capture numbered n or later.
func (p *primary) demand(n uint64) {
	for {
		old := p.wanted.Load()
		if n <= old || p.wanted.CompareAndSwap(old, n) {
			break
		}
	}
	select {
	case p.poke <- struct{}{}:
	default:
	}
}

// AskPrimary has the primary asked everything at once, because something happened
// that a change of primary would explain. It does not wait.
func (m *Monitor) AskPrimary() {
	select {
	case m.primary.again <- struct{}{}:
	default:
	}
}

// Writable returns the run of replica i that is known to be no standby; ok is false
// where it is one, or does not answer.
func (m *Monitor) Writable(i int) (s lsn.Server, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.all()[i]
	return r.server, r.up && r.role == policy.RolePrimary
}

func (m *Monitor) runPrimary(rng *rand.Rand) {
	timer := time.NewTimer(phase(rng, m.every()))
	defer timer.Stop()
	asked := false
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-m.primary.again:
			asked = true
			// Whoever writes in a loop that fails must not keep us connecting.
			timer.Reset(max(askAgain-time.Since(m.primary.lastStart), 0))
		case <-timer.C:
			if m.cfg.BeforeSample != nil {
				m.cfg.BeforeSample()
			}
			m.settle()
			m.samplePrimary()
			if m.nudgeIsDue() {
				m.nudge()
			}
			if m.primary.fails == 1 || asked && m.primary.fails > 0 {
				// The server may only have restarted, and the connection be to the run
				// before.
				timer.Reset(0)
			} else {
				timer.Reset(jitter(rng, m.every()))
			}
			asked = false
		case <-m.primary.poke:
			if _, ok := m.captures.covering(m.primary.wanted.Load()); ok {
				continue
			}
			if !m.pace() {
				return
			}
			m.capture()
			m.wantNewest()
		}
	}
}

// wantNewest asks the replicas for the position of the capture that somebody
// waits for, at once: to wake the waiters first and be asked by them would add
// two changes of goroutines to each read after a write.
func (m *Monitor) wantNewest() {
	c, ok := m.captures.covering(m.primary.wanted.Load())
	if !ok {
		return
	}
	until := c.started
	if m.primary.awaited.Swap(false) && m.waitIsWorthwhile() {
		until = time.Now().Add(m.cfg.MaxWait)
	}
	m.Want(c.position(false).LSN, c.started, until)
}

// waitIsWorthwhile reports whether some replica has lately been quick enough for
// anybody to wait for it.
func (m *Monitor) waitIsWorthwhile() bool {
	for i := range m.snap.Load().Replicas {
		if r := &m.snap.Load().Replicas[i]; r.Up && !r.Balanced && !r.Paused && r.Role != policy.RoleLogical && r.CatchUp <= m.cfg.MaxWait {
			return true
		}
	}
	return false
}

// pace waits until the next capture may start.
func (m *Monitor) pace() bool {
	d := m.primary.pace.wait(time.Now())
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-m.ctx.Done():
		return false
	}
}

// samplePrimary asks the primary everything. It is a capture too.
func (m *Monitor) samplePrimary() {
	ctx, cancel := m.timeout()
	defer cancel()
	n := m.captures.begin()
	began := time.Now()
	m.primary.lastStart = began
	unwaited := m.unwaited.at(began.Sub(m.base))
	m.primary.asking.Store(&asking{n, began})
	m.primary.began.now(m.base)
	s, fresh, err := m.cfg.Primary.Source.Sample(ctx)
	m.primary.asking.Store(nil)
	if err == nil && !fresh {
		m.primary.distance.took(time.Since(began))
	}
	if err == nil && s.InRecovery {
		err = errPrimaryInRecovery
	}
	if err != nil {
		m.primaryFailed(err)
		return
	}
	m.primary.block, m.primary.segment, m.primary.async = s.BlockSize, s.SegmentSize, s.AsyncCommit
	m.gotPrimary(capture{
		n: n, started: began, ended: time.Now(), history: s.History(),
		flush: s.Flush, insert: s.Insert, end: max(s.Insert, s.End), async: s.AsyncCommit || m.async.Load(), unwaited: unwaited,
	}, &s)
}

// capture asks the primary for its position only.
func (m *Monitor) capture() {
	if m.primary.fails > 0 {
		// The connection may be to a standby that takes over in this moment: its
		// position would be put down to the history of the primary before it.
		m.samplePrimary()
		return
	}
	ctx, cancel := m.timeout()
	defer cancel()
	m.mu.Lock()
	history := m.primary.history
	m.mu.Unlock()
	n := m.captures.begin()
	began := time.Now()
	unwaited := m.unwaited.at(began.Sub(m.base))
	m.primary.asking.Store(&asking{n, began})
	m.primary.began.now(m.base)
	m.primary.pace.took(began)
	if m.primary.awaited.Load() {
		m.askAhead(n)
	}
	text, connected, err := m.cfg.Primary.Source.Capture(ctx)
	m.primary.asking.Store(nil)
	if err == nil && connected {
		m.primary.distance.took(time.Since(began))
	}
	if m.cfg.OnCapture != nil && (connected || err != nil) {
		m.cfg.OnCapture(began, err)
	}
	switch {
	case err != nil:
		m.primary.lastStart = began
		m.primaryFailed(err)
	case !connected || history.Zero():
		// A new connection may reach another run of the primary: a position
		// without its history would be compared with the old one's.
		m.samplePrimary()
	default:
		m.primary.lastStart = began
		insert := text.Insert.RecordEnd(m.primary.block, m.primary.segment)
		m.gotPrimary(capture{
			n: n, started: began, ended: time.Now(), history: history,
			flush:  text.Flush,
			insert: insert,
			end:    max(insert, text.End),
			async:  text.AsyncCommit || m.primary.async || m.async.Load(), unwaited: unwaited,
		}, nil)
	}
}

// gotPrimary takes in a position of the primary. full is set when it comes from a
// full sample, which is also the moment to judge every replica anew.
func (m *Monitor) gotPrimary(c capture, full *lsn.Sample) {
	p := &m.primary
	recovered := p.fails >= lostAfter
	p.fails = 0

	m.mu.Lock()
	fresh := p.history != c.history
	first := p.history.Zero()
	if fresh {
		// Positions of another history say nothing about this one.
		p.history, p.marks, p.insert, p.flush = c.history, marks{}, 0, 0
		p.nudged, p.lastFlush = 0, 0
		m.want = want{}
	}
	if c.end > p.insert || p.insertAt.IsZero() {
		p.insert = c.end
	}
	p.insertAt = c.started
	p.flush = max(p.flush, c.flush)
	if full != nil {
		p.delay = full.WalWriterDelay
	}
	at := c.started
	if c.unwaited {
		at = at.Add(-p.flushes())
	}
	p.marks.add(at, c.flush, m.cfg.SampleEvery/4)
	p.marks.answered(at, c.ended)
	if full != nil {
		p.setMargin(c.async || m.async.Load())
	}
	m.captures.finish(c)
	if m.ahead.r != nil {
		m.learnAhead()
	}
	var events []Change
	if full != nil {
		for _, r := range m.all() {
			events = append(events, r.rejudge()...)
		}
	}
	m.publish(func(s *policy.Snapshot) {
		s.Primary.Lost = false
		s.Primary.Sampled = c.started
		s.Primary.Position = lsn.Position{History: c.history, LSN: p.flush}
		if full != nil {
			m.viewAll(s)
		}
	})
	m.mu.Unlock()

	if fresh && !first {
		m.changed(-1, StateNewHistory, nil)
	}
	if fresh && c.history.Timeline == lsn.ClockTimeline {
		m.changed(-1, StateNoPosition, nil)
	}
	if first || recovered {
		m.changed(-1, StateUp, nil)
	}
	m.emit(events)
}

func (m *Monitor) primaryFailed(err error) {
	if m.ctx.Err() != nil {
		return
	}
	m.primary.fails++
	lost := m.primary.fails >= lostAfter
	m.mu.Lock()
	m.publish(func(s *policy.Snapshot) { s.Primary.Lost = s.Primary.Lost || lost })
	m.mu.Unlock()
	if m.primary.fails == lostAfter {
		state := StateDown
		if errors.Is(err, errPrimaryInRecovery) {
			state = StateStandby
		}
		m.changed(-1, state, err)
	}
}

// setMargin says how far what the primary shows may run ahead of what it has
// flushed: a commit that is not waited for is flushed within three rounds of the
// WAL writer. The caller holds Monitor.mu.
func (p *primary) setMargin(async bool) {
	p.margin = 0
	if async {
		p.margin = p.flushes()
	}
}

// nudgeIsDue reports whether a healthy replica is about to exceed MaxLag only
// because the flush position rests inside a record that a quiet primary has not
// finished. A replica that has not received what is flushed, or not replayed the
// last nudge, is really behind, and a nudge would tell nothing.
func (m *Monitor) nudgeIsDue() bool {
	if !m.cfg.Nudge || m.primary.fails > 0 {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &m.primary
	quiet := p.flush == p.lastFlush
	p.lastFlush = p.flush
	now := time.Now()
	if !quiet || now.Sub(p.nudgedAt) < nudgeEvery {
		return false
	}
	for _, r := range m.all() {
		if r.balanced {
			if r.backendsWantNudge(now) {
				return true
			}
			continue
		}
		v := r.view()
		lag, ok := v.Lag(now)
		switch {
		case !v.Up || v.Paused || v.NoPosition || v.Role != policy.RoleStandby || v.Applied.Zero():
		case v.Applied.LSN >= p.flush || v.Applied.LSN < p.nudged:
		case r.sample.Receive != 0 && r.sample.Receive < p.flush:
		case !ok || lag > m.cfg.MaxLag/2:
			return true
		}
	}
	return false
}

func (m *Monitor) nudge() {
	m.mu.Lock()
	before := m.primary.flush
	m.mu.Unlock()
	ctx, cancel := m.timeout()
	err := m.cfg.Primary.Source.Nudge(ctx)
	cancel()
	if err == nil {
		m.samplePrimary()
	}
	m.mu.Lock()
	m.primary.nudgedAt = time.Now()
	if err != nil {
		// Not allowed, most likely: asking each second would fill the server's log.
		m.primary.nudgedAt = m.primary.nudgedAt.Add(nudgeBan)
	}
	// Not the flush position of now: it may rest inside a record again.
	m.primary.nudged, m.primary.lastFlush = before+1, m.primary.flush
	m.mu.Unlock()
}

func (m *Monitor) emit(events []Change) {
	for _, e := range events {
		m.changed(e.Replica, e.State, e.Err)
	}
}
