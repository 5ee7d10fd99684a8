package readsplit

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// check is what a read on a balanced name has to be shown. It is judged on the
// connection that the read runs on, by the rules that judge every replica, and before
// the read: in READ COMMITTED each statement sees what was replayed before it.
type check struct {
	server *server
	query  policy.Query
	until  time.Time // no wait for the server lasts longer

	tried   int           // connections that were unfit
	why     policy.Reason // of the newest of them
	avoid   []lsn.Server  // whom they led to
	reason  policy.Reason // why the read may run where it runs
	facts   policy.Replica
	capture uint64 // the first that covers what the read has shown
	other   *check // on another name, which had its turn before
}

// mostUnfit is how many connections to one name are found unfit before the read goes
// elsewhere: the first, and two others.
const mostUnfit = 3

const (
	// roleFor is for how long a connection is believed to lead to a replica where the
	// read asks for nothing else.
	roleFor = 15 * time.Second
	// hopelessFor is for how long a server that was far behind is taken to be so still.
	hopelessFor = 50 * time.Millisecond
	// firstPause is how long a read waits before it asks a server again that has not
	// replayed what it needs; each pause is half as long again as the one before.
	firstPause = 200 * time.Microsecond
)

// checkOf is the check of a read on s, with what it has been through there. It is kept
// while another name has its turn: a read that began to count anew with each turn would
// go from one to the other for ever.
func (r *route) checkOf(s *server) *check {
	var before *check
	d := r.strays()
	for c := d.check; c != nil; before, c = c, c.other {
		if c.server != s {
			continue
		}
		if before != nil {
			before.other, c.other, d.check = c.other, d.check, c
		}
		return c
	}
	d.check = &check{server: s, other: d.check}
	return d.check
}

// checks notes what a read asks for that was decided for a balanced name.
func (r *route) checks(s *server, q *query) {
	c := r.checkOf(s)
	c.query, c.reason, c.capture = q.Query, 0, 0
	c.query.Exclude, c.query.TryEjected = 0, true // both were judged
	c.until = q.until()
}

// free reports whether the read asks for nothing but a replica.
func (c *check) free() bool {
	q := &c.query
	if len(c.server.router().cfg.Policies) > 0 {
		return false
	}
	return q.Mode == policy.AnyReplica || q.Mode == policy.Stale && q.Need.Zero()
}

// judged are the snapshots of one replica each that checks decide by, reused: a read
// whose connection is known to be right must not pay an allocation for it.
var judged = sync.Pool{New: func() any { return new(policy.Snapshot) }}

// judge decides about the read for the server that facts tell of, and no other.
func (c *check) judge(facts *policy.Replica, now time.Time) policy.Decision {
	s, rt := c.server, c.server.router()
	snap := rt.monitor.Snapshot()
	alone := judged.Get().(*policy.Snapshot)
	defer judged.Put(alone)
	alone.Primary = snap.Primary
	alone.Replicas = alone.Replicas[:0]
	for range max(len(snap.Replicas), s.index+1) {
		alone.Replicas = append(alone.Replicas, policy.Replica{Gone: true})
	}
	one := &alone.Replicas[s.index]
	*one = *facts
	if one.Applied.History != snap.Primary.Position.History {
		// The primary has changed since: what was shown was of the history before.
		one.Applied, one.ReplayedAt = lsn.Position{}, time.Time{}
	}
	return rt.decider.Decide(&c.query, alone, rt, now)
}

// pass finds out whether the server at the other end of h shows what the read asks
// for. begun says that a transaction was begun, which the read must run in. The error
// is an *unfit where the read may go elsewhere.
func (c *check) pass(ctx context.Context, h *heldConn) (begun bool, err error) {
	l := h.link
	if l == nil {
		// From before the name was known to be one of several servers.
		h.dead.Store(true)
		return false, driver.ErrBadConn
	}
	if !l.direct {
		if err := c.ask(ctx, h, lsn.BeginSQL, c.server.brief()); err != nil {
			return false, err
		}
		if err := h.applyLocal(ctx); err != nil {
			h.end(ctx)
			return false, err
		}
		return true, nil
	}
	return false, c.known(ctx, h)
}

