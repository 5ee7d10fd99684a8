package readsplit

import (
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/session"
)

// arrival is a token that was joined.
type arrival struct {
	text  string
	token Token
	// trusted says that token is what counts: it comes from where this process
	// keeps what it wrote, and no signature is asked for.
	trusted bool
	// alone says that it binds the session and nobody else.
	alone bool
}

// earlyTokens bounds the tokens that are kept for a plugin that is not there yet.
const earlyTokens = 8

// tooManyTokens stands for those that were not kept. It is no token, and so makes
// the session unsure.
const tooManyTokens = "too many"

// Join makes s see what a session saw from which Token took its text, on this
// process or another: the further of the two counts. It never fails and asks no
// server. Of the tokens of several services (Config.Service) s sees its own, and
// keeps the others for its token. A text that is forged, truncated, or of another
// cluster or history keeps s on the primary for Config.StickyWindow and is counted in
// Status, until it is older than Config.TokenLifetime; an empty text does nothing.
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
//
// Like what tokens say it also binds the reads without a session in this process. Where
// it is the client that may have caused the doubt, use [Session.DoubtAlone].
func (s *Session) Doubt() { s.arrive(arrival{token: doubt(), trusted: true}) }

// DoubtAlone is Doubt that binds s and nobody else: for what any client can bring about
// whenever it likes, by more tokens than are joined or by going away. Otherwise each
// could keep all reads without a session on the primary.
func (s *Session) DoubtAlone() { s.arrive(arrival{token: doubt(), trusted: true, alone: true}) }

func doubt() Token {
	now := time.Now()
	end := now.Add(session.MaxTokenLifetime)
	return Token{Issued: now, Expires: end, Unsure: end}
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

// understand returns what an arrival says. ok is false where it is not to be
// trusted at all, genuine says that nobody else can have made it.
func (rt *router) understand(a arrival, now time.Time) (t Token, genuine, ok bool) {
	if a.trusted {
		t = a.token
		if t.Issued.IsZero() {
			t.Issued = now // a store need not keep it, and its doubts count until Expires
		}
		if t.Expires.IsZero() {
			t.Expires = t.Issued.Add(rt.cfg.TokenLifetime)
		}
		return t, !a.alone, true
	}
	t, err := rt.keys.Decode(a.text, now)
	if err != nil && !isExpired(err) {
		return Token{}, false, false
	}
	return t, rt.keys.Signed(), true
}

// expired reports whether a token is too old to bind a session by what cannot be
// compared. What it says of its own end is not enough: the bounds that make it
// needless are this process's, and whoever forged it would write thirty days.
func (rt *router) expired(t *Token, now time.Time) bool {
	return !now.Before(t.Issued.Add(rt.cfg.TokenLifetime)) || !now.Before(t.Expires)
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
	t, genuine, ok := rt.understand(a, now)
	if !ok {
		rt.counters.tokensRefused.Add(1)
		rt.tellToken(observe.TokenRefused)
		s.changed.Store(true)
		l.claim.update(func(c session.Claim) session.Claim { return c.AfterUnsure(window, now) })
		return
	}
	expired := rt.expired(&t, now)
	if expired {
		rt.counters.tokensExpired.Add(1)
	}
	foreign := false
	defer func() { rt.tellToken(outcomeOf(&t, expired, foreign)) }()
	// A doubt binds the session, and those without a session where nobody can have
	// forged it: else anybody could send everybody to the primary.
	doubt := func(after func(session.Claim) session.Claim, everybody bool) {
		s.changed.Store(true) // its next token has a position instead
		l.claim.update(after)
		if genuine && everybody {
			rt.heard.update(after)
		}
	}
	unsure := func(until time.Time) {
		doubt(func(c session.Claim) session.Claim { return c.AfterUnsure(until, now) }, true)
	}
	h := rt.history()
	// The session sees at least what the primary has now.
	current := func(everybody bool) {
		next := rt.asks.NextCapture()
		doubt(func(c session.Claim) session.Claim { return c.AfterDoubt(next, h) }, everybody)
	}
	switch {
	case t.Unsure.IsZero():
	case expired || !t.Unsure.After(now):
		// The doubt is over, but what it was about may have happened.
		current(true)
	case t.Unsure.Before(window):
		// Until then and no longer, or a user who comes often would never leave the
		// primary again; and no longer than a window from now: the other process's
		// clock may be wrong.
		unsure(now.Add(t.Unsure.Sub(now)))
	default:
		unsure(window)
	}
	known, stranger := false, false
	for _, pos := range t.Positions {
		switch {
		case pos.System != h.System:
			if plugins.knows(pos.System) {
				known = true
			} else {
				stranger = true
				s.carry(pos) // of a database that only others know
			}
			continue
		case pos.History == h:
			rt.joinPosition(s, l, pos, now, window)
			rt.hear(pos, genuine)
		case expired:
			// Of before a change of primary. What has survived of it is in the primary.
			current(false)
		default:
			foreign = true
			rt.counters.tokensForeign.Add(1)
			unsure(window)
		}
		known = true
	}
	// One that is unsure says so of all that it does not name. Its position stays in it,
	// and would begin a new window with each request of a user who never pauses.
	// So would one that rt may know once it has reached its own primary, whatever else
	// the token names.
	if (!known && len(t.Positions) > 0 || stranger && rt.watched && h.Zero()) && !expired && t.Unsure.IsZero() {
		foreign = true
		rt.counters.tokensForeign.Add(1)
		unsure(window)
	}
}

// outcomeOf is what observers are told of a token.
func outcomeOf(t *Token, expired, foreign bool) observe.TokenOutcome {
	switch {
	case foreign:
		return observe.TokenForeign
	case expired:
		return observe.TokenExpired
	case !t.Unsure.IsZero():
		return observe.TokenUnsure
	default:
		return observe.TokenAccepted
	}
}

// joinPosition makes a session see a position of a token.
func (rt *router) joinPosition(s *Session, l *ledger, pos lsn.Position, now, window time.Time) {
	next := rt.asks.NextCapture()
	if rt.monitor.Reached().Covers(pos) {
		next = 0 // proven already
	}
	before := l.claim.load()
	if !before.Empty() && before.Position != pos {
		s.changed.Store(true) // its token says the further of the two
	}
	l.claim.update(func(c session.Claim) session.Claim {
		joined, ok := c.Join(pos, next, now)
		if !ok {
			return c.AfterUnsure(window, now)
		}
		return joined
	})
}
