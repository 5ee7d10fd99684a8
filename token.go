package readsplit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

// tokenWait is the longest that Token waits for a capture.
const tokenWait = time.Second

// Token is the content of a session token.
type Token = session.Token

// ParseToken reads the text of a session token with c's keys, for code that
// wants to look inside; a session reads it back with Session.Join, which never
// fails. The error is a *session.TokenError, or says what is wrong with c.TokenKeys, and
// never contains the text.
func (c Config) ParseToken(text string) (Token, error) {
	keys, err := session.NewKeys(c.TokenKeys...)
	if err != nil {
		return Token{}, fmt.Errorf("readsplit: Config.TokenKeys: %w", err)
	}
	if c.Service != "" || session.IsBundle(text) {
		b, err := session.ParseBundle(text)
		if err != nil {
			return Token{}, err
		}
		parts, _ := b.Tokens(c.Service)
		if len(parts) == 0 {
			return Token{}, nil // it says nothing to this service
		}
		text = parts[0]
	}
	return keys.Decode(text, time.Now())
}

// isExpired reports whether a token was refused only because it is too old: its
// positions are genuine.
func isExpired(err error) bool {
	var refused *session.TokenError
	return errors.As(err, &refused) && refused.Kind == session.TokenExpired
}

// Token returns what s must see as a small text, for a cookie, a header or a
// message: letters, digits, dots, dashes and underscores, under 200 bytes,
// signed when Config.TokenKeys is set. It is empty when s has nothing to see. With
// Config.Service it says for whom it is and carries what was joined of other
// services, with tildes between, at most session.MaxBundleLength bytes.
//
// A write of s that no position covers yet makes Token ask the primary, at most
// until ctx is done and no longer than a second. If no answer can be had, the
// token says "unsure": whoever joins it reads from the primary for
// Config.StickyWindow. Inside an open transaction of s Token fails with
// [ErrTokenInTransaction].
//
// A token counts for Config.TokenLifetime of whoever joins it. After that its
// position is still used where it can be compared, and otherwise what it says of
// this database has long been in the primary, and s sees what that has now.
func (s *Session) Token(ctx context.Context) (string, error) {
	if s.open.Load() > 0 {
		return "", ErrTokenInTransaction
	}
	t, keys := s.token(ctx, time.Now().Add(tokenWait))
	if keys == nil || len(t.Positions) == 0 && t.Unsure.IsZero() {
		return s.among(""), nil
	}
	text, err := keys.Encode(t)
	if err != nil {
		return "", err
	}
	return s.among(text), nil
}

// TokenNow is Token for those who can wait for nothing, because the answer is on its
// way already: what no position covers yet, and what an open transaction of s may
// write, makes the token say "unsure".
func (s *Session) TokenNow() string {
	t, keys := s.tokenNow()
	if keys == nil || len(t.Positions) == 0 && t.Unsure.IsZero() {
		return s.among("")
	}
	text, err := keys.Encode(t)
	if err != nil {
		return "" // never: it was made by the rules of tokens
	}
	return s.among(text)
}

func (s *Session) tokenNow() (Token, *session.Keys) {
	now := time.Now()
	unfinished := s.open.Load() > 0
	t, keys := s.token(context.Background(), now)
	if unfinished && keys != nil {
		s.unfinished(&t, now)
	}
	return t, keys
}

// Export is Token for a store that is the application's own: what the text would
// say. It is empty when s has nothing to see, waits as Token does, and fails inside an
// open transaction of s alone, with [ErrTokenInTransaction].
func (s *Session) Export(ctx context.Context) (Token, error) {
	if s.open.Load() > 0 {
		return Token{}, ErrTokenInTransaction
	}
	t, _ := s.token(ctx, time.Now().Add(tokenWait))
	if len(t.Positions) == 0 && t.Unsure.IsZero() {
		return Token{}, nil
	}
	return t, nil
}

// Text returns what Token would have said when Export or ExportNow returned t: what
// happened since, here or in code without a session that s covers, is left for the next
// token instead of making this one unsure.
func (s *Session) Text(t Token) string {
	if len(t.Positions) == 0 && t.Unsure.IsZero() {
		return s.among("")
	}
	for _, l := range byRank(s.ledgers()) {
		if keys := l.plugin.Load().keys; keys != nil {
			if text, err := keys.Encode(t); err == nil {
				return s.among(text)
			}
			break // t is none that s has made
		}
	}
	return s.TokenNow()
}

// byRank puts those ledgers first that know their database: a position
// of theirs can stand for a plugin that does not know over which database it is.
func byRank(ledgers []*ledger) []*ledger {
	slices.SortStableFunc(ledgers, func(a, b *ledger) int {
		return cmp.Compare(a.plugin.Load().rank(), b.plugin.Load().rank())
	})
	return ledgers
}

// Changed reports whether Token would say something else than what was joined: s has
// written, or read where that counts, or a token that was joined was not accepted as
// it came. It asks no server.
func (s *Session) Changed() bool {
	if s.changed.Load() {
		return true
	}
	if s.covers.Load() != 0 {
		for _, rt := range plugins.all() {
			if s.coversUnscoped(rt) {
				return true
			}
		}
	}
	if s.joined.Load() > 0 {
		for _, rt := range plugins.all() {
			if l := s.ledgerOf(rt); l.accepted.Load() < s.joined.Load() {
				rt.acceptTokens(s, l)
			}
		}
	}
	for _, l := range s.ledgers() {
		rt := l.plugin.Load()
		rt.sweepOpen(&policy.Query{}, &marks{session: s})
		if rt.writing(s) {
			return true
		}
	}
	return s.changed.Load()
}

