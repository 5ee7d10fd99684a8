package httpsession_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/readonlyguard"
	"github.com/readsplit/readsplit/session/httpsession"
)

func preferPrimary(c *readsplit.Config) { c.Default = readsplit.PreferPrimary }

// get asks a handler and returns the body.
func get(t testing.TB, h http.Handler, method, url string) string {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, url, nil))
	require.Equal(t, http.StatusOK, rec.Code, rec.Body.String())
	return rec.Body.String()
}

// who answers with the server that answers its read.
func who(db *gorm.DB) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server, err := served(db.WithContext(r.Context()))
		if err != nil {
			server = err.Error()
		}
		_, _ = w.Write([]byte(server))
	})
}

func must(t testing.TB, o httpsession.Options) *httpsession.Sessions {
	t.Helper()
	s, err := httpsession.New(o)
	require.NoError(t, err)
	return s
}

// With Config.Default PreferPrimary only marked endpoints use replicas, and one line
// points an endpoint there.
func TestOnlyMarkedEndpointsUseReplicas(t *testing.T) {
	_, dsns := database(t)
	db := opened(t, dsns, preferPrimary)
	read := who(db)
	mux := http.NewServeMux()
	mux.Handle("GET /page", read)
	mux.Handle("GET /report", httpsession.UseReplica(read))
	mux.Handle("GET /by/route", read)
	mux.Handle("/admin/", read)
	h := must(t, httpsession.Options{Routes: map[string]httpsession.Mark{
		"GET /by/{what}":            httpsession.UseReplica,
		"/admin/":                   httpsession.UseReplica,
		"GET /admin/now":            httpsession.Fresh,
		"GET replicas.example.com/": httpsession.UseReplica,
	}}).Handler(mux)
	for url, replica := range map[string]bool{
		"/page": false, "/report": true, "/by/route": true, "/admin/a/b": true, "/admin/now": false,
		"http://replicas.example.com/page": true,
	} {
		for range 5 {
			server := get(t, h, "GET", url)
			assert.Equal(t, replica, strings.HasPrefix(server, "replica"), "%s is served by %s", url, server)
		}
	}
	assert.Contains(t, []string{"replica1", "replica2"}, get(t, h, "POST", "/admin/now"), "the pattern of another method does not count")
}

func TestMarks(t *testing.T) {
	c, dsns := database(t)
	db := opened(t, dsns)
	read := who(db)
	write := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		db.WithContext(r.Context()).Create(&order{Customer: "nobody"})
	})
	all := must(t, httpsession.Options{}).Handler
	assert.Contains(t, []string{"replica1", "replica2"}, get(t, all(read), "GET", "/"))
	assert.Equal(t, "primary", get(t, all(httpsession.Fresh(read)), "GET", "/"))
	for range 5 {
		assert.Equal(t, "replica2", get(t, all(httpsession.Group("group2", read)), "GET", "/"))
	}
	assert.Contains(t, get(t, all(httpsession.Group("nowhere", read)), "GET", "/"), "unknown group")
	func() {
		defer func() {
			_, is := recover().(*readonlyguard.Error)
			assert.True(t, is)
		}()
		get(t, all(httpsession.ReadOnly(write)), "POST", "/")
		assert.Fail(t, "a write was let through")
	}()
	// The nearest to the handler counts.
	assert.Equal(t, "primary", get(t, all(httpsession.Stale(httpsession.Fresh(read))), "GET", "/"))
	assert.Contains(t, []string{"replica1", "replica2"}, get(t, all(httpsession.Fresh(httpsession.UseReplica(read))), "GET", "/"))
	assert.Equal(t, "primary", get(t, all(httpsession.AtMost(0, read)), "GET", "/"))
	// And without the middleware they mark all the same.
	assert.Equal(t, "primary", get(t, httpsession.Fresh(read), "GET", "/"))
	assert.Equal(t, "replica1", get(t, httpsession.Group("group1", read), "GET", "/"))

	limited := opened(t, dsns, func(c *readsplit.Config) { c.MaxLag = 50 * time.Millisecond })
	defer still(t, c)()
	somebody := readsplit.WithSession(t.Context(), readsplit.NewSession())
	buyer := customer("somebody")
	require.NoError(t, db.WithContext(somebody).Create(&order{Customer: buyer}).Error)
	find := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := db.WithContext(r.Context()).First(&order{}, "customer = ?", buyer).Error
		_, _ = fmt.Fprint(w, err)
	})
	assert.Equal(t, gorm.ErrRecordNotFound.Error(), get(t, all(find), "GET", "/"))
	assert.Equal(t, "<nil>", get(t, all(httpsession.Recheck(find)), "GET", "/"))
	require.NoError(t, limited.Create(&order{Customer: "somebody"}).Error)
	eventually(t, "replicas lag", func() bool {
		server, err := served(limited.WithContext(t.Context()))
		return err == nil && server == "primary"
	})
	assert.Equal(t, "primary", get(t, all(who(limited)), "GET", "/"))
	assert.Contains(t, []string{"primary", "replica1", "replica2"}, get(t, all(httpsession.Stale(who(limited))), "GET", "/"))
	assert.Contains(t, []string{"replica1", "replica2"}, get(t, all(httpsession.AnyReplica(who(limited))), "GET", "/"))
	assert.Equal(t, "primary", get(t, all(httpsession.AtMost(time.Millisecond, who(db))), "GET", "/"), "tightens what Off leaves open")
}

