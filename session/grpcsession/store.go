package grpcsession

import (
	"context"
	"sync"
	"time"

	"github.com/readsplit/readsplit/session"
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
	case err == nil:
		c.session.JoinToken(t)
	case c.ctx.Err() != nil: // the caller has gone, or gave it no time
		c.session.DoubtAlone()
	default:
		c.of.counters.store.Add(1)
		c.session.Doubt()
	}
	var lost bool
	if c.owed, lost = c.of.debts.of(c.user); c.owed != nil {
		c.session.JoinToken(*c.owed)
	}
	if lost {
		c.session.DoubtAlone() // this process knows what it wrote
	}
}

// keep gives the store what the session must see. Where the store does not take it,
// the answer says "unsure", and this process remembers it by itself: the next call may
// come without metadata, and tells the store.
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
		c.of.debts.paid(c.user, c.owed)
		return
	}
	c.of.counters.store.Add(1)
	c.session.DoubtAlone()
	c.of.debts.add(c.user, c.session.ExportNow())
}

// mostDebtors bounds the users that are remembered; beyond it everybody is in doubt.
const mostDebtors = 4096

// debts are what the store does not know of its users.
type debts struct {
	mu       sync.Mutex
	users    map[string]*session.Token
	everyone time.Time // until when
}

// of returns what the store lacks of a user; lost says that it may be more.
func (d *debts) of(user string) (owed *session.Token, lost bool) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if owed = d.users[user]; owed != nil && !now.Before(owed.Expires) {
		owed = nil
	}
	return owed, now.Before(d.everyone)
}

// add remembers t until it counts no longer: when its doubt is over, the position that
// the store lacks is still needed.
func (d *debts) add(user string, t session.Token) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users == nil {
		d.users = make(map[string]*session.Token)
	}
	if len(d.users) >= mostDebtors {
		now := time.Now()
		for u, have := range d.users {
			if !now.Before(have.Expires) {
				delete(d.users, u)
			}
		}
	}
	have := d.users[user]
	if have == nil && len(d.users) >= mostDebtors {
		if t.Unsure.After(d.everyone) {
			d.everyone = t.Unsure
		}
		return
	}
	if have != nil {
		t = t.Merge(*have)
	}
	d.users[user] = &t
}

// paid forgets what the store has taken after all, unless it is more by now.
func (d *debts) paid(user string, owed *session.Token) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if owed != nil && d.users[user] == owed {
		delete(d.users, user)
	}
}
