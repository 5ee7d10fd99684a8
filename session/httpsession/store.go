package httpsession

import (
	"context"
	"net/http"

	"github.com/readsplit/readsplit/session"
)

// recall joins what the store has of the user who sends r, and what it should have.
func (q *request) recall(r *http.Request) {
	o := &q.of.opts
	if o.Store == nil {
		return
	}
	if q.user = o.User(r); q.user == "" {
		return
	}
	ctx, cancel := context.WithTimeout(q.ctx, o.Wait)
	defer cancel()
	t, err := o.Store.Load(ctx, q.user)
	if err != nil {
		q.of.counters.loadFailed.Add(1)
		q.storeFails("Load", err)
		q.session.Doubt()
	} else {
		q.session.JoinToken(t)
	}
	var lost bool
	if q.debts, lost = q.of.debts.of(q.user); lost {
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
	if o.Store == nil || q.user == "" {
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