// known is pass on a connection whose server stays the same: what it has shown once
// counts, as long as it is young enough.
func (c *check) known(ctx context.Context, h *heldConn) error {
	l, now := h.link, time.Now()
	if c.free() && now.Sub(l.facts.Sampled) < roleFor {
		c.facts = l.facts
		return nil
	}
	d := c.judge(&l.facts, now)
	switch {
	case d.Target == policy.ToReplica:
		c.passed(d, l.facts)
		return nil
	case c.hopeless(&l.facts, now):
		return c.fails(h, d.Reason, nil)
	}
	return c.ask(ctx, h, c.server.full())
}

// hopeless reports whether a server was, a moment ago, so far behind that asking it
// again would only cost a round trip.
func (c *check) hopeless(f *policy.Replica, now time.Time) bool {
	if now.Sub(f.Sampled) > hopelessFor || f.Applied.Zero() || f.ReplayedAt.IsZero() {
		return false
	}
	behind := f.Sampled.Sub(f.ReplayedAt)
	return behind > 2*c.server.router().cfg.SampleEvery && f.Applied.History == c.server.monitor.Snapshot().Primary.Position.History
}

// ask asks the server, and again while it may get there in time.
func (c *check) ask(ctx context.Context, h *heldConn, statements ...string) error {
	begun := len(statements) > 1
	pause, waited := firstPause, false
	for {
		asks := c.server.asks
		if !h.link.direct {
			asks = c.server.asksBriefly
		}
		// Each question has its time: one that ended while the read waits is no sign of a
		// server that hangs, for which everybody would be broken off there.
		limited, cancel := context.WithTimeout(ctx, c.server.router().cfg.SampleTimeout)
		answer, facts, err := asks(limited, h, statements...)
		cancel()
		if err != nil {
			return c.lost(ctx, h, err)
		}
		l := h.link
		if l.direct && (answer.Server != l.at || answer.BackendPID != l.pid) {
			h.dead.Store(true) // something in between is not what it was taken for
			return c.fails(h, policy.ReasonBalanced, nil)
		}
		if l.direct {
			l.facts = facts
		} else if answer.Isolation != "read committed" {
			// Its snapshot may be older than the position.
			return c.fails(h, policy.ReasonBalanced, nil)
		}
		now := time.Now()
		d := c.judge(&facts, now)
		left := c.until.Sub(now)
		switch {
		case d.Target == policy.ToReplica:
			c.passed(d, facts)
			return nil
		case d.Target == policy.Wait && left > 0 && rest(ctx, min(pause, left)):
			c.query.Waited, waited = max(c.query.Waited, time.Nanosecond)+pause, true
			pause += pause / 2
			statements = statements[len(statements)-1:]
			continue
		}
		if waited {
			c.server.monitor.WaitedInVain(c.server.index, answer.Server)
		}
		if begun {
			h.end(ctx)
		}
		if l.direct && facts.Role != policy.RoleStandby && !facts.AllowPrimary {
			c.server.leave(l.at)
		}
		return c.fails(h, d.Reason, nil)
	}
}

// rest waits for d and reports whether ctx lasted as long.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *check) passed(d policy.Decision, facts policy.Replica) {
	c.reason, c.facts = d.Reason, facts
}

// fails says that h is unfit.
func (c *check) fails(h *heldConn, reason policy.Reason, err error) error {
	if h.link.direct {
		c.avoid = append(c.avoid, h.link.at)
	}
	return &unfit{reason, err}
}

// lost judges a question that got no answer: another connection may.
func (c *check) lost(ctx context.Context, h *heldConn, err error) error {
	h.dead.Store(true)
	if ctx.Err() != nil {
		return err // the caller has gone
	}
	if h.link.direct && isTimeout(err) {
		// A frozen server gives no error, and whatever else runs there waits for nothing.
		c.server.leave(h.link.at)
	}
	return c.fails(h, policy.ReasonDown, err)
}

// isTimeout reports whether an answer did not come in time.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
