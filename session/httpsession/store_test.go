package httpsession

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// memory is a store that a test can break.
type memory struct {
	mu           sync.Mutex
	by           map[string]session.Token
	loads, saves int
	broken       error // both fail
	hangs        bool  // both wait for the end of their context
}

func (m *memory) call(ctx context.Context, n *int) error {
	m.mu.Lock()
	*n++
	hangs, broken := m.hangs, m.broken
	m.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return broken
}

func (m *memory) Load(ctx context.Context, user string) (session.Token, error) {
	if err := m.call(ctx, &m.loads); err != nil {
		return session.Token{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.by[user], nil
}

func (m *memory) Advance(ctx context.Context, user string, t session.Token) error {
	if err := m.call(ctx, &m.saves); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = map[string]session.Token{}
	}
	have := m.by[user]
	have.Positions = append(have.Positions, t.Positions...)
	have.Unsure, have.Expires = t.Unsure, t.Expires
	m.by[user] = have
	return nil
}

func (m *memory) set(broken error, hangs bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken, m.hangs = broken, hangs
}

func named(r *http.Request) string { return r.Header.Get("X-User") }

// by sends a request of a user without any cookie and returns the response and what
// its session covered when the handler saw it.
func by(s *Sessions, user, method, path string) (h http.Header, saw string) {
	req := httptest.NewRequest(method, path, nil)
	req.Header.Set("X-User", user)
	rec := httptest.NewRecorder()
	s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		saw = of(r).TokenNow()
		shop(nil)(w, r)
	})).ServeHTTP(rec, req)
	return rec.Result().Header, saw
}

func init() {
	for i, name := range []string{"a", "b", "c", "d"} {
		stored[lsn.LSN(i+1)] = name
	}
}

func TestStoreFollowsTheUser(t *testing.T) {
	for name, carry := range map[string]Carry{"beside the cookie": Cookie, "alone": None} {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			s, _ := faked(t, Options{Store: m, User: named, Carry: carry})
			other, _ := faked(t, Options{Store: m, User: named, Carry: carry})
			h, saw := by(s, "ann", "POST", "/a")
			assert.Empty(t, saw)
			set, _ := tokens(h)
			if carry == None {
				assert.Empty(t, h, "the response stays as it is")
			} else {
				assert.Equal(t, []string{"a"}, set)
			}
			for _, process := range []*Sessions{s, other} {
				_, saw = by(process, "ann", "GET", "/")
				assert.Equal(t, "a", saw)
				_, saw = by(process, "bob", "GET", "/")
				assert.Empty(t, saw)
			}
			assert.Equal(t, []int{5, 1}, []int{m.loads, m.saves}, "one call for a request, one more for a request that wrote")
			_, saw = by(s, "", "POST", "/b")
			assert.Empty(t, saw)
			assert.Equal(t, []int{5, 1}, []int{m.loads, m.saves}, "nobody knows who that was")
			assert.Zero(t, s.Stats().LoadFailed+s.Stats().AdvanceFailed)
		})
	}
}

// What the store alone has told needs no cookie: it is asked again anyway. What the
// client brings and the store lacks it is told, once.
func TestStoreAndCookieKnowDifferentThings(t *testing.T) {
	m := &memory{}
	s, _ := faked(t, Options{Store: m, User: named})
	ask := func(cookie string) (h http.Header, saw string) {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header.Set("X-User", "ann")
		if cookie != "" {
			req.AddCookie(&http.Cookie{Name: defaultName, Value: cookie})
		}
		rec := httptest.NewRecorder()
		s.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { saw = of(r).TokenNow() })).ServeHTTP(rec, req)
		return rec.Result().Header, saw
	}
	_, _ = by(s, "ann", "POST", "/a")
	require.Equal(t, 1, m.saves)
	for range 2 { // written before it was known that it is ann
		h, saw := ask("b")
		assert.Equal(t, "a.b", saw)
		assert.Empty(t, h)
		assert.Equal(t, 2, m.saves)
	}
	h, saw := ask("")
	assert.Equal(t, "a.b", saw)
	assert.Empty(t, h)

	// A store that has lost its data says so to everybody for a while. No cookie is set
	// for that, and nothing is written back.
	unsureOnce := m.by["ann"]
	unsureOnce.Unsure = time.Now().Add(time.Minute)
	m.by["ann"] = unsureOnce
	h, saw = ask("b")
	assert.Equal(t, "a.b."+unsure, saw)
	assert.Empty(t, h)
	assert.Equal(t, 2, m.saves)

	// A store that fails does not make the cookies of readers anew.
	m.set(errStop, false)
	h, saw = ask("b")
	assert.Equal(t, "b."+unsure, saw)
	assert.Empty(t, h)
	assert.Equal(t, 2, m.saves)
}

