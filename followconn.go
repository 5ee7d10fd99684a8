package readsplit

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/lsn"
)

// dialLimit bounds an attempt to connect whose caller has no deadline, as
// database/sql's own goroutine: a host that is cut off would hold it for ever.
const dialLimit = 10 * time.Second

// followConnector opens the connections to the primary that was elected.
type followConnector struct {
	f        *follower
	settings bool // its connections set what Config.Settings says
}

// Driver implements driver.Connector.
func (c followConnector) Driver() driver.Driver { return c.f.dialers[0].db.Driver() }

// Connect implements driver.Connector. When another server is elected meanwhile,
// the attempt starts over there: nobody waits for a host that is gone.
func (c followConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialLimit)
		defer cancel()
	}
	var first <-chan time.Time
	for {
		t := c.f.aim()
		if t.err != nil {
			c.f.watch.Poke()
			if c.f.watch.Outcome().State != failover.Unknown {
				return nil, t.err
			}
			// Nobody has been heard of yet: the process has just started, on a machine
			// that is busy, or beside a host that does not answer. One round of
			// questions is waited for.
			if first == nil {
				timer := time.NewTimer(c.f.of.cfg.SampleTimeout)
				defer timer.Stop()
				first = timer.C
			}
			select {
			case <-t.life.Done():
				if !errors.Is(context.Cause(t.life), errClosedPool) {
					continue
				}
			case <-first:
			case <-ctx.Done():
			}
			return nil, t.err
		}
		h, err := c.f.connect(ctx, t, c.settings)
		switch {
		case err == nil:
			return h, nil
		case ctx.Err() == nil && t.life.Err() != nil && !errors.Is(context.Cause(t.life), errClosedPool):
			continue
		default:
			c.f.watch.Poke()
			return nil, err
		}
	}
}

// connect opens a connection to t, and asks it what it reached before anybody can
// use it.
func (f *follower) connect(ctx context.Context, t *target, settings bool) (*heldConn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.life, func() { cancel(context.Cause(t.life)) })()
	h, err := f.dialers[t.host].dial(ctx)
	if err != nil {
		return nil, err
	}
	h.follows = true
	role, err := askRole(ctx, h)
	if err == nil {
		err = f.check(ctx, t, role)
	}
	if err != nil {
		_ = h.Close()
		return nil, err
	}
	if settings { // what was asked until here is the plugin's own
		h.settings = applied{wanted: f.of.plugin.wanted, changed: f.of.settingsChanged}
	}
	f.mu.Lock()
	if f.target == t {
		f.conns[h] = role.Server
	}
	h.released = func() {
		f.mu.Lock()
		delete(f.conns, h)
		f.mu.Unlock()
	}
	f.mu.Unlock()
	if err := context.Cause(t.life); err != nil {
		_ = h.Close()
		return nil, err
	}
	return h, nil
}

func askRole(ctx context.Context, h *heldConn) (lsn.Role, error) {
	text, err := askDriver(ctx, h, lsn.RoleSQL)
	if err != nil {
		return lsn.Role{}, err
	}
	return lsn.ParseRole(text)
}

// check reports whether a connection reached the server that was elected. If it did
// not, the host is asked what that means, and the election judges.
func (f *follower) check(ctx context.Context, t *target, r lsn.Role) error {
	if !r.InRecovery && sameRun(r.Server, t.server) && r.Timeline >= t.highest {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, f.of.cfg.SampleTimeout)
	defer cancel()
	if err := f.watch.Ask(ctx, t.host); err != nil && t.life.Err() == nil {
		return err
	}
	what := "another server than the one that was elected"
	if r.InRecovery {
		what = "a standby"
	}
	return fmt.Errorf("%w: %q is %s now", failover.ErrNoPrimary, f.hosts[t.host].Name, what)
}
