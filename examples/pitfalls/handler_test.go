package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/explain/explaintest"
	"github.com/readsplit/readsplit/internal/orderlab"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session/httpsession"
	"github.com/readsplit/readsplit/testenv"
)

// What follows is docs/testing.md: the tests that an application has, so that none of
// the pitfalls comes back. TestTestingPage holds the page to it.

// cluster is a real primary and two replicas, for all tests of the package.
var cluster *testenv.Cluster

func TestMain(m *testing.M) {
	var err error
	if cluster, err = newCluster(context.Background(), ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := cluster.Close(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// book is what the shop under test sells.
type book struct {
	ID    int64
	Title string
}

// shop is the application under test: it knows nothing of replicas.
func shop(db *gorm.DB) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /books", func(w http.ResponseWriter, r *http.Request) {
		if err := db.WithContext(r.Context()).Create(&book{Title: r.FormValue("title")}).Error; err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("GET /books", func(w http.ResponseWriter, r *http.Request) {
		var all []book
		if err := db.WithContext(r.Context()).Find(&all).Error; err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
		fmt.Fprint(w, all)
	})
	return mux
}

// databases counts, so that each test, and each run of it, has a name of its own.
var databases atomic.Int64

// newDatabase opens a database of a test's own on the shared cluster, with the tables
// in it, and undoes the faults when the test ends.
func newDatabase(t *testing.T) (db *gorm.DB, name string) {
	t.Helper()
	name = fmt.Sprintf("test%d", databases.Add(1))
	require.NoError(t, cluster.CreateDatabase(t.Context(), name))
	t.Cleanup(func() { require.NoError(t, cluster.UndoAll()) })
	db, err := gorm.Open(postgres.Open(cluster.Primary().DSNFor(name)), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	require.NoError(t, db.AutoMigrate(&book{}))
	require.NoError(t, cluster.WaitCaughtUp(t.Context()))
	return db, name
}

// use installs the plugin as the application does.
func use(t *testing.T, db *gorm.DB, name string) *readsplit.Plugin {
	t.Helper()
	var cfg readsplit.Config
	for _, r := range cluster.Replicas() {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: r.Name(), Dialector: postgres.Open(r.DSNFor(name))})
	}
	plugin := readsplit.New(cfg)
	require.NoError(t, db.Use(plugin))
	t.Cleanup(func() { require.NoError(t, plugin.Close(context.Background())) })
	return plugin
}

// browser talks to a server as a person does: with cookies.
type browser struct {
	*http.Client
	address string
}

func newBrowser(t *testing.T, app http.Handler) browser {
	t.Helper()
	server := httptest.NewTLSServer(app) // cookies of sessions are Secure
	t.Cleanup(server.Close)
	client := server.Client()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client.Jar = jar
	return browser{client, server.URL}
}

func (b browser) post(t *testing.T, title string) {
	t.Helper()
	answer, err := b.PostForm(b.address+"/books", url.Values{"title": {title}})
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
}

func (b browser) list(t *testing.T) string {
	t.Helper()
	answer, err := b.Get(b.address + "/books")
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}

func TestListHasWhatWasJustAdded(t *testing.T) {
	db, name := newDatabase(t)
	use(t, db, name)
	customer := newBrowser(t, httpsession.Handler(shop(db)))
	for _, r := range cluster.Replicas() { // they stay in the past
		_, err := r.PauseReplay(t.Context())
		require.NoError(t, err)
	}

	customer.post(t, "Middlemarch")
	require.Contains(t, customer.list(t), "Middlemarch")

	// The test can fail: no replica has it.
	for _, r := range cluster.Replicas() {
		replica, err := gorm.Open(postgres.Open(r.DSNFor(name)), &gorm.Config{Logger: logger.Discard})
		require.NoError(t, err)
		var n int64
		require.NoError(t, replica.Model(&book{}).Count(&n).Error)
		require.Zero(t, n)
		pool, err := replica.DB()
		require.NoError(t, err)
		require.NoError(t, pool.Close())
	}
}

func TestWhereReadsGo(t *testing.T) {
	db, name := newDatabase(t)
	plugin := use(t, db, name)
	require.Eventually(t, func() bool { // the first news of the replicas
		replicas := plugin.Status().Replicas
		return replicas[0].Up && replicas[1].Up
	}, 30*time.Second, 5*time.Millisecond)
	// A read of nothing but books may go to a replica; one that must be current may not.
	ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
	books := func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) }
	explaintest.UsesPrimary(t, readsplit.Fresh(ctx), db, policy.ReasonFresh, books)
	explaintest.MayUseReplica(t, readsplit.AnyReplica(ctx), db, books)
}

// End of the page.

// TestListWithoutReadsplit: what the test of the page is worth. The same shop over
// dbresolver fails it.
func TestListWithoutReadsplit(t *testing.T) {
	db, name := newDatabase(t)
	var cfg dbresolver.Config
	for _, r := range cluster.Replicas() {
		cfg.Replicas = append(cfg.Replicas, postgres.Open(r.DSNFor(name)))
	}
	resolver := dbresolver.Register(cfg)
	require.NoError(t, db.Use(resolver))
	t.Cleanup(func() { require.NoError(t, orderlab.CloseResolver(resolver)) })
	customer := newBrowser(t, shop(db))
	for _, r := range cluster.Replicas() {
		_, err := r.PauseReplay(t.Context())
		require.NoError(t, err)
	}
	customer.post(t, "Middlemarch")
	require.NotContains(t, customer.list(t), "Middlemarch")
}

// TestTestingPage holds each block of docs/testing.md to this file, word for word.
func TestTestingPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "testing.md"))
	require.NoError(t, err)
	code, err := os.ReadFile("handler_test.go")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, 4)
	for _, b := range blocks {
		require.Contains(t, string(code), b[1])
	}
}
