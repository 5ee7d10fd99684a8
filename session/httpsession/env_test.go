package httpsession_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session/httpsession"
	"github.com/readsplit/readsplit/testenv"
)

// One cluster, a primary and two replicas, that the tests share.
var shared struct {
	start   sync.Once
	cluster *testenv.Cluster
	err     error
}

func startShared() error {
	shared.start.Do(func() { shared.cluster, shared.err = testenv.New(context.Background(), testenv.Config{}) })
	return shared.err
}

func cluster(t testing.TB) *testenv.Cluster {
	t.Helper()
	require.NoError(t, startShared())
	t.Cleanup(func() { require.NoError(t, shared.cluster.UndoAll()) })
	return shared.cluster
}

// asProcess makes the test program an application process instead: its value has the
// DSNs of the primary and the replicas, by lines.
const asProcess = "READSPLIT_HTTPSESSION_PROCESS"

func TestMain(m *testing.M) {
	if servers := os.Getenv(asProcess); servers != "" {
		if err := process(strings.Split(servers, "\n")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.cluster.Close(context.Background()); err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	os.Exit(code)
}

// made is the database of the tests, which has a table of orders. Each test has
// customers of its own.
var made struct {
	once sync.Once
	err  error
}

const databaseName = "orders"

func makeDatabase(ctx context.Context, c *testenv.Cluster) error {
	made.once.Do(func() {
		made.err = func() error {
			if err := c.CreateDatabase(ctx, databaseName); err != nil {
				return err
			}
			db, err := gorm.Open(postgres.Open(c.Primary().DSNFor(databaseName)), &gorm.Config{Logger: logger.Discard})
			if err != nil {
				return err
			}
			pool, err := db.DB()
			if err != nil {
				return err
			}
			return errors.Join(db.Exec("CREATE TABLE orders (id bigserial PRIMARY KEY, customer text)").Error, pool.Close())
		}()
	})
	if made.err != nil {
		return made.err
	}
	return c.WaitCaughtUp(ctx)
}

// dsnsOf returns the DSNs of the database, the primary's first.
func dsnsOf(c *testenv.Cluster) (dsns []string) {
	for _, s := range c.Servers() {
		dsns = append(dsns, s.DSNFor(databaseName))
	}
	return dsns
}

// database returns the cluster and the DSNs of the database, the primary's first.
func database(t testing.TB) (c *testenv.Cluster, dsns []string) {
	t.Helper()
	c = cluster(t)
	require.NoError(t, makeDatabase(limit(t), c))
	return c, dsnsOf(c)
}

var customers atomic.Int64

// customer returns a customer whom no other test has.
func customer(name string) string { return fmt.Sprint(name, customers.Add(1)) }

// exampleDB is the database for an example.
func exampleDB() (db *gorm.DB, done func()) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(startShared())
	must(makeDatabase(ctx, shared.cluster))
	db, plugin, err := open(dsnsOf(shared.cluster), func(c *readsplit.Config) { c.MaxWait = 20 * time.Second })
	must(err)
	must(db.Exec("DELETE FROM orders WHERE customer = 'carol'").Error) // of an earlier run
	pool, err := db.DB()
	must(err)
	for _, r := range plugin.Status().Replicas { // AtMost asks for a bound, which the first answer may not prove yet
		for !(r.Up && r.LagKnown) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
			r = find(plugin.Status().Replicas, r.Name)
		}
	}
	must(ctx.Err())
	return db, func() {
		must(plugin.Close(context.Background()))
		must(pool.Close())
	}
}

func find(all []readsplit.ServerStatus, name string) readsplit.ServerStatus {
	i := slices.IndexFunc(all, func(s readsplit.ServerStatus) bool { return s.Name == name })
	return all[i]
}

// open opens the database with the plugin. Replicas are used however far they are
// behind, so that where a read goes is up to its session alone.
func open(dsns []string, change ...func(*readsplit.Config)) (*gorm.DB, *readsplit.Plugin, error) {
	config := readsplit.Config{MaxLag: readsplit.Off, MaxSampleAge: 20 * time.Second, SampleTimeout: 10 * time.Second}
	for i, dsn := range dsns[1:] {
		config.Replicas = append(config.Replicas, readsplit.Replica{Name: fmt.Sprint("replica", i+1), Dialector: postgres.Open(dsn), Groups: []string{fmt.Sprint("group", i+1)}})
	}
	for _, c := range change {
		c(&config)
	}
	db, err := gorm.Open(postgres.Open(dsns[0]), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, nil, err
	}
	plugin := readsplit.New(config)
	return db, plugin, db.Use(plugin)
}

// opened is open for a test, which waits until replicas serve.
func opened(t testing.TB, dsns []string, change ...func(*readsplit.Config)) *gorm.DB {
	t.Helper()
	db, plugin, err := open(dsns, change...)
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(t, plugin.Close(ctx))
		require.NoError(t, pool.Close())
	})
	eventually(t, "replicas serve", func() bool {
		server, err := served(db.WithContext(readsplit.UseReplica(t.Context())))
		return err == nil && server != "primary"
	})
	return db
}

// served returns who answers a read.
func served(db *gorm.DB) (server string, err error) {
	err = db.Raw("SELECT current_setting('cluster_name')").Scan(&server).Error
	return server, err
}

// still stops the replay of all replicas: what is written from now on is on the
// primary alone.
func still(t testing.TB, c *testenv.Cluster) (undo func()) {
	t.Helper()
	for _, r := range c.Replicas() {
		_, err := r.PauseReplay(limit(t))
		require.NoError(t, err)
	}
	return func() { require.NoError(t, c.UndoAll()) }
}

func limit(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	require.Eventually(t, done, 30*time.Second, 2*time.Millisecond, what)
}

// process is an application process: it prints its address, and ends when its standard
// input does.
func process(dsns []string) error {
	db, plugin, err := open(dsns)
	if err != nil {
		return err
	}
	sessions, err := httpsession.New(httpsession.Options{Insecure: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	server := httptest.NewServer(recovering(sessions.Handler(app(db))))
	fmt.Println(server.URL)
	_, err = io.Copy(io.Discard, os.Stdin)
	server.Close()
	if closed := plugin.Close(context.Background()); err == nil {
		err = closed
	}
	return err
}

// started runs an application process until the test ends and returns its address.
func started(t testing.TB, dsns []string) (url string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asProcess+"="+strings.Join(dsns, "\n"))
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, stdin.Close())
		require.NoError(t, cmd.Wait())
	})
	out := bufio.NewReader(stdout)
	line, err := out.ReadString('\n')
	require.NoError(t, err, line)
	return strings.TrimSpace(line)
}

// user is a browser: a client with a cookie jar, to which all processes are one
// host. It follows redirects by itself, see post.
type user struct {
	t      testing.TB
	client *http.Client
}

func newUser(t testing.TB) *user {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &user{t, &http.Client{
		Jar:           jar,
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (u *user) ask(method, url string) (status int, body, location string) {
	u.t.Helper()
	req, err := http.NewRequestWithContext(u.t.Context(), method, url, nil)
	require.NoError(u.t, err)
	res, err := u.client.Do(req)
	require.NoError(u.t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(u.t, err)
	require.NoError(u.t, res.Body.Close())
	return res.StatusCode, string(text), res.Header.Get("Location")
}

type txKey struct{}

func contextWith(r *http.Request, tx *gorm.DB) context.Context {
	return context.WithValue(r.Context(), txKey{}, tx)
}