// InTransaction reports whether a transaction of s is open, so that Token would fail.
func (s *Session) InTransaction() bool { return s.open.Load() > 0 }

// CoverUnscoped makes tokens of s also cover what is written from now on without a
// session in this process: what a service wrote that had lost the context of its
// request. It costs that s waits for writes that are none of its own.
func (s *Session) CoverUnscoped() {
	s.covers.CompareAndSwap(0, max(1, int64(time.Since(processStart))))
}

// coversUnscoped reports whether something was written without a session that
// counts as s's own.
func (s *Session) coversUnscoped(rt *router) bool {
	since := s.covers.Load()
	if since == 0 {
		return false
	}
	last := rt.unscoped.lastWrite()
	return !last.IsZero() && last.Sub(processStart) >= time.Duration(since)
}

// token returns what s must see, and the keys that sign it; no keys: nothing has run
// through s. It waits for a position until deadline.
func (s *Session) token(ctx context.Context, deadline time.Time) (t Token, keys *session.Keys) {
	ledgers := s.ledgers()
	if len(ledgers) == 0 && s.joined.Load() > 0 {
		// Nothing has run through s yet. Any plugin of the process can judge.
		if all := plugins.all(); len(all) > 0 {
			ledgers = append(ledgers, s.ledgerOf(all[0]))
		}
	}
	for _, rt := range plugins.all() {
		if s.coversUnscoped(rt) && !slices.ContainsFunc(ledgers, func(l *ledger) bool { return l.plugin.Load() == rt }) {
			ledgers = append(ledgers, s.ledgerOf(rt))
		}
	}
	now := time.Now()
	t = session.Token{Issued: now}
	for _, l := range ledgers {
		later(&t.Expires, now.Add(l.plugin.Load().cfg.TokenLifetime))
	}
	for _, l := range byRank(ledgers) {
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
		rt.addToToken(ctx, s, l, &t, deadline)
	}
	s.mu.Lock()
	for _, p := range s.carried {
		if !addPosition(&t, p) && len(ledgers) > 0 {
			later(&t.Unsure, now.Add(ledgers[0].plugin.Load().cfg.StickyWindow))
		}
	}
	s.mu.Unlock()
	outlive(&t, now)
	return t, keys
}

// outlive makes a token outlive its doubt, which a long StickyWindow makes long.
func outlive(t *Token, now time.Time) {
	if t.Unsure.After(t.Expires) {
		t.Unsure = earlier(t.Unsure, now.Add(session.MaxTokenLifetime))
		t.Expires = t.Unsure
	}
}

// addToToken adds l's claim to t.
func (rt *router) addToToken(ctx context.Context, s *Session, l *ledger, t *session.Token, deadline time.Time) {
	var q policy.Query
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	rt.sweepOpen(&q, &marks{session: s})
	if l.accepted.Load() < s.joined.Load() {
		rt.acceptTokens(s, l)
	}
	p := waitsBy(deadline)
	rt.claimed(ctx, &l.claim, false, &q, p)
	if s.coversUnscoped(rt) {
		// Without the primary it must say "unsure". With it, an old position of before a
		// change of primary is no reason to send everybody there.
		rt.claimed(ctx, &rt.unscoped, !rt.lost(), &q, p)
	}
	if seen := l.seen.Load(); seen != nil && rt.monotonic(&marks{session: s}) {
		// Whoever gets the token reads on other servers.
		held := query{Query: q}
		rt.demandSeen(ctx, l, seen, &held, deadline)
		q = held.Query
	}
	until := time.Now().Add(rt.cfg.StickyWindow)
	doubt := l.claim.load().Unsure
	if s.coversUnscoped(rt) {
		later(&doubt, rt.unscoped.load().Unsure)
	}
	switch {
	case q.Pending || q.Foreign:
		later(&t.Unsure, until)
	case q.Sticky && !q.Unsure:
		later(&t.Unsure, l.claim.load().Until)
		if s.coversUnscoped(rt) {
			later(&t.Unsure, rt.unscoped.load().Until)
		}
	case q.Unsure && doubt.Before(until):
		later(&t.Unsure, doubt) // as it stands: a token must not make it longer
	case q.Unsure:
		later(&t.Unsure, until)
	}
	if !q.Need.Zero() && !addPosition(t, q.Need) {
		later(&t.Unsure, until)
	}
}

// later moves t on to u.
func later(t *time.Time, u time.Time) {
	if u.After(*t) {
		*t = u
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// addPosition adds a position to a token, or takes its place where the token has
// an earlier one of the same history: two plugins can stand over one primary.
// It reports false when the token does not say all: there is no room, or one of two
// histories was left out.
func addPosition(t *session.Token, p lsn.Position) bool {
	for i, have := range t.Positions {
		if have.System != p.System {
			continue
		}
		switch lsn.Compare(have, p) {
		case lsn.Before:
			t.Positions[i] = p
		case lsn.Incomparable:
			return false
		}
		return true
	}
	if len(t.Positions) == session.MaxPositions {
		return false
	}
	t.Positions = append(t.Positions, p)
	return true
}
