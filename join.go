package readsplit

import (
	"time"

	"github.com/readsplit/readsplit/session"
)

// arrival is a token that was joined.
type arrival struct {
	text  string
	token Token
	// trusted says that token is what counts: it comes from where this process
	// keeps what it wrote, and no signature is asked for.
	trusted bool
}

// earlyTokens bounds the tokens that are kept for a plugin that is not there yet.
const earlyTokens = 8

// tooManyTokens stands for those that were not kept. It is no token, and so makes
// the session unsure.
const tooManyTokens = "too many"

// Join makes s see what a session saw from which Token took its text, on this
// process or another: the further of the two counts. It never fails and asks no
// server. Of the tokens of several services (Config.Service) s sees its own, and
// keeps the others for its token. A text that is forged, truncated, outdated or of another cluster keeps
// s on the primary for Config.StickyWindow and is counted in Status; an empty
// text does nothing.
func (s *Session) Join(token string) {
	if token != "" {
		s.keep(token, "")
		s.arrive(arrival{text: token})
	}
}

// JoinToken is Join with a token that was kept where nobody else can write, such as
// a session.Store: no signature is asked for.
func (s *Session) JoinToken(t Token) {
	if len(t.Positions) > 0 || !t.Unsure.IsZero() {
		s.arrive(arrival{token: t, trusted: true})
	}
}

// Doubt keeps s on the primary for Config.StickyWindow, after which it sees at least
// what the primary has then. It is for carriers that have lost what they carried: a
// store that cannot be reached, a message without its token.
func (s *Session) Doubt() {
	now := time.Now()
	s.JoinToken(Token{Issued: now, Expires: now.Add(session.MaxTokenLifetime), Unsure: now.Add(session.MaxTokenLifetime)})
}

func (s *Session) arrive(a arrival) {
	all := plugins.all()
	for _, rt := range all {
		rt.acceptArrival(s, s.ledgerOf(rt), a)
	}
	if len(all) > 0 {
		return
	}
	// No plugin is in use yet, and only a plugin has the keys and the positions.
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.tokens) > earlyTokens:
		return
	case len(s.tokens) == earlyTokens:
		a = arrival{text: tooManyTokens}
	}
	s.tokens = append(s.tokens, a)
	s.joined.Store(int32(len(s.tokens)))
}

// acceptTokens judges the tokens that were joined to s and that p has not seen
// yet. What cannot be trusted makes the session unsure and is counted; it is
// never an error.
func (rt *router) acceptTokens(s *Session, l *ledger) {
	s.mu.Lock()
	done := int(l.accepted.Load())
	tokens := s.tokens[done:]
	s.mu.Unlock()
	for _, a := range tokens {
		rt.acceptArrival(s, l, a)
	}
	l.accepted.Store(int32(done + len(tokens)))
}

// acceptArrival accepts what of a is of rt's service.
func (rt *router) acceptArrival(s *Session, l *ledger, a arrival) {
	if a.trusted {
		rt.accept(s, l, a)
		return
	}
	for _, text := range rt.parts(a.text) {
		rt.accept(s, l, arrival{text: text})
	}
}

func (rt *router) accept(s *Session, l *ledger, a arrival) {
	now := time.Now()
	window := now.Add(rt.cfg.StickyWindow)
	t, expired, signed := a.token, false, true
	if a.trusted {
		expired = !now.Before(t.Expires)
	} else {
		var err error
		t, err = rt.keys.Decode(a.text, now)
		if expired = isExpired(err); err != nil && !expired {
			rt.counters.tokensRefused.Add(1)
			s.changed.Store(true)
			l.claim.update(func(c session.Claim) session.Claim { return c.AfterUnsure(window, now) })
			return
		}
		signed = len(rt.cfg.TokenKeys) > 0
	}
	if expired {
		rt.counters.tokensExpired.Add(1)
	}
	doubt := func(until time.Time) {
		s.changed.Store(true)
		after := func(c session.Claim) session.Claim { return c.AfterUnsure(until, now) }
		l.claim.update(after)
		if signed {
			rt.heard.update(after) // else anybody could send everybody to the primary
		}
	}
	h := rt.history()
	switch {
	case t.Unsure.After(now):
		// Until then and no longer, or a user who comes often would never leave the
		// primary again; and no longer than a window from now: the other process's
		// clock may be wrong.
		if t.Unsure.Before(window) {
			doubt(now.Add(t.Unsure.Sub(now)))
		} else {
			doubt(window)
		}
	case !t.Unsure.IsZero():
		// The doubt is over, but what it was about may have happened: the session
		// sees at least what the primary has now.
		next := rt.monitor.NextCapture()
		after := func(c session.Claim) session.Claim { return c.AfterDoubt(next, h) }
		s.changed.Store(true) // its next token has a position instead
		l.claim.update(after)
		rt.heard.update(after)
	}
	known := false
	for _, pos := range t.Positions {
		switch {
		case pos.System != h.System:
			if plugins.knows(pos.System) {
				known = true
			} else {
				s.carry(pos) // of a database that only others know
			}
			continue
		case pos.History == h:
			next := rt.monitor.NextCapture()
			l.claim.update(func(c session.Claim) session.Claim {
				joined, ok := c.Join(pos, next, now)
				if !ok {
					return c.AfterUnsure(window, now)
				}
				return joined
			})
			if signed {
				next = 0 // it is as genuine as what this process wrote
			}
			rt.heard.update(func(c session.Claim) session.Claim {
				joined, ok := c.Join(pos, next, now)
				if !ok {
					return c.AfterDoubt(rt.monitor.NextCapture(), h) // of before a failover
				}
				return joined
			})
		case !expired:
			rt.counters.tokensForeign.Add(1)
			doubt(window)
		}
		known = true
	}
	if !known && len(t.Positions) > 0 && !expired {
		rt.counters.tokensForeign.Add(1)
		doubt(window)
	}
}
