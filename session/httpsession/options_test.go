package httpsession

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/session"
)

func none(*http.Request) string { return "" }

func TestOptionsReportEveryProblem(t *testing.T) {
	_, err := New(Options{
		Name: "two words", Carry: 9, Wait: 2 * time.Second, Hold: -2, User: none,
		Routes: map[string]Mark{"GET /{": UseReplica, "/a": Fresh, "GET /ok": nil, "/{x}": Fresh, "/{y}": Stale, "": Fresh},
	})
	want := []string{
		"Options.Carry is 9: it must be Cookie, Header, Both or None",
		"Options.Wait is 2s: it must be positive and at most 1s (0 means the default)",
		"Options.Hold is -2: it must be at most 16777216 bytes, or -1 to keep nothing back (0 means the default)",
		"Options.User is set, but Store is nil: there is nothing to ask about users; set Store, or leave User out",
		`Options.Name is "two words": it must be a name that a cookie and a header can have, of letters, digits and dashes`,
		`Options.Routes[""] is no pattern of http.ServeMux beside the others: `,
		`Options.Routes["/{y}"] is no pattern of http.ServeMux beside the others: `,
		`Options.Routes["GET /ok"] is nil: name a mark, such as httpsession.UseReplica, or leave the pattern out`,
		`Options.Routes["GET /{"] is no pattern of http.ServeMux beside the others: `,
	}
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	for _, w := range want {
		assert.Contains(t, err.Error(), "readsplit: httpsession: "+w)
	}
	require.Len(t, lines, len(want)+1, "%v", err) // ServeMux tells of a conflict in two lines
}

func TestOptionsOfTheCookie(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"no path":           {Options{Path: "shop"}, `Path is "shop": it must begin with "/"`},
		"path":              {Options{Path: "/a;b"}, `Path is "/a;b"`},
		"domain":            {Options{Domain: "a b"}, `Domain is "a b": it must be a domain`},
		"same site":         {Options{SameSite: 9}, "SameSite is 9: it must be one of net/http's modes"},
		"none and insecure": {Options{SameSite: http.SameSiteNoneMode, Insecure: true}, "browsers refuse such cookies"},
		"host":              {Options{Name: "__Host-w", Domain: "example.com"}, `only with Path "/", without Domain and without Insecure`},
		"secure":            {Options{Name: "__Secure-w", Insecure: true}, "only without Insecure"},
		"nothing":           {Options{Carry: None}, "Carry is None, but Store is nil"},
		"wait":              {Options{Wait: -1}, "Wait is -1ns"},
		"hold":              {Options{Hold: 1 << 30}, "Hold is 1073741824"},
	} {
		_, err := New(c.o)
		require.ErrorContains(t, err, c.want, name)
		assert.NotContains(t, err.Error(), "\n", name)
	}
	for name, o := range map[string]Options{
		"zero":             {},
		"__Host-":          {Name: "__Host-w"},
		"header only":      {Carry: Header, Path: "nothing that matters"},
		"store alone":      {Carry: None, Store: &memory{}, User: none},
		"identified":       {Carry: None, Store: &memory{}},
		"nothing is held":  {Hold: -1},
		"none over TLS":    {SameSite: http.SameSiteNoneMode},
		"routes and hosts": {Routes: map[string]Mark{"GET example.com/a/{id}": Fresh, "/a/{$}": Stale, "/a/": UseReplica, "POST /b/{rest...}": Fresh}},
	} {
		_, err := New(o)
		require.NoError(t, err, name)
	}
}

func TestAttributesOfTheCookie(t *testing.T) {
	write := func(w http.ResponseWriter, r *http.Request) { of(r).wrote("w") }
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"defaults": {Options{}, "X-Last-Write-Lsn-ID=w; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Lax"},
		"all": {Options{Name: "last", Path: "/shop", Domain: "example.com", SameSite: http.SameSiteStrictMode, Insecure: true},
			"last-ID=w; Path=/shop; Domain=example.com; Max-Age=3600; HttpOnly; SameSite=Strict"},
		"no same site": {Options{SameSite: http.SameSiteDefaultMode}, "X-Last-Write-Lsn-ID=w; Path=/; Max-Age=3600; HttpOnly; Secure"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := faked(t, c.o)
			rec := httptest.NewRecorder()
			s.Handler(http.HandlerFunc(write)).ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", nil))
			lines := rec.Result().Header["Set-Cookie"]
			require.Len(t, lines, 1)
			head, rest, _ := strings.Cut(lines[0], "=")
			require.Equal(t, c.want, head[:len(head)-idLength]+"ID="+rest)

			// It is removed by the same attributes, behind what takes its place.
			req := httptest.NewRequest(http.MethodPost, "/", nil)
			req.Header.Add("Cookie", "other=1; "+head+"=w; "+s.opts.Name+"=plain")
			rec = httptest.NewRecorder()
			s.Handler(http.HandlerFunc(write)).ServeHTTP(rec, req)
			lines = rec.Result().Header["Set-Cookie"]
			require.Len(t, lines, 3)
			require.Contains(t, lines[0], "=plain.w; ")
			gone := strings.Replace(rest, "w; ", "; ", 1)
			gone = strings.Replace(gone, "Max-Age=3600; HttpOnly", "Max-Age=0", 1)
			require.Equal(t, []string{head + "=" + gone, s.opts.Name + "=" + gone}, lines[1:])
		})
	}
}

