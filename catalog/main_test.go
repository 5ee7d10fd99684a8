package catalog_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/catalog"
	"github.com/readsplit/readsplit/sqlclass"
	"github.com/readsplit/readsplit/testenv"
)

// Tests on real servers share one cluster; each has a database of its own.
var shared = sync.OnceValues(func() (*testenv.Cluster, error) {
	started = true
	return testenv.New(context.Background(), testenv.Config{Replicas: 1})
})

var started bool

func TestMain(m *testing.M) {
	code := m.Run()
	if started {
		if c, err := shared(); err == nil {
			if err := c.Close(context.Background()); err != nil {
				fmt.Println(err)
				code = 1
			}
		}
	}
	os.Exit(code)
}

func cluster(t *testing.T) *testenv.Cluster {
	t.Helper()
	c, err := shared()
	require.NoError(t, err)
	return c
}

// database makes one for the test, and returns pools of it on the primary and on
// the standby.
func database(t *testing.T, schema string) (primary, standby *sql.DB) {
	t.Helper()
	c := cluster(t)
	name := strings.ToLower(strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()))
	require.NoError(t, c.CreateDatabase(t.Context(), name))
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	primary = open(t, c.Primary().DSNFor(name))
	standby = open(t, c.Replica(0).DSNFor(name))
	exec(t, primary, schema)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	return primary, standby
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func exec(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), text)
	require.NoError(t, err, text)
}

// running returns a Catalog that knows the database.
func running(t *testing.T, cfg catalog.Config) *catalog.Catalog {
	t.Helper()
	c, err := catalog.New(cfg)
	require.NoError(t, err)
	c.Start()
	t.Cleanup(c.Close)
	wait(t, c)
	return c
}

func wait(t *testing.T, c *catalog.Catalog) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, c.Wait(ctx), "status: %+v", c.Status())
}

// within waits for something to become so.
func within(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, d, 5*time.Millisecond, what)
}

func judge(c *catalog.Catalog, text string) sqlclass.Info {
	return c.Judge(text, sqlclass.Classify(sqlclass.PostgreSQL, text))
}
