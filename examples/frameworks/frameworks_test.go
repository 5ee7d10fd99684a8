package frameworks

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session/httpsession"
	"github.com/readsplit/readsplit/testenv"
)

var shared struct {
	start   sync.Once
	cluster *testenv.Cluster
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.cluster.Close(context.Background()); err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	os.Exit(code)
}

func limit(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func cluster(t *testing.T) *testenv.Cluster {
	t.Helper()
	shared.start.Do(func() {
		shared.cluster, shared.err = testenv.New(context.Background(), testenv.Config{Replicas: 1})
	})
	require.NoError(t, shared.err)
	t.Cleanup(func() { require.NoError(t, shared.cluster.UndoAll()) })
	return shared.cluster
}

// open is the database of one process of the application. Only endpoints that are
// marked read from replicas.
func open(t *testing.T, c *testenv.Cluster, database string) *Shop {
	t.Helper()
	db, err := gorm.Open(postgres.Open(c.Primary().DSNFor(database)), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	plugin := readsplit.New(readsplit.Config{
		Replicas: []readsplit.Replica{{Name: "replica1", Dialector: postgres.Open(c.Replica(0).DSNFor(database))}},
		Default:  readsplit.PreferPrimary,
		// Where a read goes is up to its session alone, also on a busy machine.
		MaxLag: readsplit.Off, MaxSampleAge: 20 * time.Second, SampleTimeout: 10 * time.Second, MaxWait: 50 * time.Millisecond,
	})
	require.NoError(t, db.Use(plugin))
	t.Cleanup(func() {
		require.NoError(t, plugin.Close(limit(t)))
		pool, err := db.DB()
		require.NoError(t, err)
		require.NoError(t, pool.Close())
	})
	require.Eventually(t, func() bool { return plugin.Status().Replicas[0].Up }, 30*time.Second, 2*time.Millisecond)
	return &Shop{DB: db}
}

// user is a browser.
func user(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &http.Client{Jar: jar, Timeout: 30 * time.Second}
}

func get(t *testing.T, who *http.Client, address string) string {
	t.Helper()
	res, err := who.Get(address)
	require.NoError(t, err)
	return body(t, res)
}

func body(t *testing.T, res *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return string(text)
}

func order(t *testing.T, who *http.Client, at, title, next string) *http.Response {
	t.Helper()
	res, err := who.PostForm(at+"/orders", url.Values{"title": {title}, "next": {next}})
	require.NoError(t, err)
	return res
}

// overHTTP serves what is an http.Handler.
func overHTTP(shop func(*Shop, *httpsession.Sessions) http.Handler) func(*testing.T, *Shop, *httpsession.Sessions) string {
	return func(t *testing.T, s *Shop, sessions *httpsession.Sessions) string {
		server := httptest.NewServer(shop(s, sessions))
		t.Cleanup(server.Close)
		return server.URL
	}
}

func overFiber(t *testing.T, s *Shop, sessions *httpsession.Sessions) string {
	app := Fiber(s, sessions)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- app.Listener(listener) }()
	t.Cleanup(func() {
		require.NoError(t, app.ShutdownWithTimeout(10*time.Second))
		require.NoError(t, <-served)
	})
	return "http://" + listener.Addr().String()
}

// TestFrameworks has each framework in two processes, and a replica that stands still.
// A user who orders at one process sees the order at the other, whatever the answer to
// the order was.
func TestFrameworks(t *testing.T) {
	c := cluster(t)
	for name, serve := range map[string]func(*testing.T, *Shop, *httpsession.Sessions) string{
		"chi":            overHTTP(Chi),
		"echo":           overHTTP(Echo),
		"echoMiddleware": overHTTP(EchoMiddleware),
		"gin":            overHTTP(Gin),
		"fiber":          overFiber,
	} {
		t.Run(name, func(t *testing.T) {
			database := "of_" + strings.ToLower(name)
			require.NoError(t, c.CreateDatabase(limit(t), database))
			var at [2]string
			var own [2]*httpsession.Sessions
			for i := range at {
				s := open(t, c, database)
				if i == 0 {
					require.NoError(t, s.DB.Exec("CREATE TABLE orders (id bigserial PRIMARY KEY, title text)").Error)
				}
				var err error
				own[i], err = httpsession.New(httpsession.Options{Insecure: true}) // no TLS here
				require.NoError(t, err)
				at[i] = serve(t, s, own[i])
			}
			for _, a := range at {
				require.Eventually(t, func() bool { return get(t, user(t), a+"/orders") == "0 on replica1" }, 30*time.Second, 2*time.Millisecond)
			}
			require.NoError(t, c.WaitCaughtUp(limit(t)))
			undo, err := c.Replica(0).PauseReplay(limit(t))
			require.NoError(t, err)
			defer func() { require.NoError(t, undo()) }()

			ann, orders := user(t), 0
			see := func(what string) {
				t.Helper()
				orders++
				want := fmt.Sprintf("%d on primary", orders)
				assert.Equal(t, want, get(t, ann, at[1]+"/orders"), what)
				assert.Equal(t, want, get(t, ann, at[1]+"/reports/daily"), what)
			}
			res := order(t, ann, at[0], "a book", at[1]+"/orders")
			assert.Equal(t, "1 on primary", body(t, res), "the page that the order leads to")
			assert.Equal(t, at[1]+"/orders", res.Request.URL.String())
			see("redirect after POST")

			res = order(t, ann, at[0], "sold out", "")
			assert.Equal(t, http.StatusConflict, res.StatusCode)
			assert.Contains(t, body(t, res), ErrSoldOut.Error())
			see("an error of the framework")

			res = order(t, ann, at[0], "a bug", "")
			assert.Equal(t, http.StatusInternalServerError, res.StatusCode)
			body(t, res)
			see("a panic that the framework recovers")

			res, err = ann.Post(at[0]+"/stream", "text/plain", nil)
			require.NoError(t, err)
			assert.Equal(t, "one two", body(t, res))
			assert.NotEmpty(t, res.Cookies())
			see("a response that is flushed")

			// Others, and endpoints without a mark.
			bob := user(t)
			assert.Equal(t, "0 on replica1", get(t, bob, at[0]+"/orders"))
			assert.Equal(t, "0 on replica1", get(t, bob, at[0]+"/reports/daily"))
			assert.Equal(t, "4 on primary", get(t, bob, at[0]+"/stock"))
			parsed, err := url.Parse(at[0])
			require.NoError(t, err)
			assert.Len(t, ann.Jar.Cookies(parsed), 1)
			assert.Empty(t, bob.Jar.Cookies(parsed), "who writes nothing gets nothing")
			for i, s := range own {
				t.Logf("%s, process %d: %+v", name, i, s.Stats())
			}
		})
	}
}

// A *gin.Context in the place of the request's context loses session and marks, and
// httpsession says so; with Engine.ContextWithFallback it does not.
func TestGinContextInPlaceOfTheRequests(t *testing.T) {
	c := cluster(t)
	require.NoError(t, c.CreateDatabase(limit(t), "of_gin_context"))
	s := open(t, c, "of_gin_context")
	require.NoError(t, s.DB.Exec("CREATE TABLE orders (id bigserial PRIMARY KEY, title text)").Error)
	for _, fallback := range []bool{false, true} {
		sessions, err := httpsession.New(httpsession.Options{Insecure: true, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		gin.SetMode(gin.ReleaseMode)
		e := gin.New()
		e.ContextWithFallback = fallback
		e.GET("/orders", func(c *gin.Context) {
			found, err := s.Orders(c)
			if err != nil {
				_ = c.AbortWithError(http.StatusInternalServerError, err)
				return
			}
			c.String(http.StatusOK, "%s", found)
		})
		server := httptest.NewServer(sessions.Handler(e))
		get(t, user(t), server.URL+"/orders")
		server.Close()
		stats := sessions.Stats()
		assert.Equal(t, !fallback, stats.Outside+stats.LostContext > 0, "%+v", stats)
	}
}