// A page is of one piece: all reads of a request run on the server of its first one,
// while others run elsewhere.
func TestOneServerHoldsARequest(t *testing.T) {
	_, dsns := database(t)
	db := opened(t, dsns, func(c *readsplit.Config) { c.Balancer = policy.RoundRobin() })
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var by []string
		for range 5 { // an odd number: the next request begins on the other replica
			server, err := served(db.WithContext(r.Context()))
			assert.NoError(t, err)
			if !slices.Contains(by, server) {
				by = append(by, server)
			}
		}
		_, _ = w.Write([]byte(strings.Join(by, " ")))
	})
	all := must(t, httpsession.Options{Routes: map[string]httpsession.Mark{"GET /by/route": httpsession.OneServer}}).Handler
	for name, ask := range map[string]func() string{
		"mark":  func() string { return get(t, all(httpsession.OneServer(page)), "GET", "/") },
		"route": func() string { return get(t, all(page), "GET", "/by/route") },
	} {
		used := map[string]bool{}
		for range 20 {
			server := ask()
			require.Contains(t, []string{"replica1", "replica2"}, server, name)
			used[server] = true
		}
		require.Len(t, used, 2, name)
	}
	assert.Contains(t, get(t, all(page), "GET", "/"), " ", "and without it they are spread")
}

// records is a slog.Handler's output as values.
type records struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *records) all(t testing.TB) (found []map[string]string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(r.b.String()) {
		var one map[string]string
		require.NoError(t, json.Unmarshal([]byte(line), &one))
		found = append(found, one)
	}
	return found
}

func logged() (*records, *slog.Logger) {
	r := &records{}
	return r, slog.New(slog.NewJSONHandler(r, nil))
}

// here is the place of the line after the one that calls it.
func here() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprint(file, ":", line+1)
}

// A repository that keeps its gorm.DB and never calls WithContext has lost session and
// marks of the request. It is found where it stands in the code, once.
func TestLostContextIsFound(t *testing.T) {
	_, dsns := database(t)
	db := opened(t, dsns)
	log, logger := logged()
	s := must(t, httpsession.Options{Logger: logger})
	var places []string
	at := func(place string, err error) {
		assert.NoError(t, err)
		places = append(places, place)
	}
	var orders []order
	h := s.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		assert.NoError(t, db.WithContext(r.Context()).Find(&orders).Error) // as it should be
		place := here()
		at(place, db.Find(&orders).Error)
		place = here()
		at(place, db.Create(&order{Customer: "ann"}).Error)
		place = here()
		at(place, db.Exec("UPDATE orders SET customer = 'bob' WHERE customer = 'ann'").Error)
		place = here()
		at(place, db.Transaction(func(tx *gorm.DB) error { return tx.Find(&orders).Error }))
		place = here()
		at(place, db.Raw("SELECT 1").Row().Err())
	}))
	server := httptest.NewServer(h)
	defer server.Close()
	require.NoError(t, db.Find(&orders).Error, "while no request is handled, nothing is lost")
	for range 3 {
		res, err := server.Client().Get(server.URL)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	assert.Equal(t, uint64(15), s.Stats().LostContext)
	assert.Zero(t, s.Stats().Outside)
	var found []string
	for _, l := range log.all(t) {
		assert.Contains(t, l["msg"], "without a session and not in the context of a request")
		assert.Contains(t, l["remedy"], "db.WithContext(ctx)")
		found = append(found, l["where"])
	}
	assert.Equal(t, places[:5], found)
}

// A statement for a request before the middleware, or on a route outside of it.
func TestStatementsOutsideOfTheMiddlewareAreFound(t *testing.T) {
	_, dsns := database(t)
	db := opened(t, dsns)
	log, logger := logged()
	s := must(t, httpsession.Options{Logger: logger})
	var place string
	inside := s.Handler(who(db))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var orders []order
		place = here()
		err := db.WithContext(r.Context()).Find(&orders).Error // authentication, say
		if assert.NoError(t, err) {
			inside.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	for range 3 {
		res, err := server.Client().Get(server.URL)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	assert.Equal(t, uint64(3), s.Stats().Outside)
	assert.Zero(t, s.Stats().LostContext)
	lines := log.all(t)
	require.Len(t, lines, 1)
	assert.Equal(t, place, lines[0]["where"])
	assert.Contains(t, lines[0]["msg"], "for a request that has no session")
}

// The transaction of a request around the sessions instead of inside of them.
func TestTransactionAroundTheMiddlewareIsFound(t *testing.T) {
	_, dsns := database(t)
	db := opened(t, dsns)
	log, logger := logged()
	s := must(t, httpsession.Options{Logger: logger})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		tx := r.Context().Value(txKey{}).(*gorm.DB).WithContext(r.Context())
		assert.NoError(t, tx.Create(&order{Customer: "ann"}).Error)
		w.WriteHeader(http.StatusCreated)
	})
	around := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tx := db.WithContext(r.Context()).Begin()
			next.ServeHTTP(w, r.WithContext(contextWith(r, tx)))
			assert.NoError(t, tx.Commit().Error)
		})
	}
	for range 2 {
		rec := httptest.NewRecorder()
		around(s.Handler(mux)).ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", nil))
		assert.Equal(t, http.StatusCreated, rec.Code)
		cookies := rec.Result().Cookies()
		require.Len(t, cookies, 1)
		token, err := readsplit.Config{}.ParseToken(cookies[0].Value)
		require.NoError(t, err)
		assert.True(t, token.Unsure.After(time.Now()), "what it commits is not known yet")
	}
	assert.Equal(t, uint64(2), s.Stats().OpenAtReturn)
	lines := log.all(t)
	var msgs []string
	for _, l := range lines {
		msgs = append(msgs, l["msg"])
		if strings.Contains(l["msg"], "still open when the response was complete") {
			assert.Equal(t, "POST /orders", l["where"])
		}
	}
	assert.Contains(t, msgs[0]+msgs[len(msgs)-1], "still open when the response was complete")
}
