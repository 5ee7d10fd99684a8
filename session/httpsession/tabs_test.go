package httpsession

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/session"
)

// browser is a client with a real cookie jar.
type browser struct {
	t      testing.TB
	server *httptest.Server
	jar    http.CookieJar
	client *http.Client
}

func newBrowser(t testing.TB, s *Sessions, h http.HandlerFunc) *browser {
	t.Helper()
	server := serve(t, s.Handler(h), true) // cookies are Secure
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := *server.Client()
	client.Jar = jar
	return &browser{t, server, jar, &client}
}

func (b *browser) do(method, path string) {
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.server.URL+path, nil)
	if !assert.NoError(b.t, err) {
		return
	}
	res, err := b.client.Do(req)
	if assert.NoError(b.t, err) {
		_ = res.Body.Close()
	}
}

// has returns the cookies that the browser has of these sessions.
func (b *browser) has() (names, values []string) {
	u, err := url.Parse(b.server.URL)
	require.NoError(b.t, err)
	for _, c := range b.jar.Cookies(u) {
		if ours(defaultName, c.Name) {
			names, values = append(names, c.Name), append(values, c.Value)
		}
	}
	return names, values
}

// covers returns the writes that the browser's cookies tell of, together.
func (b *browser) covers() []string {
	_, values := b.has()
	all := map[string]bool{}
	for _, v := range values {
		for name := range strings.SplitSeq(v, ".") {
			all[name] = true
		}
	}
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// gates let a test say when a request's handler goes on and when its response does.
type gates struct {
	mu sync.Mutex
	by map[string]chan struct{}
}

func (g *gates) of(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.by == nil {
		g.by = map[string]chan struct{}{}
	}
	if g.by[name] == nil {
		g.by[name] = make(chan struct{})
	}
	return g.by[name]
}

// shop writes what its path says and answers when its gate opens.
func shop(g *gates) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if r.Method == http.MethodPost {
			of(r).wrote(name)
		}
		if g != nil && strings.HasPrefix(name, "slow") {
			g.of(name + " wrote") <- struct{}{}
			<-g.of(name)
		}
		w.WriteHeader(http.StatusOK)
	}
}

// R14: two tabs of one browser write at the same time. Whichever response comes last,
// it does not take back what the other one told.
func TestTwoTabs(t *testing.T) {
	for name, order := range map[string][]string{"first comes first": {"slow1", "slow2"}, "first comes last": {"slow2", "slow1"}} {
		t.Run(name, func(t *testing.T) {
			s, _ := faked(t, Options{})
			g := &gates{}
			b := newBrowser(t, s, shop(g))
			b.do("POST", "/before")
			require.Equal(t, []string{"before"}, b.covers())
			done := map[string]chan struct{}{}
			for _, path := range []string{"slow1", "slow2"} {
				done[path] = make(chan struct{})
				go func() {
					defer close(done[path])
					b.do("POST", "/"+path)
				}()
				<-g.of(path + " wrote")
			}
			for _, path := range order {
				close(g.of(path))
				<-done[path]
				require.Contains(t, b.covers(), path)
			}
			names, _ := b.has()
			require.Len(t, names, 2)
			require.Equal(t, []string{"before", "slow1", "slow2"}, b.covers())

			b.do("GET", "/") // wrote nothing, and tidies up
			names, values := b.has()
			require.Len(t, names, 1)
			require.Equal(t, []string{"before.slow1.slow2"}, values)
			b.do("GET", "/")
			again, _ := b.has()
			require.Equal(t, names, again, "one cookie stays as it is")
		})
	}
}

// A response that was under way when another one told more does not remove what it did
// not know.
func TestSlowResponseRemovesOnlyWhatItKnew(t *testing.T) {
	s, _ := faked(t, Options{})
	g := &gates{}
	b := newBrowser(t, s, shop(g))
	b.do("POST", "/a")
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.do("POST", "/slow")
	}()
	<-g.of("slow wrote")
	for i := range 5 {
		b.do("POST", fmt.Sprint("/b", i))
	}
	require.Equal(t, []string{"a", "b0", "b1", "b2", "b3", "b4"}, b.covers())
	close(g.of("slow"))
	<-done
	require.Equal(t, []string{"a", "b0", "b1", "b2", "b3", "b4", "slow"}, b.covers())
	names, _ := b.has()
	require.Len(t, names, 2)
}