func TestHeaderCarrier(t *testing.T) {
	s, _ := faked(t, Options{Carry: Header})
	ask := func(method string, tokens ...string) http.Header {
		req := httptest.NewRequest(method, "/w", nil)
		req.Header["Cookie"] = []string{defaultName + "=ignored"}
		for _, token := range tokens {
			req.Header.Add(defaultName, token)
		}
		rec := httptest.NewRecorder()
		s.Handler(shop(nil)).ServeHTTP(rec, req)
		assert.Empty(t, rec.Result().Header["Set-Cookie"])
		return rec.Result().Header
	}
	h := ask("POST")
	assert.Equal(t, "w", h.Get(defaultName))
	assert.Equal(t, "private, no-store", h.Get("Cache-Control"))
	assert.Empty(t, ask("GET", "a")[http.CanonicalHeaderKey(defaultName)], "it wrote nothing: the client has it")
	assert.Equal(t, []string{"a.b.c"}, ask("GET", "a, b", "c")[http.CanonicalHeaderKey(defaultName)], "several become one")
}

func TestBothCarriers(t *testing.T) {
	s, _ := faked(t, Options{Carry: Both})
	req := httptest.NewRequest(http.MethodPost, "/w", nil)
	req.Header.Set("Cookie", defaultName+"=a")
	req.Header.Set(defaultName, "b")
	rec := httptest.NewRecorder()
	s.Handler(shop(nil)).ServeHTTP(rec, req)
	assert.Equal(t, "a.b.w", rec.Result().Header.Get(defaultName))
	set, removed := tokens(rec.Result().Header)
	assert.Equal(t, []string{"a.b.w"}, set)
	assert.Equal(t, 1, removed)
}

func TestResponsesThatCarryAreNotCached(t *testing.T) {
	for name, c := range map[string]struct {
		set  http.Header
		want http.Header
	}{
		"nothing": {http.Header{}, http.Header{"Cache-Control": {"private, no-store"}}},
		"public": {
			http.Header{"Cache-Control": {"public, max-age=60", "stale-while-revalidate=5"}, "Expires": {"Thu, 01 Jan 2037 00:00:00 GMT"}},
			http.Header{"Cache-Control": {"private, no-store"}},
		},
		"private":           {http.Header{"Cache-Control": {"private, max-age=60"}}, http.Header{"Cache-Control": {"private, no-store"}}},
		"not transformed":   {http.Header{"Cache-Control": {"public, No-Transform"}}, http.Header{"Cache-Control": {"private, no-store, no-transform"}}},
		"delivery networks": {http.Header{"Cdn-Cache-Control": {"max-age=9"}, "Cloudflare-Cdn-Cache-Control": {"max-age=9"}, "Surrogate-Control": {"max-age=9"}}, http.Header{"Cache-Control": {"private, no-store"}}},
		"others stay":       {http.Header{"Etag": {`"1"`}, "Vary": {"Accept"}}, http.Header{"Cache-Control": {"private, no-store"}, "Etag": {`"1"`}, "Vary": {"Accept"}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, writes := range []bool{true, false} {
				s, _ := faked(t, Options{})
				rec := httptest.NewRecorder()
				s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					for k, v := range c.set {
						w.Header()[k] = v
					}
					if writes {
						of(r).wrote("w")
					}
				})).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", nil))
				got := rec.Result().Header.Clone()
				delete(got, "Set-Cookie")
				if writes {
					assert.Equal(t, c.want, got)
				} else {
					assert.Equal(t, c.set, got)
				}
			}
		})
	}
}

// What a service writes that has lost the context of its POST is covered too.
func TestUnsafeMethodsCoverWhatHasNoSession(t *testing.T) {
	s, _ := faked(t, Options{})
	for method, want := range map[string]bool{
		"GET": false, "HEAD": false, "OPTIONS": false, "TRACE": false,
		"POST": true, "PUT": true, "PATCH": true, "DELETE": true, "PURGE": true,
	} {
		s.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			assert.Equal(t, want, of(r).covered, method)
		})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, "/", nil))
	}
	assert.Equal(t, uint64(9), s.Stats().Requests)
}

// Where it is applied twice, for the whole and for a group, a request has one session.
func TestHandlerInsideAHandler(t *testing.T) {
	outer, _ := faked(t, Options{})
	inner, _ := faked(t, Options{Name: "Y", Routes: map[string]Mark{"/x": func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Marked", "1"); h.ServeHTTP(w, r) })
	}}})
	rec := httptest.NewRecorder()
	outer.Handler(inner.Handler(shop(nil))).ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/x", nil))
	assert.Len(t, rec.Result().Cookies(), 1)
	set, _ := tokens(rec.Result().Header)
	assert.Equal(t, []string{"x"}, set)
	assert.Equal(t, "1", rec.Result().Header.Get("X-Marked"))
	assert.Zero(t, inner.Stats().Requests)
}

// What cannot work is said when the application starts, not by each request.
func TestNothingIsSaidAtOnce(t *testing.T) {
	_, err := New(Options{Store: (*session.Memory)(nil)})
	require.ErrorContains(t, err, "Store is a nil *session.Memory")
	for name, call := range map[string]func(){
		"Handler": func() { Handler(nil) },
		"a mark":  func() { Fresh(nil) },
	} {
		require.PanicsWithValue(t, "readsplit: httpsession: the handler is nil: give the one that serves the requests", call, name)
	}
}