// R14: a store that fails makes the carrier unsure; the process itself remembers, and
// tells the store when it can.
func TestStoreThatFails(t *testing.T) {
	for name, fail := range map[string]func(m *memory){
		"error": func(m *memory) { m.set(errors.New("redis is down"), false) },
		"hangs": func(m *memory) { m.set(nil, true) },
	} {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			s, log := faked(t, Options{Store: m, User: named, Wait: 20 * time.Millisecond})
			fail(m)
			h, saw := by(s, "ann", "POST", "/a")
			assert.Equal(t, unsure, saw, "what the store has is not known")
			set, _ := tokens(h)
			assert.Equal(t, []string{"a." + unsure}, set)
			_, saw = by(s, "ann", "GET", "/")
			assert.Equal(t, "a."+unsure, saw, "this process remembers")
			assert.Len(t, log.with("the store fails"), 1, "logged once")
			assert.Equal(t, Stats{Requests: 2, Carried: 2, Unsure: 2, LoadFailed: 2, AdvanceFailed: 2}, s.Stats())

			m.set(nil, false)
			_, saw = by(s, "ann", "GET", "/")
			assert.Equal(t, "a."+unsure, saw, "also while the store still lacks it")
			assert.Len(t, log.with("the store works again"), 1)
			other, _ := faked(t, Options{Store: m, User: named})
			_, saw = by(other, "ann", "GET", "/")
			assert.Contains(t, saw, "a", "it was told by the response to a GET")
			assert.Empty(t, s.debts.byUser)
		})
	}
}

// One that fails for writing alone: what it does not have the process has.
func TestStoreThatTakesNothing(t *testing.T) {
	m := &deaf{}
	s, _ := faked(t, Options{Store: m, User: named, Carry: None})
	for _, path := range []string{"/a", "/b"} {
		h, _ := by(s, "ann", "POST", path)
		assert.Empty(t, h)
	}
	for range 3 * mostDebts {
		_, saw := by(s, "ann", "GET", "/")
		assert.Equal(t, "a.b", saw)
		_, saw = by(s, "bob", "GET", "/")
		assert.Empty(t, saw, "who did not write here has nothing to fear")
	}
	assert.Len(t, s.debts.byUser, 1)
	assert.Len(t, s.debts.byUser["ann"], 1, "the newer says what the older said")

	// Other processes know nothing of it: the cookie says so.
	s, _ = faked(t, Options{Store: m, User: named})
	h, _ := by(s, "ann", "POST", "/a")
	set, _ := tokens(h)
	assert.Equal(t, []string{"a." + unsure}, set)
}

// Users who wrote nothing leave nothing behind while the store is down.
func TestReadersOweTheStoreNothing(t *testing.T) {
	m := &memory{broken: errStop}
	s, _ := faked(t, Options{Store: m, User: named})
	for range 3 {
		_, saw := by(s, "ann", "GET", "/")
		assert.Equal(t, unsure, saw)
	}
	assert.Empty(t, s.debts.byUser)
	assert.Zero(t, m.saves)
}

// deaf is a store that takes nothing.
type deaf struct{ memory }

func (*deaf) Advance(context.Context, string, session.Token) error { return errStop }

// What is remembered is bounded. Beyond that everybody is in doubt for a while.
func TestWhatTheStoreLacksIsBounded(t *testing.T) {
	var d debts
	now := time.Now()
	token := session.Token{Issued: now, Expires: now.Add(time.Hour)}
	old := session.Token{Issued: now.Add(-time.Hour), Expires: now.Add(-time.Minute)}
	for i := range mostDebtors - 1 {
		d.owe(fmt.Sprint("user", i), token, now.Add(time.Minute))
	}
	d.owe("old", old, now.Add(time.Minute))
	owed, lost := d.of("old")
	require.Empty(t, owed, "it counts no longer")
	require.False(t, lost)
	d.owe("ann", token, now.Add(time.Minute))
	owed, lost = d.of("ann")
	require.Len(t, owed, 1, "there is room where something counts no longer")
	require.False(t, lost)
	require.Len(t, d.byUser, mostDebtors)

	d.owe("bob", token, now.Add(time.Minute))
	require.Len(t, d.byUser, mostDebtors)
	_, lost = d.of("carol")
	require.True(t, lost)
	d.paid("ann", owed)
	require.NotContains(t, d.byUser, "ann")
}

