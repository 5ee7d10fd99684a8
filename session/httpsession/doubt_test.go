package httpsession_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/session/httpsession"
)

// meanwhile is a store during whose calls something happens: others write without a
// session, say, in a process that has lost its contexts.
type meanwhile struct {
	session.Store
	do func()
}

func (m *meanwhile) Advance(ctx context.Context, user string, t session.Token) error {
	m.do()
	return m.Store.Advance(ctx, user, t)
}

// What others write without a session while a store takes what a request has written
// is none of that response: it would send each user of a busy process to the primary.
func TestOthersWritesDoNotMakeAResponseUnsure(t *testing.T) {
	_, dsns := database(t)
	db := opened(t, dsns)
	other := customer("other")
	sessions, err := httpsession.New(httpsession.Options{
		Store: &meanwhile{session.NewMemory(session.MemoryOptions{Lifetime: -1}), func() {
			require.NoError(t, db.Create(&order{Customer: other}).Error)
		}},
		User: func(r *http.Request) string { return r.URL.Path },
	})
	require.NoError(t, err)
	h := sessions.Handler(app(db))
	for i := range 10 {
		for _, path := range []string{"/redirect/", "/lost/"} {
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, path+customer("ann"), nil))
			require.Equal(t, http.StatusSeeOther, rec.Code, i)
			cookies := rec.Result().Cookies()
			require.Len(t, cookies, 1)
			content, err := readsplit.Config{}.ParseToken(cookies[0].Value)
			require.NoError(t, err)
			require.Zero(t, content.Unsure, path)
			require.Len(t, content.Positions, 1)
		}
	}
	require.EqualValues(t, 20, sessions.Stats().Carried)
}

// What a client does, as often as it likes, is a doubt of its own session. Reads without
// a session in the same process are not bound by it: nobody could take all of them to
// the primary.
func TestClientsMakeNobodyElseDoubt(t *testing.T) {
	_, dsns := database(t)
	process, plugin, err := open(dsns) // no test has left it anything to see
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, plugin.Close(context.WithoutCancel(t.Context()))) })
	elsewhere := func() string {
		server, err := served(process.WithContext(t.Context()))
		require.NoError(t, err)
		return server
	}
	eventually(t, "replicas serve", func() bool { return elsewhere() != "primary" })
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		store session.Store
		send  func(r *http.Request) *http.Request
	}{
		"more cookies than are joined": {nil, func(r *http.Request) *http.Request {
			for i := range 40 {
				r.AddCookie(&http.Cookie{Name: fmt.Sprintf("X-Last-Write-Lsn-AAAAAAAA%c%c", 'A'+i/20, 'A'+i%20), Value: "x"})
			}
			return r
		}},
		"it goes away while the store is asked": {impatient{}, func(r *http.Request) *http.Request { return r.WithContext(gone) }},
	} {
		t.Run(name, func(t *testing.T) {
			options := httpsession.Options{Store: c.store}
			if c.store != nil {
				options.User = func(*http.Request) string { return "ann" }
			}
			sessions, err := httpsession.New(options)
			require.NoError(t, err)
			var own string
			sessions.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				own, err = served(process.WithContext(context.WithoutCancel(r.Context())))
			})).ServeHTTP(httptest.NewRecorder(), c.send(httptest.NewRequest(http.MethodGet, "/", nil)))
			require.NoError(t, err)
			assert.Equal(t, "primary", own)
			for range 10 {
				require.NotEqual(t, "primary", elsewhere())
			}
		})
	}
}

// impatient is a store that gives up with its context.
type impatient struct{ session.Store }

func (impatient) Load(ctx context.Context, _ string) (session.Token, error) {
	return session.Token{}, ctx.Err()
}
