package jobs_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

var shared struct {
	start     sync.Once
	cluster   *testenv.Cluster
	err       error
	databases atomic.Int64
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

// lab is a database with one order table, and two plugins over it, as two processes
// have them: one that enqueues and one that works. A read says who served it.
type lab struct {
	cluster          *testenv.Cluster
	producer, worker *gorm.DB
	plugin           *readsplit.Plugin // the worker's
	other            *sql.DB           // to the primary, past all plugins
}

func newLab(t *testing.T) *lab {
	t.Helper()
	shared.start.Do(func() {
		shared.cluster, shared.err = testenv.New(context.Background(), testenv.Config{Replicas: 1})
	})
	require.NoError(t, shared.err)
	l := &lab{cluster: shared.cluster}
	t.Cleanup(func() { require.NoError(t, l.cluster.UndoAll()) })
	name := fmt.Sprintf("jobs_%d", shared.databases.Add(1))
	require.NoError(t, l.cluster.CreateDatabase(limit(t), name))
	var err error
	l.other, err = sql.Open("pgx", l.cluster.Primary().DSNFor(name))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.other.Close()) })
	l.past(t, "CREATE TABLE orders (id bigserial PRIMARY KEY, title text)")
	l.past(t, "CREATE TABLE outbox (id bigserial PRIMARY KEY, order_id bigint)")
	l.caughtUp(t)
	l.producer, _ = l.open(t, name)
	l.worker, l.plugin = l.open(t, name)
	require.NotEqual(t, "primary", l.read(t, visitor()).Server, "replicas serve")
	return l
}

func (l *lab) open(t *testing.T, database string) (*gorm.DB, *readsplit.Plugin) {
	t.Helper()
	db, err := gorm.Open(postgres.Open(l.cluster.Primary().DSNFor(database)), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	plugin := readsplit.New(readsplit.Config{
		Replicas: []readsplit.Replica{{Name: "replica1", Dialector: postgres.Open(l.cluster.Replica(0).DSNFor(database))}},
		// Where a read goes is up to its session alone, also on a busy machine.
		MaxLag: readsplit.Off, MaxSampleAge: 20 * time.Second, SampleTimeout: 10 * time.Second, MaxWait: 50 * time.Millisecond,
	})
	require.NoError(t, db.Use(plugin))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(t, plugin.Close(ctx))
		pool, err := db.DB()
		require.NoError(t, err)
		require.NoError(t, pool.Close())
	})
	require.Eventually(t, func() bool { return plugin.Status().Replicas[0].Up }, 30*time.Second, 2*time.Millisecond)
	return db, plugin
}

func (l *lab) past(t *testing.T, statement string) {
	t.Helper()
	_, err := l.other.ExecContext(limit(t), statement)
	require.NoError(t, err)
}

func (l *lab) caughtUp(t *testing.T) {
	t.Helper()
	require.NoError(t, l.cluster.WaitCaughtUp(limit(t)))
}

// pause makes the replica stay as it is, until the test ends or undo.
func (l *lab) pause(t *testing.T) (undo func()) {
	t.Helper()
	l.caughtUp(t)
	u, err := l.cluster.Replica(0).PauseReplay(limit(t))
	require.NoError(t, err)
	return func() { require.NoError(t, u()) }
}

// seen is what a job finds.
type seen struct {
	Orders int
	Server string
}

// read is a job's read, on the worker.
func (l *lab) read(t testing.TB, ctx context.Context) (s seen) {
	t.Helper()
	require.NoError(t, l.worker.WithContext(ctx).Raw("SELECT count(*) AS orders, current_setting('cluster_name') AS server FROM orders").Scan(&s).Error)
	return s
}

// order is a user's request on the producer.
func (l *lab) order(t testing.TB, ctx context.Context) {
	t.Helper()
	require.NoError(t, l.producer.WithContext(ctx).Exec("INSERT INTO orders (title) VALUES ('a book')").Error)
}

// visitor is a request whose session has nothing to see.
func visitor() context.Context {
	return readsplit.WithSession(context.Background(), readsplit.NewSession())
}

// limit is a context that no step of a test should outlast.
func limit(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