// One user with more of them than are kept apart puts nobody else in doubt: they become
// one, which is paid by nobody who knows but a part of it.
func TestWhatTheStoreLacksOfOneUserBecomesOne(t *testing.T) {
	var d debts
	end := time.Now().Add(time.Hour)
	of := func(i int) session.Token {
		return session.Token{Issued: end.Add(-time.Hour), Expires: end, Positions: []lsn.Position{{History: lsn.History{System: 1, Timeline: 1, Incarnation: 1}, LSN: lsn.LSN(i)}}}
	}
	for i := range mostDebts {
		d.owe("ann", of(100-i), end)
	}
	before, _ := d.of("ann")
	require.Len(t, before, mostDebts)
	require.Nil(t, d.owe("ann", of(1), end), "it says more than the response that owes it")
	d.paid("ann", before)
	owed, lost := d.of("ann")
	require.False(t, lost)
	require.Len(t, owed, 1)
	require.Equal(t, of(100).Positions, owed[0].token.Positions)
	_, lost = d.of("bob")
	require.False(t, lost)
	d.paid("ann", owed)
	require.NotContains(t, d.byUser, "ann")
}

// What was written after the header had gone out reaches the store at least.
func TestStoreIsToldOfLateWrites(t *testing.T) {
	m := &memory{}
	s, log := faked(t, Options{Store: m, User: named})
	req := httptest.NewRequest(http.MethodPost, "/late", nil)
	req.Header.Set("X-User", "ann")
	s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("thanks"))
		of(r).wrote("a")
	})).ServeHTTP(httptest.NewRecorder(), req)
	assert.Equal(t, uint64(1), s.Stats().Late)
	require.Len(t, log.with("after its response had gone out"), 1)
	assert.Contains(t, log.with("after its response")[0], "POST /late")
	_, saw := by(s, "ann", "GET", "/")
	assert.Equal(t, "a", saw)
}

// Where authentication finds out who it is, it says so.
func TestIdentify(t *testing.T) {
	m := &memory{}
	s, log := faked(t, Options{Store: m, Carry: None})
	ask := func(user, method, path string) (saw string) {
		s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			Identify(r.Context(), user)
			Identify(r.Context(), user)
			saw = of(r).TokenNow()
			shop(nil)(w, r)
		})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, nil))
		return saw
	}
	assert.Empty(t, ask("ann", "POST", "/a"))
	assert.Equal(t, "a", ask("ann", "GET", "/"))
	assert.Empty(t, ask("bob", "GET", "/"))
	assert.Equal(t, []int{3, 1}, []int{m.loads, m.saves}, "once for each request")
	assert.Empty(t, ask("", "GET", "/"))
	assert.Zero(t, s.Stats().Nameless)
	assert.Empty(t, ask("", "POST", "/lost"))
	assert.Equal(t, uint64(1), s.Stats().Nameless)
	assert.Len(t, log.with("was not told whose it is"), 1)
	assert.NotPanics(t, func() { Identify(t.Context(), "ann") }, "outside of any handler")
}

// A client that has gone before the store answered says nothing of the store.
func TestStoreIsNotBlamedForClientsThatLeave(t *testing.T) {
	m := &memory{hangs: true}
	s, log := faked(t, Options{Store: m, User: named})
	ctx, leave := context.WithCancel(t.Context())
	leave()
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	req.Header.Set("X-User", "ann")
	s.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		assert.Equal(t, unsure, of(r).TokenNow())
	})).ServeHTTP(httptest.NewRecorder(), req)
	assert.Zero(t, s.Stats().LoadFailed)
	assert.Empty(t, log.with("fails"))
}

func TestCovers(t *testing.T) {
	at := func(system uint64, timeline uint32, start int64, l lsn.LSN) lsn.Position {
		return lsn.Position{History: lsn.History{System: system, Timeline: timeline, Incarnation: start}, LSN: l}
	}
	of := func(p ...lsn.Position) session.Token { return session.Token{Positions: p} }
	have := of(at(1, 2, 5, 100), at(2, 1, 1, 7))
	for name, c := range map[string]struct {
		other session.Token
		want  bool
	}{
		"nothing":           {of(), true},
		"the same":          {have, true},
		"less":              {of(at(1, 2, 5, 99)), true},
		"more":              {of(at(1, 2, 5, 101)), false},
		"more of one":       {of(at(1, 2, 5, 99), at(2, 1, 1, 8)), false},
		"another database":  {of(at(3, 1, 1, 1)), false},
		"an older timeline": {of(at(1, 1, 9, 999)), true},
		"a newer timeline":  {of(at(1, 3, 1, 1)), false},
		"an earlier start":  {of(at(1, 2, 4, 999)), true},
		"a later start":     {of(at(1, 2, 6, 1)), false},
	} {
		assert.Equal(t, c.want, covers(have, c.other), name)
	}
	assert.False(t, covers(session.Token{}, have))
}
