package status_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/status"
	"github.com/readsplit/readsplit/testenv"
)

type fixture struct {
	*gorm.DB
	c      *testenv.Cluster
	plugin *readsplit.Plugin
	page   *status.Page
	url    string
}

func start(t *testing.T, o status.Options) *fixture {
	t.Helper()
	c := testenv.Start(t)
	o.Ring = observe.NewRing(100)
	cfg := readsplit.Config{Observers: []any{o.Ring}, SampleEvery: 20 * time.Millisecond, SampleTimeout: 10 * time.Second}
	for _, r := range c.Replicas() {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: r.Name(), Dialector: postgres.Open(r.DSN())})
	}
	f := &fixture{c: c, plugin: readsplit.New(cfg)}
	var err error
	f.DB, err = gorm.Open(postgres.Open(c.Primary().DSN()), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	require.NoError(t, f.Use(f.plugin))
	f.page, err = status.New(f.plugin, o)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/debug/readsplit/", f.page)
	server := httptest.NewServer(mux)
	f.url = server.URL + "/debug/readsplit/"
	t.Cleanup(func() {
		require.NoError(t, f.page.Close())
		require.NoError(t, f.page.Close(), "closing again does nothing")
		server.Close()
		pool, err := f.DB.DB()
		require.NoError(t, err)
		require.NoError(t, f.plugin.Close(context.Background()))
		require.NoError(t, pool.Close())
	})
	return f
}

// answer is a response that was read.
type answer struct {
	code   int
	header http.Header
	text   string
}

func (f *fixture) get(t *testing.T, name string) answer {
	t.Helper()
	res, err := http.Get(f.url + name)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return answer{res.StatusCode, res.Header, string(b)}
}

func (f *fixture) report(t *testing.T) status.Report {
	t.Helper()
	var r status.Report
	require.NoError(t, json.Unmarshal([]byte(f.get(t, "status.json").text), &r))
	return r
}

func (f *fixture) state(t *testing.T, server string) string {
	t.Helper()
	for _, s := range f.report(t).Routers[0].Servers {
		if s.Name == server {
			return s.State
		}
	}
	return "missing"
}

func (f *fixture) becomes(t *testing.T, server, state string) {
	t.Helper()
	require.Eventually(t, func() bool { return f.state(t, server) == state }, 20*time.Second, 20*time.Millisecond, "%s should become %s", server, state)
}

// post asks as a browser does, from a page of the site from.
func (f *fixture) post(t *testing.T, what, from string, form url.Values) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, f.url+what, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", from)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(b)
}

