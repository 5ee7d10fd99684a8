package httpsession

import (
	"context"

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
	ctx, cancel := context.WithTimeout(q.ctx, o.Wait)
	defer cancel()
	t, err := o.Store.Load(ctx, user)
	switch {
	case err == nil:
		q.session.JoinToken(t)
	case q.ctx.Err() == nil:
		q.of.counters.loadFailed.Add(1)
		q.storeFails("Load", err)
		fallthrough
	default: // the client has gone
		q.session.Doubt()
	}
	var lost bool
	if q.debts, lost = q.of.debts.of(user); lost {
		q.session.Doubt()
	}
	for _, d := range q.debts {
		q.session.JoinToken(d.token)
	}
}

// keep gives t to the store, and returns what the carrier says. Where the store does not
// take it, other processes do not know: the carrier says "unsure", and this process
// knows by itself.
func (q *request) keep(t session.Token) session.Token {
	o := &q.of.opts
	if o.Store == nil {
		return t
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.user == "" {
		if o.Carry == None && q.did() {
			q.of.counters.nameless.Add(1)
			q.of.mistake(wroteNameless, q.place(), remedyNameless)
		}
		return t
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.ctx), o.Wait)
	defer cancel()
	err := o.Store.Advance(ctx, q.user, t)
	if err == nil {
		q.of.debts.paid(q.user, q.debts)
		q.debts = nil
		q.of.storeWorks()
		return t
	}
	q.of.counters.advanceFailed.Add(1)
	q.storeFails("Advance", err)
	q.session.Doubt()
	doubt := q.session.ExportNow()
	if q.did() || q.session.InTransaction() {
		owed := q.of.debts.owe(q.user, t, doubt.Unsure)
		q.of.debts.paid(q.user, q.debts) // t says what they said
		q.debts = []*debt{owed}
	}
	return doubt
}
