package httpsession

import (
	"slices"
	"sync"
	"time"

	"github.com/readsplit/readsplit/session"
)

const (
	mostDebtors = 4096 // users of whom something is kept
	mostDebts   = 8    // of one user
)

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

// owe remembers t. Where there is no room, everybody is in doubt until the time by
// which replicas have it.
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
	if len(have) >= mostDebts || !known && len(d.byUser) >= mostDebtors {
		if until.After(d.forgotten) {
			d.forgotten = until
		}
		return owed
	}
	d.byUser[user] = append(have, owed)
	return owed
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