// Many writers of one user at once, then many readers at once: one cookie is left, and
// nothing is missing.
func TestCookiesOfParallelWritersBecomeOne(t *testing.T) {
	s, _ := faked(t, Options{})
	b := newBrowser(t, s, shop(nil))
	parallel := func(n int, method, path string) {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { b.do(method, fmt.Sprint(path, i)) })
		}
		all.Wait()
	}
	parallel(24, "POST", "/w")
	var want []string
	for i := range 24 {
		want = append(want, fmt.Sprint("w", i))
	}
	slices.Sort(want)
	require.Equal(t, want, b.covers())
	parallel(24, "GET", "/r")
	names, _ := b.has()
	require.Len(t, names, 1, "readers that overlap leave one cookie, not one each")
	require.Equal(t, want, b.covers())
	for round := range 5 {
		parallel(6, "POST", fmt.Sprint("/round", round, "-"))
		parallel(6, "GET", "/")
	}
	names, _ = b.has()
	require.Len(t, names, 1)
	require.Len(t, b.covers(), 24+5*6)
	require.Zero(t, s.Stats().TooMany)
}

// More cookies than are joined: the session is in doubt, and comes out of it with one.
func TestTooManyCookiesAreADoubt(t *testing.T) {
	s, _ := faked(t, Options{})
	b := newBrowser(t, s, shop(nil))
	u, err := url.Parse(b.server.URL)
	require.NoError(t, err)
	var many []*http.Cookie
	for range mostJoined + 10 {
		many = append(many, &http.Cookie{Name: defaultName + "-" + newID(), Value: "x" + newID(), Path: "/", Secure: true})
	}
	b.jar.SetCookies(u, many)
	for range 2 { // one response removes 32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { b.do("GET", "/") })
		}
		all.Wait()
	}
	some, _ := b.has()
	require.LessOrEqual(t, len(some), 8, "also when several come with them at once")
	b.do("GET", "/")
	names, values := b.has()
	require.Len(t, names, 1)
	require.True(t, strings.HasSuffix(values[0], "."+unsure))
	require.Positive(t, s.Stats().TooMany)
}

// With monotonic reads what a read has shown is told too. Two such responses tell what
// no other one does.
func TestWhatReadsHaveShownIsNotOverwritten(t *testing.T) {
	s, _ := faked(t, Options{})
	b := newBrowser(t, s, func(_ http.ResponseWriter, r *http.Request) { of(r).showed(strings.TrimPrefix(r.URL.Path, "/")) })
	b.do("GET", "/a")
	var all sync.WaitGroup
	for _, path := range []string{"/b", "/c", "/d"} {
		all.Go(func() { b.do("GET", path) })
	}
	all.Wait()
	require.Equal(t, []string{"a", "b", "c", "d"}, b.covers())
}

func TestNamesOfCookies(t *testing.T) {
	for name, want := range map[string]bool{
		"X":                               true,
		"X-ABCDEFGH23":                    true,
		"X-" + newID():                    true,
		"X-" + sameID([]string{"a", "b"}): true,
		"X-ABCDEFGH2":                     false,
		"X-ABCDEFGH234":                   false,
		"X-abcdefgh23":                    false,
		"X_ABCDEFGH23":                    false,
		"Y-ABCDEFGH23":                    false,
		"X-Admin":                         false,
		"":                                false,
	} {
		assert.Equal(t, want, ours("X", name), name)
	}
	assert.Equal(t, sameID([]string{"a", "b"}), sameID([]string{"b", "a"}), "the order of what came says nothing")
	assert.NotEqual(t, sameID([]string{"a", "b"}), sameID([]string{"ab"}))
	assert.NotEqual(t, sameID([]string{"a"}), sameID([]string{"b"}))
	ids := map[string]bool{}
	for range 1000 {
		ids[newID()] = true
	}
	assert.Len(t, ids, 1000)
	came := []string{"b", "a"}
	sameID(came)
	assert.Equal(t, []string{"b", "a"}, came)
}

// What a POST covers that was written without a session is its own too: the token of
// another response may not cover it.
func TestUnscopedWritesAreNotOverwritten(t *testing.T) {
	s, _ := faked(t, Options{})
	b := newBrowser(t, s, func(_ http.ResponseWriter, r *http.Request) {
		f := of(r)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.others = true
		f.covers[strings.TrimPrefix(r.URL.Path, "/")] = true
	})
	var all sync.WaitGroup
	for _, path := range []string{"/a", "/b", "/c"} {
		all.Go(func() { b.do("POST", path) })
	}
	all.Wait()
	require.Equal(t, []string{"a", "b", "c"}, b.covers())
}

// However many cookies a response removes, proxies take its header: 4 KiB is what the
// commonest of them allows.
func TestHeaderStaysSmall(t *testing.T) {
	s, _ := faked(t, Options{})
	req := httptest.NewRequest(http.MethodPost, "/w", nil)
	for range 2 * mostRemoved {
		req.AddCookie(&http.Cookie{Name: defaultName + "-" + newID(), Value: "a"})
	}
	rec := httptest.NewRecorder()
	s.Handler(shop(nil)).ServeHTTP(rec, req)
	var b strings.Builder
	require.NoError(t, rec.Result().Header.Write(&b))
	require.Equal(t, 1+mostRemoved, strings.Count(b.String(), "Set-Cookie"))
	require.Less(t, b.Len()+session.MaxTokenLength, 3<<10)
}