func TestPage(t *testing.T) {
	allowed := false
	f := start(t, status.Options{Every: 100 * time.Millisecond, Keep: 10 * time.Second, Authorize: func(*http.Request) bool { return allowed }})
	f.becomes(t, "replica1", "up")
	require.NoError(t, f.Exec("CREATE TABLE orders (id int)").Error)
	user := readsplit.WithSession(t.Context(), readsplit.NewSession())
	for range 5 {
		require.NoError(t, f.WithContext(user).Raw("SELECT count(*) FROM orders").Scan(new(int)).Error)
	}

	t.Run("JSON", func(t *testing.T) {
		require.Eventually(t, func() bool {
			r := f.report(t).Routers[0]
			return r.Reads.Replicas+r.Reads.Primary >= 5
		}, 10*time.Second, 20*time.Millisecond)
		r := f.report(t)
		require.Len(t, r.Routers, 1)
		servers := r.Routers[0].Servers
		require.Len(t, servers, 3)
		assert.True(t, servers[0].Primary)
		assert.Equal(t, "standby", servers[1].Role)
		assert.NotNil(t, servers[1].Lag)
		assert.NotEmpty(t, servers[1].Position)
		require.NotNil(t, r.Routers[0].Reads.Share)
		var reads uint64
		for _, reason := range r.Routers[0].Reasons {
			reads += reason.Count
		}
		assert.GreaterOrEqual(t, reads, uint64(6))
		require.NotEmpty(t, r.Decisions)
		assert.Contains(t, []string{"replica1", "replica2", "primary"}, r.Decisions[0].Server)
		assert.False(t, r.MayOperate)
		assert.Equal(t, "no-store", f.get(t, "status.json").header.Get("Cache-Control"))
	})

	t.Run("events", func(t *testing.T) {
		res, err := http.Get(f.url + "events")
		require.NoError(t, err)
		defer res.Body.Close()
		assert.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		var first, second struct {
			status.Report
			History []status.History
		}
		for _, into := range []any{&first, &second} {
			for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
			}
			require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), into))
		}
		assert.Len(t, first.History, 3)
		assert.Empty(t, second.History, "the past is sent once")
		assert.True(t, second.At.After(first.At))
	})

	t.Run("assets", func(t *testing.T) {
		for name, kind := range map[string]string{"": "text/html; charset=utf-8", "page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"} {
			got := f.get(t, name)
			assert.Equal(t, http.StatusOK, got.code)
			assert.Equal(t, kind, got.header.Get("Content-Type"))
			assert.NotContains(t, got.text, "http://localhost")
			assert.Contains(t, got.header.Get("Content-Security-Policy"), "default-src 'none'")
		}
		assert.Equal(t, http.StatusNotFound, f.get(t, "other").code)
	})

	t.Run("operating", func(t *testing.T) {
		drain := url.Values{"replica": {"replica1"}}
		code, _ := f.post(t, "drain", "same-origin", drain)
		assert.Equal(t, http.StatusForbidden, code, "nobody may")
		allowed = true
		defer func() { allowed = false }()
		code, _ = f.post(t, "drain", "cross-site", drain)
		assert.Equal(t, http.StatusForbidden, code, "another site asks")
		assert.Equal(t, http.StatusMethodNotAllowed, f.get(t, "drain").code)
		assert.Equal(t, "up", f.state(t, "replica1"))

		code, text := f.post(t, "drain", "same-origin", drain)
		require.Equal(t, http.StatusNoContent, code, text)
		assert.Equal(t, "drained", f.state(t, "replica1"))
		assert.True(t, f.report(t).MayOperate)
		code, text = f.post(t, "resume", "same-origin", drain)
		require.Equal(t, http.StatusNoContent, code, text)
		f.becomes(t, "replica1", "up")
		code, text = f.post(t, "resume", "same-origin", url.Values{"replica": {"nobody"}})
		assert.Equal(t, http.StatusBadRequest, code)
		assert.Contains(t, text, "nobody")

		code, text = f.post(t, "traffic", "same-origin", url.Values{"kill_switch": {"true"}})
		require.Equal(t, http.StatusNoContent, code, text)
		require.NotNil(t, f.report(t).Routers[0].Traffic)
		assert.True(t, f.report(t).Routers[0].Traffic.KillSwitch)
		code, _ = f.post(t, "traffic", "same-origin", url.Values{"kill_switch": {"perhaps"}})
		assert.Equal(t, http.StatusBadRequest, code)
		code, text = f.post(t, "traffic", "same-origin", url.Values{"kill_switch": {"false"}})
		require.Equal(t, http.StatusNoContent, code, text)
		assert.Nil(t, f.report(t).Routers[0].Traffic)
	})

	t.Run("faults", func(t *testing.T) {
		undo, err := f.c.Server("replica2").PauseReplay(t.Context())
		require.NoError(t, err)
		f.becomes(t, "replica2", "paused")
		require.NoError(t, undo())
		f.becomes(t, "replica2", "up")
		undo, err = f.c.Server("replica2").Cut(t.Context())
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			// A quiet primary has nothing that could be missed.
			require.NoError(t, f.Exec("INSERT INTO orders VALUES (1)").Error)
			return f.state(t, "replica2") == "cut off"
		}, 30*time.Second, 50*time.Millisecond)
		h := f.report(t).Headline
		assert.Equal(t, status.Bad, h.Level)
		assert.Equal(t, "replica2 is cut off. replica1 serves reads.", h.Text)
		require.NoError(t, undo())
		f.becomes(t, "replica2", "up")
		require.Eventually(t, func() bool {
			return slices.ContainsFunc(f.report(t).Changes, func(c status.Change) bool { return c.State == "receives" })
		}, 20*time.Second, 20*time.Millisecond)

		undo, err = f.c.Server("replica2").Kill(t.Context())
		require.NoError(t, err)
		f.becomes(t, "replica2", "down")
		require.NoError(t, undo())
		f.becomes(t, "replica2", "up")
		states := map[string]string{}
		text := f.get(t, "status.json?history").text
		for _, c := range f.report(t).Changes {
			states[c.State] = c.Why
		}
		assert.Contains(t, states, "down")
		assert.NotEmpty(t, states["down"], "says why")
		for _, told := range []string{"paused", "replays", "cut_off", "receives"} {
			assert.Contains(t, states, told)
		}
		assert.Empty(t, f.report(t).Notices)
		for _, part := range []string{"password", f.c.Primary().DSN(), "user=", "postgres://"} {
			assert.NotContains(t, text, part)
		}
	})
}

func TestOptions(t *testing.T) {
	for text, o := range map[string]status.Options{
		"Options.Every is 1ms: it must be at least 100ms":                  {Every: time.Millisecond},
		"Options.Keep is 1s: it must be from Options.Every, 2s, to 3600":   {Every: 2 * time.Second, Keep: time.Second},
		"Options.Keep is 2h0m0s: it must be from Options.Every, 1s, to 36": {Keep: 2 * time.Hour},
	} {
		_, err := status.New(readsplit.New(readsplit.Config{}), o)
		require.ErrorContains(t, err, text)
	}
	_, err := status.New(nil, status.Options{Every: 1, Keep: 1})
	for _, part := range []string{"the plugin is nil", "Options.Every is 1ns"} {
		require.ErrorContains(t, err, part)
	}
}

// A page of a plugin that is not in use yet shows what there is: nothing.
func TestPageBeforeUse(t *testing.T) {
	page, err := status.New(readsplit.New(readsplit.Config{}), status.Options{})
	require.NoError(t, err)
	defer page.Close()
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/status.json", nil))
	require.Equal(t, http.StatusOK, w.Code)
	var r status.Report
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &r), fmt.Sprint(w.Body))
	require.Equal(t, "unknown", r.Routers[0].Servers[0].State)
}

// A ring that hears nothing would say that nothing has happened.
func TestPageSaysThatItsRingIsDeaf(t *testing.T) {
	f := start(t, status.Options{})
	page, err := status.New(f.plugin, status.Options{Ring: observe.NewRing(10), Every: 100 * time.Millisecond, Keep: time.Second})
	require.NoError(t, err)
	defer page.Close()
	notices := func() []string {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/status.json", nil))
		var r status.Report
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &r))
		return r.Notices
	}
	require.Eventually(t, func() bool { return len(notices()) > 0 }, 20*time.Second, 50*time.Millisecond)
	require.Equal(t, []string{"Decisions and changes are missing here: the ring of status.Options.Ring is not among Config.Observers of this plugin."}, notices())
	require.Empty(t, f.report(t).Notices, "its own is")
}
