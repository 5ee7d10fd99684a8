package grpcsession

import (
	"context"
	"sync"
	"time"
)

// recall joins what the store has of the user who calls.
func (c *call) recall() {
	o := &c.of.opts
	if o.Store == nil {
		return
	}
	if c.user = o.User(c.ctx); c.user == "" {
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, o.Wait)
	defer cancel()
	t, err := o.Store.Load(ctx, c.user)
	switch {
	case err != nil && c.ctx.Err() != nil: // the caller has gone, or gave it no time
		c.session.DoubtAlone()
	case err != nil:
		c.of.counters.store.Add(1)
		c.session.Doubt()
	case c.of.doubts.has(c.user):
		c.session.JoinToken(t)
		c.session.DoubtAlone() // this process knows what it wrote
	default:
		c.session.JoinToken(t)
	}
}

// keep gives the store what the session must see. Where the store does not take it,
// the answer says "unsure", and this process keeps the user in doubt by itself: the
// next call may come without metadata.
func (c *call) keep() {
	o := &c.of.opts
	if o.Store == nil || c.user == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), o.Wait)
	defer cancel()
	t, err := c.session.Export(ctx)
	if err != nil { // a transaction is open
		t = c.session.ExportNow()
	}
	if t.Expires.IsZero() {
		return
	}
	if o.Store.Advance(ctx, c.user, t) == nil {
		return
	}
	c.of.counters.store.Add(1)
	c.session.DoubtAlone()
	c.of.doubts.add(c.user, c.session.ExportNow().Unsure)
}

// mostDoubts bounds the users that are remembered; beyond it everybody is in doubt.
const mostDoubts = 4096

// doubts are users of whom the store does not know everything.
type doubts struct {
	mu       sync.Mutex
	users    map[string]time.Time // until when
	everyone time.Time
}

func (d *doubts) has(user string) bool {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	return now.Before(d.everyone) || now.Before(d.users[user])
}

func (d *doubts) add(user string, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users == nil {
		d.users = make(map[string]time.Time)
	}
	if len(d.users) >= mostDoubts {
		now := time.Now()
		for u, t := range d.users {
			if !now.Before(t) {
				delete(d.users, u)
			}
		}
	}
	switch _, known := d.users[user]; {
	case !known && len(d.users) >= mostDoubts:
		if until.After(d.everyone) {
			d.everyone = until
		}
	case until.After(d.users[user]):
		d.users[user] = until
	}
}
