package monitor

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Health says when a replica that answers its probes, and on which reads fail all
// the same, is left alone: its pool is refused connections, its disk gives errors,
// the way there from here loses answers. Without it every read would be sent there
// first. The zero Health is ready to use.
type Health struct {
	// Strikes is how many reads must fail one after the other, for a reason that
	// lies in the server and not in the statement. -1 never ejects. Defaults to 3.
	Strikes int
	// Eject is for how long the replica gets no read after that; each time that
	// follows soon, twice as long. Defaults to 1 s.
	Eject time.Duration
	// MaxEject bounds that. Defaults to 30 s, or to Eject where that is longer.
	MaxEject time.Duration
	// SlowStart is how long a replica that comes back (ejected, down, restarted,
	// drained) takes until it gets its whole share of the reads that others can
	// serve too. It begins with a tenth. -1 gives all at once. Defaults to 10 s.
	SlowStart time.Duration
}

// Validate returns an error that names every field whose value has no meaning, or nil.
func (h Health) Validate() error {
	var errs []error
	if h.Strikes < -1 {
		errs = append(errs, fmt.Errorf("readsplit: Health.Strikes is %d: it must be positive (0 means 3, -1 never ejects)", h.Strikes))
	}
	if h.Eject < 0 {
		errs = append(errs, fmt.Errorf("readsplit: Health.Eject is %v: it must be positive (0 means 1s); set Strikes to -1 to eject nobody", h.Eject))
	}
	if h.MaxEject < 0 || h.MaxEject > 0 && h.MaxEject < h.withDefaults().Eject {
		errs = append(errs, fmt.Errorf("readsplit: Health.MaxEject is %v: it must not be below Eject, which is %v (0 means 30s)", h.MaxEject, h.withDefaults().Eject))
	}
	if h.SlowStart < -1 {
		errs = append(errs, fmt.Errorf("readsplit: Health.SlowStart is %v: it must be positive (0 means 10s, -1 none)", h.SlowStart))
	}
	return errors.Join(errs...)
}

// Ramp is SlowStart with its default; 0: none.
func (h Health) Ramp() time.Duration { return max(h.withDefaults().SlowStart, 0) }

func (h Health) withDefaults() Health {
	if h.Strikes == 0 {
		h.Strikes = 3
	}
	if h.Eject == 0 {
		h.Eject = time.Second
	}
	if h.MaxEject == 0 {
		h.MaxEject = max(30*time.Second, h.Eject)
	}
	if h.SlowStart == 0 {
		h.SlowStart = 10 * time.Second
	}
	return h
}

// health is what reads have found out about one replica. But for strikes it is
// guarded by Monitor.mu.
type health struct {
	strikes atomic.Int32  // reads that failed one after the other
	until   time.Time     // ejected until then
	last    time.Duration // how long the last ejection was
}

// Struck says that a read has failed on replica i for a reason that lies in the
// server. trial: it was sent there although the replica is ejected.
func (m *Monitor) Struck(i int, trial bool, err error) {
	r, h := m.all()[i], &m.cfg.Health
	if h.Strikes < 0 {
		return
	}
	m.mu.Lock()
	if r.down {
		// OnDead breaks off what runs there. Who was told that a dead server answers its
		// probes would look in the wrong place.
		m.mu.Unlock()
		return
	}
	now := time.Now()
	out := now.Before(r.health.until)
	if out && !trial {
		m.mu.Unlock()
		return // it was sent before the replica was ejected
	}
	if n := r.health.strikes.Add(1); int(n) < h.Strikes && !trial {
		m.mu.Unlock()
		return
	}
	if now.Sub(r.health.until) > r.health.last {
		r.health.last = 0 // it was well for as long as it was out
	}
	r.health.strikes.Store(0)
	r.health.last = min(max(2*r.health.last, h.Eject), h.MaxEject)
	r.health.until = now.Add(r.health.last)
	r.since = r.health.until
	r.publish()
	m.mu.Unlock()
	if !out { // a trial that failed is no news
		m.changed(i, StateEjected, err)
	}
}

// Served says that a read has succeeded on replica i. It costs one load as long as
// none fails.
func (m *Monitor) Served(i int, trial bool) {
	r := m.all()[i]
	if !trial {
		if r.health.strikes.Load() != 0 {
			r.health.strikes.Store(0)
		}
		return
	}
	m.mu.Lock()
	now := time.Now()
	back := now.Before(r.health.until)
	if back {
		r.health.until = now
		r.comesBack()
		r.publish()
	}
	m.mu.Unlock()
	if back {
		m.changed(i, StateReadmitted, nil)
	}
}

// recovers is comesBack of a server that was down, or of its next run: what failed
// before says nothing of it. The caller holds Monitor.mu.
func (r *replica) recovers() {
	r.health.until, r.health.last = time.Time{}, 0
	r.troubles.forget()
	r.comesBack()
}

// comesBack starts r slowly from now on. The caller holds Monitor.mu.
func (r *replica) comesBack() {
	r.since = time.Now()
	r.health.strikes.Store(0)
}
