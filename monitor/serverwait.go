package monitor

import (
	"context"
	"errors"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// Waiter is a Source whose server may be able to say by itself when it has replayed a
// position (lsn.WaitSQL, from lsn.WaitVersion on).
type Waiter interface {
	// AwaitReplay returns when the server has probably replayed to, when most has
	// passed, or when the server is a standby no more. It proves nothing: whoever
	// returns asks for the position, as if it had not waited.
	//
	// It is called beside the other methods, never twice at once, and has a connection of
	// its own, which it drops after an error and when run is another than with the
	// connection's first call. With to 0 it only connects. ErrCannotWait says that the
	// server does not know the statement.
	AwaitReplay(ctx context.Context, run uint64, to lsn.LSN, most time.Duration) error
}

// ErrCannotWait says that a server does not know WAIT FOR LSN.
var ErrCannotWait = errors.New("readsplit: the server does not know WAIT FOR LSN")

const (
	// hangSlack is how much longer than it was asked for a wait on the server may take
	// before the server is asked for its position again and again, as if it could not
	// wait: its milliseconds are rounded up, and the answer is under way.
	hangSlack = 3 * time.Millisecond
	// hangBan follows a wait that failed, doubled with each one, to mostHangBan.
	hangBan     = 100 * time.Millisecond
	mostHangBan = time.Minute
)

// hang is one wait on a server.
type hang struct {
	run  uint64 // generation of the replica
	to   lsn.LSN
	most time.Duration
}

// hangs are the waits of one replica: one at a time, whoever waits here. Monitor.mu
// guards them, but for waiter and ask.
type hangs struct {
	waiter Waiter    // nil: the source cannot
	ask    chan hang // to the goroutine that waits; nil: it was not needed yet

	targets   targets
	now       hang // the one that is under way
	busy      bool
	began     time.Time
	ends      time.Time // when it should have ended
	connected bool      // in the generation run
	run       uint64
	refused   lsn.Server // the run that does not know the statement
	fails     int
	banned    time.Time // not before then
	early     lsn.LSN   // a wait for it ended before its time, at earlyAt; 0: checked
	earlyAt   time.Time
}

// beyond reports whether the server is waiting for more than need: it will not say
// when need is reached.
func (h *hangs) beyond(need lsn.LSN) bool { return h.busy && h.now.to > need }

// awaits adds a position that somebody waits for on r. The caller holds Monitor.mu.
func (r *replica) awaits(need lsn.LSN, until time.Time) {
	if r.hangs.waiter != nil {
		r.hangs.targets.add(need, until, r.known)
	}
}

// canHang reports whether the server may be made to wait. The caller holds Monitor.mu.
func (r *replica) canHang(now time.Time) bool {
	h := &r.hangs
	return h.waiter != nil && r.sample.Version >= lsn.WaitVersion &&
		r.up && r.role == policy.RoleStandby && !r.balanced && !r.noPosition &&
		(h.refused.System != r.server.System || h.refused.Started != r.server.Started) &&
		!now.Before(h.banned) && !h.targets.crowded(now)
}

// hang has the server say when the position is reached that comes first of those that
// somebody waits for here. It returns until when that makes polling needless; zero: it
// does not. waits is what to start, once, for the goroutine that waits.
func (r *replica) hang(start func(waits func())) (until time.Time) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	h, now := &r.hangs, time.Now()
	if !r.canHang(now) {
		return time.Time{}
	}
	t, ok := h.targets.lowest(r.known, now)
	run := r.gen.Load()
	switch {
	case !ok:
		return time.Time{}
	case h.busy:
		// Overdue, on a connection to something else, only connecting, for what is known to
		// be there although its end was not heard of, or for more than the one who comes
		// first needs: nobody must have to wait for that.
		if now.Before(h.ends) && h.now.run == run && h.now.to > r.known && !h.beyond(t.lsn) {
			return h.ends
		}
		return time.Time{}
	case now.Sub(h.began) < pollFirst:
		return h.began.Add(pollFirst) // however quickly one wait follows the other
	}
	if h.ask == nil {
		h.ask = make(chan hang, 1)
		start(r.waits)
	}
	h.now = hang{run: run, to: t.lsn, most: t.until.Sub(now)}
	if !h.connected || h.run != run {
		h.now.to = 0 // polled meanwhile: to connect takes longer than most waits
	}
	h.busy, h.began, h.ends = true, now, t.until.Add(hangSlack)
	h.ask <- h.now
	if h.now.to == 0 {
		return time.Time{}
	}
	return h.ends
}

// waits is the goroutine that waits on the server, for everybody.
func (r *replica) waits() {
	for {
		var h hang
		select {
		case <-r.ctx.Done():
			return
		case h = <-r.hangs.ask:
		}
		ctx, cancel := context.WithTimeout(r.ctx, h.most+r.m.cfg.SampleTimeout)
		began := time.Now()
		err := r.hangs.waiter.AwaitReplay(ctx, h.run, h.to, h.most)
		cancel()
		r.hung(h, time.Since(began), err)
	}
}

// hung takes in that a wait has ended, and has the position asked for.
func (r *replica) hung(done hang, took time.Duration, err error) {
	r.m.mu.Lock()
	h, now := &r.hangs, time.Now()
	h.busy = false
	switch {
	case r.ctx.Err() != nil:
	case errors.Is(err, ErrCannotWait):
		h.refused = r.server
	case err != nil:
		h.failed(now)
	case done.to == 0:
		h.connected, h.run = true, done.run
	case took < done.most-time.Millisecond:
		h.early, h.earlyAt = done.to, now
	}
	r.m.mu.Unlock()
	r.wake()
}

// failed bans waits for a while. What waits is polled for.
func (h *hangs) failed(now time.Time) {
	h.connected = false
	h.banned = now.Add(min(hangBan<<min(h.fails, 20), mostHangBan))
	h.fails++
}

// judgeHang compares what a wait said with a sample that began after it. A server that
// says at once, again and again, what is not so (the connection leads to another server
// than the samples come from) is not asked. The caller holds Monitor.mu.
func (r *replica) judgeHang(began time.Time, s *lsn.Sample) {
	h := &r.hangs
	if h.early == 0 || began.Before(h.earlyAt) {
		return
	}
	if s.InRecovery && s.Replay < h.early {
		h.failed(began)
	} else {
		h.fails = 0
	}
	h.early = 0
}
