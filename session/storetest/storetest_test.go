package storetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// plain is the simplest store that does what a store must do; flaw is what one of the
// broken ones does instead.
type plain struct {
	mu    sync.Mutex
	users map[string]session.Token
	lost  session.Token
	stuck atomic.Bool
	flaw  flaw
}

type flaw struct {
	name   func(user string) string
	merge  func(have, t session.Token) session.Token
	keep   func(t session.Token) session.Token
	expiry func(have, t session.Token) time.Time
	racy   bool
	forget bool // loses silently
	early  bool // an ended context: nothing is done, and that is called a success
	hang   bool // when it is stuck
	share  bool // slices with its callers
	mixed  bool // everybody sees everybody's
}

func newPlain(f flaw) *plain { return &plain{users: map[string]session.Token{}, flaw: f} }

var errStuck = errors.New("no answer")

func (p *plain) key(user string) string {
	switch {
	case p.flaw.mixed:
		return ""
	case p.flaw.name != nil:
		return p.flaw.name(user)
	}
	return user
}

func (p *plain) Load(ctx context.Context, user string) (session.Token, error) {
	if p.stuck.Load() {
		if p.flaw.hang {
			<-ctx.Done()
		}
		return session.Token{}, errStuck
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.users[p.key(user)]
	if now := time.Now(); !t.Expires.After(now) && p.flaw.expiry == nil {
		if t = p.lost; !t.Expires.After(now) {
			t = session.Token{}
		}
	}
	if !p.flaw.share {
		t = t.Merge(session.Token{})
	}
	if t.Unsure.IsZero() && len(t.Positions) == 0 {
		t = session.Token{}
	}
	return t, nil
}

func (p *plain) Advance(ctx context.Context, user string, t session.Token) error {
	if p.stuck.Load() {
		return errStuck
	}
	if p.flaw.early && ctx.Err() != nil {
		return nil
	}
	have, _ := p.Load(context.Background(), user)
	if !p.flaw.racy {
		p.mu.Lock()
		defer p.mu.Unlock()
		have = p.users[p.key(user)]
	}
	m := have.Merge(t)
	switch {
	case p.flaw.merge != nil:
		m = p.flaw.merge(have, t)
	case p.flaw.share && len(have.Positions) == 0:
		m.Positions = t.Positions
	case !have.Expires.After(time.Now()):
		m = p.lost.Merge(t)
	}
	if p.flaw.keep != nil {
		m = p.flaw.keep(m)
	}
	if p.flaw.expiry != nil {
		m.Expires = p.flaw.expiry(have, t)
	}
	if p.flaw.racy {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	p.users[p.key(user)] = m
	return nil
}

func (p *plain) lose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.flaw.forget {
		for _, t := range p.users {
			p.lost.Expires = later(p.lost.Expires, t.Expires)
		}
		p.lost.Unsure = time.Now()
	}
	clear(p.users)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func everything() []Option {
	return []Option{
		Peer(func(_ *testing.T, s session.Store) session.Store { return s }),
		Lose(func(_ *testing.T, s session.Store) { s.(*plain).lose() }),
		Stall(func(_ *testing.T, s session.Store) func() {
			s.(*plain).stuck.Store(true)
			return func() { s.(*plain).stuck.Store(false) }
		}),
	}
}

func TestPlainStorePasses(t *testing.T) {
	t.Parallel()
	Run(t, func(*testing.T) session.Store { return newPlain(flaw{}) }, everything()...)
}

// problemsOf runs one check on a store.
func problemsOf(t *testing.T, name string, s session.Store, opts ...Option) []string {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	for _, c := range checks {
		if c.name == name {
			return c.problems(t, s, o)
		}
	}
	require.Fail(t, "no such check", name)
	return nil
}

// Each broken store is convicted, by the check that is there for it.
func TestBrokenStoresAreConvicted(t *testing.T) {
	t.Parallel()
	last := func(_, t session.Token) session.Token { return t }
	numbers := func(have, t session.Token) session.Token { // as if a position were a number
		if len(have.Positions) == 1 && len(t.Positions) == 1 && have.Positions[0].System == t.Positions[0].System && have.Positions[0].LSN > t.Positions[0].LSN {
			return have.Merge(session.Token{Expires: t.Expires})
		}
		return t.Merge(session.Token{Expires: have.Expires})
	}
	text := func(have, t session.Token) session.Token { // numbers compared as decimal text
		if len(have.Positions) == 1 && len(t.Positions) == 1 && have.Positions[0].LSN.String() > t.Positions[0].LSN.String() {
			return have
		}
		return have.Merge(t)
	}
	float := func(t session.Token) session.Token {
		for i := range t.Positions {
			t.Positions[i].LSN = lsn.LSN(float64(t.Positions[i].LSN))
		}
		return t
	}
	sure := func(t session.Token) session.Token { t.Unsure = time.Time{}; return t }
	onlyFuture := func(t session.Token) session.Token {
		if t.Unsure.Before(time.Now()) {
			t.Unsure = time.Time{}
		}
		return t
	}
	cutOff := func(n int) func(string) string {
		return func(user string) string { return user[:min(n, len(user))] }
	}
	for name, c := range map[string]struct {
		check string
		flaw  flaw
	}{
		"one entry for all":              {"a user who has written nothing", flaw{mixed: true}},
		"the last writer wins":           {"the further position counts", flaw{merge: last}},
		"positions as text":              {"the further position counts", flaw{merge: text}},
		"positions as floats":            {"the further position counts", flaw{keep: float}},
		"positions as numbers":           {"the later history counts", flaw{merge: numbers}},
		"doubts are forgotten":           {"unsure", flaw{keep: sure}},
		"doubts that have passed":        {"unsure", flaw{keep: onlyFuture}},
		"a database too many is dropped": {"too many databases", flaw{keep: sure}},
		"slices are shared":              {"tokens are copied", flaw{share: true}},
		"names end at a NUL":             {"names of users", flaw{name: func(user string) string { before, _, _ := strings.Cut(user, "\x00"); return before }}},
		"names in lower case":            {"names of users", flaw{name: strings.ToLower}},
		"names are trimmed":              {"names of users", flaw{name: strings.TrimSpace}},
		"names are valid UTF-8":          {"names of users", flaw{name: func(user string) string { return strings.ToValidUTF8(user, "?") }}},
		"names of 255 bytes":             {"names of users", flaw{name: cutOff(255)}},
		"names of 4096 bytes":            {"names of users", flaw{name: cutOff(4096)}},
		"nothing expires":                {"expiry", flaw{expiry: func(_, _ session.Token) time.Time { return time.Now().Add(time.Hour) }}},
		"the last expiry wins":           {"expiry", flaw{keep: func(t session.Token) session.Token { return t }, merge: func(have, t session.Token) session.Token { m := have.Merge(t); m.Expires = t.Expires; return m }}},
		"load, merge, store":             {"concurrent writers of several databases", flaw{racy: true}},
		"done although it was not":       {"a context that has ended", flaw{early: true}},
		"what is lost is forgotten":      {"what is lost", flaw{forget: true}},
		"a store that hangs":             {"a store that does not answer", flaw{hang: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var problems []string
			for range 20 { // the race is not lost each time
				if problems = problemsOf(t, c.check, newPlain(c.flaw), everything()...); len(problems) > 0 {
					break
				}
			}
			assert.NotEmpty(t, problems)
		})
	}
}

// A racy store is convicted by readers, too.
func TestStoreThatGoesBackIsConvicted(t *testing.T) {
	assert.NotEmpty(t, problemsOf(t, "concurrent writers", newPlain(flaw{merge: func(_, t session.Token) session.Token { return t }})))
}

// Two processes with a memory each are no shared store.
func TestSeparateStoresAreConvicted(t *testing.T) {
	assert.NotEmpty(t, problemsOf(t, "another process", newPlain(flaw{}), Peer(func(*testing.T, session.Store) session.Store { return newPlain(flaw{}) })))
}
