package httpsession

import (
	"slices"
	"sync"
	"time"

	"github.com/readsplit/readsplit/session"
)

// mostDebtors is of how many users something is kept.
const mostDebtors = 4096

// mostDebts is how many debts of one user are kept apart, so that each can be paid by
// the response that knows it. More become one: a user who sends ten forms at once must
// not put everybody in doubt.
const mostDebts = 8

// debts are what the store has not taken: this process remembers it, so that what a
// user wrote here they see here although the store is down. The next response to them
// tries again.
type debts struct {
	mu     sync.Mutex
	byUser map[string][]*debt
	// forgotten is until when everybody is in doubt, because there was no room.
	forgotten time.Time
}

type debt struct{ token session.Token }

// of returns what the store lacks of a user. lost says that it may be more.
func (d *debts) of(user string) (owed []*debt, lost bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for _, o := range d.byUser[user] {
		if now.Before(o.token.Expires) {
			owed = append(owed, o)
		}
	}
	return owed, now.Before(d.forgotten)
}

// owe remembers t, and returns what pays it. It returns nil where that says more than t,
// and is left to whoever is told of it. Where there is no room, everybody is in doubt
// until the time by which replicas have it.
func (d *debts) owe(user string, t session.Token, until time.Time) *debt {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byUser == nil {
		d.byUser = make(map[string][]*debt)
	}
	have, known := d.byUser[user]
	if !known && len(d.byUser) >= mostDebtors {
		d.outdated(time.Now())
	}
	owed := &debt{t}
	if !known && len(d.byUser) >= mostDebtors {
		if until.After(d.forgotten) {
			d.forgotten = until
		}
		return owed
	}
	if len(have) < mostDebts {
		d.byUser[user] = append(have, owed)
		return owed
	}
	for _, o := range have {
		owed.token = owed.token.Merge(o.token)
	}
	d.byUser[user] = []*debt{owed}
	return nil
}

// outdated forgets what counts no longer.
func (d *debts) outdated(now time.Time) {
	for user, have := range d.byUser {
		have = slices.DeleteFunc(have, func(o *debt) bool { return !now.Before(o.token.Expires) })
		if len(have) == 0 {
			delete(d.byUser, user)
		} else {
			d.byUser[user] = have
		}
	}
}

// paid forgets what the store has taken after all.
func (d *debts) paid(user string, paid []*debt) {
	if len(paid) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	have := slices.DeleteFunc(d.byUser[user], func(o *debt) bool { return slices.Contains(paid, o) })
	if len(have) == 0 {
		delete(d.byUser, user)
	} else {
		d.byUser[user] = have
	}
}
