package httpsession

import (
	"cmp"
	"context"
	"slices"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// Identify says who sends the request of ctx, for the Store, where Options.User cannot
// know it: from the middleware that has found out. The session sees from now on what the
// store has of user, and the response tells the store what the request has written. It
// asks the store once; an empty user does nothing. It never fails.
func Identify(ctx context.Context, user string) {
	if q, ok := ctx.Value(insideKey{}).(*request); ok {
		q.recall(user)
	}
}

// recall joins what the store has of the user who sends the request, and what it should
// have.
func (q *request) recall(user string) {
	o := &q.of.opts
	if o.Store == nil || user == "" {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.user == user {
		return
	}
	q.user = user
	before := q.session.Changed()
	defer func() { q.byStore = !before && q.session.Changed() }()
	brought := session.Token{}
	if len(q.cookies)+len(q.headers) > 0 {
		brought = q.session.ExportNow()
	}
	ctx, cancel := context.WithTimeout(q.ctx, o.Wait)
	defer cancel()
	t, err := o.Store.Load(ctx, user)
	switch {
	case err == nil:
		q.behind = !covers(t, brought)
		q.session.JoinToken(t)
	case q.ctx.Err() == nil:
		q.of.counters.loadFailed.Add(1)
		q.storeFails("Load", err)
		q.session.Doubt()
	default: // the client has gone
		q.session.DoubtAlone()
	}
	var lost bool
	if q.debts, lost = q.of.debts.of(user); lost {
		q.session.DoubtAlone() // this process knows what it wrote
	}
	for _, d := range q.debts {
		q.session.JoinToken(d.token)
	}
}

// covers reports whether t says all that other says: a user who wrote before it was
// known who they are brings it with them. Of two histories of one database the later
// counts, as in a store, or a store would be told of the other with every request.
func covers(t, other session.Token) bool {
	for _, p := range other.Positions {
		i := slices.IndexFunc(t.Positions, func(have lsn.Position) bool { return have.System == p.System })
		if i < 0 {
			return false
		}
		switch have := t.Positions[i]; lsn.Compare(have, p) {
		case lsn.Before:
			return false
		case lsn.Incomparable:
			if cmp.Or(cmp.Compare(have.Timeline, p.Timeline), cmp.Compare(have.Incarnation, p.Incarnation)) < 0 {
				return false
			}
		}
	}
	return true
}

// tellStore tells the store alone, of what was written after the header had gone out.
func (q *request) tellStore() {
	if q.of.opts.Store == nil {
		return
	}
	if t := q.export(); !t.Expires.IsZero() {
		q.keep(t)
	}
}

// keep gives t to the store, and returns what the carrier says. Where the store does not
// take it, other processes do not know: the carrier says "unsure", and this process
// knows by itself.
func (q *request) keep(t session.Token) (says session.Token, doubtful bool) {
	o := &q.of.opts
	if o.Store == nil {
		return t, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	did := q.did() || q.session.InTransaction()
	if q.user == "" {
		if o.Carry == None && did {
			q.of.counters.nameless.Add(1)
			q.of.mistake(wroteNameless, q.place(), remedyNameless)
		}
		return t, false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.ctx), o.Wait)
	defer cancel()
	err := o.Store.Advance(ctx, q.user, t)
	if err == nil {
		q.of.debts.paid(q.user, q.debts)
		q.debts, q.behind = nil, false
		q.of.storeWorks()
		return t, false
	}
	q.of.counters.advanceFailed.Add(1)
	q.storeFails("Advance", err)
	if !did && len(q.debts) == 0 {
		return t, false // the client brings it again
	}
	q.session.DoubtAlone() // this process knows what it wrote
	doubt := q.session.ExportNow()
	if did {
		owed := q.of.debts.owe(q.user, t, doubt.Unsure)
		q.of.debts.paid(q.user, q.debts) // t says what they said
		if q.debts = nil; owed != nil {
			q.debts = []*debt{owed}
		}
	}
	return doubt, true
}
