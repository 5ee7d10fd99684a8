package readsplit

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/readsplit/readsplit/lsn"
)

// original is the router that rt stands in for, or rt itself.
func (rt *router) original() *router {
	if rt.of != nil {
		return rt.of
	}
	return rt
}

// standIn returns what decides for rt in the rehearsal. Everything that statements
// change is a copy; what it shares is read alone.
func (h *rehearsal) standIn(rt *router) *router {
	if s := h.routers[rt]; s != nil {
		return s
	}
	s := &router{
		of: rt, rehearsal: h,
		plugin: rt.plugin, name: rt.name, field: rt.field, cfg: rt.cfg, dialect: rt.dialect, database: rt.database,
		monitor: rt.monitor, decider: rt.decider, catalog: rt.catalog, maxWait: rt.maxWait, keys: rt.keys,
		watched: rt.watched, heldPrimary: rt.heldPrimary, budget: rt.budget, conflicts: rt.conflicts,
		seed: rt.seed, startClaim: rt.startClaim, inUse: rt.inUse,
	}
	h.routers[rt] = s
	s.asks = mute{h, s}
	s.members.named.Store(rt.members.named.Load())
	s.judging.Store(rt.judging.Load())
	s.closed.Store(rt.closed.Load())
	s.ticket.Store(rt.ticket.Load())
	// Claims are never changed, but replaced.
	rt.process.copyTo(&s.process)
	rt.unscoped.copyTo(&s.unscoped)
	rt.heard.copyTo(&s.heard)

	rt.rumours.mu.Lock()
	s.rumours.list = slices.Clone(rt.rumours.list)
	rt.rumours.mu.Unlock()
	s.rumours.n.Store(int32(len(s.rumours.list)))

	h.openRows(rt, s)
	h.foreignTxs(rt, s)
	return s
}

// openRows copies which rows are open whose writes are not known yet.
func (h *rehearsal) openRows(rt, s *router) {
	rt.openRows.mu.Lock()
	list := slices.Clone(rt.openRows.list)
	rt.openRows.mu.Unlock()
	for i := range list {
		list[i].marks = h.marks(list[i].marks)
	}
	s.openRows.list = list
	s.openRows.n.Store(int32(len(list)))
}

// foreignTxs copies which transactions are watched for their end.
func (h *rehearsal) foreignTxs(rt, s *router) {
	rt.foreign.mu.Lock()
	list := slices.Clone(rt.foreign.list)
	rt.foreign.mu.Unlock()
	var all []foreignTx
	for _, t := range list {
		whose := []*marks{t.marks}
		if t.tracked != nil {
			whose = t.tracked.concerned()
		}
		if t.everybody {
			whose = append(whose, noMarks)
		}
		for _, m := range whose {
			all = append(all, foreignTx{tx: t.tx, marks: h.marks(m)})
		}
	}
	s.foreign.list = all
	s.foreign.n.Store(int32(len(all)))
}

// sharing returns the stand-ins for all that share a stand-in's primary.
func (h *rehearsal) sharing(rt *router) []*router {
	var all []*router
	for _, q := range plugins.sharing(rt.of) {
		all = append(all, h.standIn(q))
	}
	return all
}

// marked returns ctx with copies of whose reads and writes follow.
func (h *rehearsal) marked(ctx context.Context) context.Context {
	return context.WithValue(ctx, marksKey{}, h.marks(marksOf(ctx)))
}

func (h *rehearsal) marks(m *marks) *marks {
	if m.session == nil && m.request == nil {
		return m
	}
	c := *m
	c.session, c.request = h.session(m.session), h.request(m.request)
	return &c
}

func (h *rehearsal) request(r *request) *request {
	if r == nil {
		return nil
	}
	if c := h.requests[r]; c != nil {
		return c
	}
	c := &request{}
	c.wrote.Store(r.wrote.Load())
	c.held.Store(r.held.Load())
	h.requests[r] = c
	return c
}

func (h *rehearsal) session(s *Session) *Session {
	if s == nil {
		return nil
	}
	if c := h.sessions[s]; c != nil {
		return c
	}
	c := &Session{born: s.born}
	h.sessions[s] = c
	s.mu.Lock()
	c.tokens = slices.Clone(s.tokens)
	s.mu.Unlock()
	c.joined.Store(int32(len(c.tokens)))
	same(&c.open, &s.open)
	same(&c.level, &s.level)
	c.covers.Store(s.covers.Load())
	c.affinity.Store(s.affinity.Load())
	c.keeps.Store(s.keeps.Load())
	for i, l := range s.ledgers() {
		to := &c.first
		if i > 0 {
			to = &ledger{}
			c.more = append(c.more, to)
		}
		to.plugin.Store(h.standIn(l.plugin.Load()))
		l.claim.copyTo(&to.claim)
		to.seen.Store(l.seen.Load())
		same(&to.accepted, &l.accepted)
	}
	return c
}

func same(to, from *atomic.Int32) { to.Store(from.Load()) }

// wrote takes in that a statement of the rehearsal has written: what it reads next
// must see that.
func (h *rehearsal) wrote(ctx context.Context, rt *router, e effect) {
	if !e.none {
		rt.wrote(marksOf(ctx), e.insert, e.everybody, lsn.History{})
	}
}
