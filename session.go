package readsplit

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// Session is whoever must see their own writes: a user, a request, a job. It
// holds the position of their last write, per database. A Session may be used by
// several goroutines and several plugins at once.
type Session struct {
	first ledger // the only one in an application with one database
	mu    sync.Mutex
	more  []*ledger
	// tokens are texts that were joined before any plugin was in use.
	tokens []string
	joined atomic.Int32 // len(tokens)
	open   atomic.Int32 // transactions that are open
	// carried are positions of databases that no plugin of this process knows:
	// they came with a token and must leave with the next.
	carried []lsn.Position
}

// carry keeps a position for the tokens of s.
func (s *Session) carry(p lsn.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, have := range s.carried {
		if have.System == p.System {
			if lsn.Compare(have, p) != lsn.After {
				s.carried[i] = p // the later, or the other history that came last
			}
			return
		}
	}
	if len(s.carried) < session.MaxPositions {
		s.carried = append(s.carried, p)
	}
}

// ledger is what a session wrote through one plugin.
type ledger struct {
	plugin   atomic.Pointer[router]
	claim    register
	seen     atomic.Pointer[sight]
	accepted atomic.Int32 // how many of the session's tokens were judged
}

// register is a claim that several goroutines read and advance.
type register struct {
	p atomic.Pointer[session.Claim]
}

var noClaim = &session.Claim{}

func (r *register) load() *session.Claim {
	if c := r.p.Load(); c != nil {
		return c
	}
	return noClaim
}

// update replaces the claim by what change makes of it. change may run several
// times.
func (r *register) update(change func(c session.Claim) session.Claim) session.Claim {
	for {
		old := r.p.Load()
		var c session.Claim
		if old != nil {
			c = *old
		}
		c = change(c)
		if r.p.CompareAndSwap(old, &c) {
			return c
		}
	}
}

// NewSession returns a session that has not written anything yet. Give it to the
// requests of one user with [WithSession].
func NewSession() *Session { return &Session{} }

// ledgerOf returns s's ledger for p, making one if need be.
func (s *Session) ledgerOf(rt *router) *ledger {
	if s.first.plugin.Load() == rt {
		return &s.first
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.plugin.CompareAndSwap(nil, rt) || s.first.plugin.Load() == rt {
		return &s.first
	}
	for _, l := range s.more {
		if l.plugin.Load() == rt {
			return l
		}
	}
	l := &ledger{}
	l.plugin.Store(rt)
	if rt.startClaim > 0 {
		// s may have written through another plugin before this one was in use.
		l.claim.update(func(c session.Claim) session.Claim {
			// How its commits were acknowledged is not known here.
			return c.AfterWrite(rt.startClaim, true, lsn.History{}, time.Time{})
		})
	}
	s.more = append(s.more, l)
	return l
}

// ledgers returns every ledger of s.
func (s *Session) ledgers() []*ledger {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*ledger
	if s.first.plugin.Load() != nil {
		all = append(all, &s.first)
	}
	return append(all, s.more...)
}

// earlyTokens bounds the tokens that are kept for a plugin that is not there yet.
const earlyTokens = 8

// tooManyTokens stands for those that were not kept. It is no token, and so makes
// the session unsure.
const tooManyTokens = "too many"

// Join makes s see what a session saw from which Token took its text, on this
// process or another: the further of the two counts. It never fails and asks no
// server. A text that is forged, truncated, outdated or of another cluster keeps
// s on the primary for Config.StickyWindow and is counted in Status; an empty
// text does nothing.
func (s *Session) Join(token string) {
	if token == "" {
		return
	}
	all := plugins.all()
	for _, rt := range all {
		rt.acceptToken(s, s.ledgerOf(rt), token)
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
		token = tooManyTokens
	}
	s.tokens = append(s.tokens, token)
	s.joined.Store(int32(len(s.tokens)))
}

// Token returns what s must see as a small text, for a cookie, a header or a
// message: letters, digits, dots, dashes and underscores, under 200 bytes,
// signed when Config.TokenKeys is set. It is empty when s has nothing to see.
//
// A write of s that no position covers yet makes Token ask the primary, at most
// until ctx is done and no longer than a second. If no answer can be had, the
// token says "unsure": whoever joins it reads from the primary for
// Config.StickyWindow. Inside an open transaction of s Token fails with
// [ErrTokenInTransaction].
//
// A token counts for one hour. After that its position is still used where it
// can be compared, and otherwise it does nothing: what is older than MaxLag is
// seen without it.
func (s *Session) Token(ctx context.Context) (string, error) {
	if s.open.Load() > 0 {
		return "", ErrTokenInTransaction
	}
	ledgers := s.ledgers()
	if len(ledgers) == 0 && s.joined.Load() > 0 {
		// Nothing has run through s yet. Any plugin of the process can judge.
		if all := plugins.all(); len(all) > 0 {
			ledgers = append(ledgers, s.ledgerOf(all[0]))
		}
	}
	now := time.Now()
	t := session.Token{Issued: now, Expires: now.Add(tokenLifetime)}
	var keys *session.Keys
	// Those that know their database first: a position of theirs can stand for a
	// plugin that does not know over which database it is.
	slices.SortStableFunc(ledgers, func(a, b *ledger) int {
		return cmp.Compare(a.plugin.Load().rank(), b.plugin.Load().rank())
	})
	for _, l := range ledgers {
		rt := l.plugin.Load()
		if rt.keys == nil {
			continue // never initialised
		}
		if keys == nil {
			keys = rt.keys
		}
		if !rt.watched || rt.rank() > 0 && len(t.Positions) > 0 {
			continue
		}
		rt.addToToken(ctx, s, l, &t)
	}
	s.mu.Lock()
	for _, p := range s.carried {
		if !addPosition(&t, p) && len(ledgers) > 0 {
			later(&t.Unsure, now.Add(ledgers[0].plugin.Load().cfg.StickyWindow))
		}
	}
	s.mu.Unlock()
	if keys == nil || len(t.Positions) == 0 && t.Unsure.IsZero() {
		return "", nil
	}
	if t.Unsure.After(t.Expires) {
		// A long StickyWindow. The token outlives its doubt.
		t.Unsure = earlier(t.Unsure, now.Add(session.MaxTokenLifetime))
		t.Expires = t.Unsure
	}
	return keys.Encode(t)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
