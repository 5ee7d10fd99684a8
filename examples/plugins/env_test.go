package plugins

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
	start   sync.Once
	cluster *testenv.Cluster
	err     error
	schemas atomic.Int64
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

// limit is a context that no step of a test should outlast.
func limit(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for what has no event to wait for.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	ctx := limit(t)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(t, "waited 30 s in vain for: "+what)
		}
	}
}

// tables is what each test finds. Rows are read through views that add who
// answers, so that the server itself says where a read went.
const tables = `
CREATE TABLE notes_t (id bigserial PRIMARY KEY, owner_id bigint, title text, doc jsonb, version bigint, deleted_at bigint DEFAULT 0);
CREATE VIEW notes AS SELECT *, current_setting('cluster_name') AS server FROM notes_t;
INSERT INTO notes_t (owner_id, title, doc, version) VALUES (1, 'first', '{"color":"red","tags":["a","b"]}', 1);`

type note struct {
	ID      int64
	OwnerID int64
	Title   string
	Server  string `gorm:"->"`
}

// app is a gorm.DB in a schema of its own, as an application opens it.
type app struct {
	*gorm.DB
	cluster *testenv.Cluster
	plugin  *readsplit.Plugin // nil: without readsplit
	admin   *sql.DB           // to the same schema of the primary, past everything
	schema  string
}

// order says when a plugin is installed.
type order string

const (
	alone  order = "alone" // without readsplit: what is right
	before order = "before readsplit"
	after  order = "after readsplit"
)

type options struct {
	gorm      gorm.Config
	ddl       string
	observers []any
}

// newApp opens a schema of its own on the shared cluster, and installs what
// install installs in the given order. Replicas are used however far they are
// behind, and waited for on a busy machine, so that where a read goes is up to its
// session alone.
func newApp(t *testing.T, o options, when order, install func(db *gorm.DB) error) *app {
	t.Helper()
	shared.start.Do(func() {
		if shared.cluster, shared.err = testenv.New(context.Background(), testenv.Config{}); shared.err == nil {
			shared.err = shared.cluster.CreateDatabase(context.Background(), "plugins")
		}
	})
	require.NoError(t, shared.err)
	x := &app{cluster: shared.cluster, schema: fmt.Sprintf("p%d", shared.schemas.Add(1))}
	t.Cleanup(func() { require.NoError(t, x.cluster.UndoAll()) })

	var err error
	x.admin, err = sql.Open("pgx", x.dsn(x.cluster.Primary()))
	require.NoError(t, err)
	x.admin.SetMaxOpenConns(2)
	t.Cleanup(func() { require.NoError(t, x.admin.Close()) })
	x.past(t, "CREATE SCHEMA "+x.schema)
	x.past(t, tables+o.ddl)
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))

	o.gorm.Logger = logger.Discard
	x.DB, err = gorm.Open(postgres.Open(x.dsn(x.cluster.Primary())), &o.gorm)
	require.NoError(t, err)
	pool, err := x.DB.DB()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })

	if when != after {
		require.NoError(t, install(x.DB))
	}
	if when != alone {
		x.plugin = readsplit.New(readsplit.Config{
			Replicas: x.replicas(), Observers: o.observers, MaxWait: 500 * time.Millisecond,
			MaxLag: readsplit.Off, MaxSampleAge: 20 * time.Second, SampleTimeout: 10 * time.Second, // a busy machine is no fault
		})
		require.NoError(t, x.Use(x.plugin))
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			require.NoError(t, x.plugin.Close(ctx))
		})
	}
	if when == after {
		require.NoError(t, install(x.DB))
	}
	if when != alone {
		eventually(t, "the replicas are up", func() bool {
			replicas := x.plugin.Status().Replicas
			return replicas[0].Up && replicas[1].Up
		})
	}
	return x
}

func (x *app) dsn(s *testenv.Server) string {
	return s.DSNFor("plugins") + " search_path=" + x.schema + " application_name=" + x.schema
}

func (x *app) replicas() []readsplit.Replica {
	var all []readsplit.Replica
	for _, s := range x.cluster.Replicas() {
		all = append(all, readsplit.Replica{Name: s.Name(), Dialector: postgres.Open(x.dsn(s))})
	}
	return all
}

// past runs a statement on the primary, past all plugins.
func (x *app) past(t testing.TB, statement string, args ...any) {
	t.Helper()
	_, err := x.admin.ExecContext(limit(t), statement, args...)
	require.NoError(t, err)
}

// value asks the primary, past all plugins.
func (x *app) value(t testing.TB, question string, args ...any) string {
	t.Helper()
	var answer string
	require.NoError(t, x.admin.QueryRowContext(limit(t), question, args...).Scan(&answer))
	return answer
}

// pause makes the replicas stay as they are, after they have caught up.
func (x *app) pause(t testing.TB) {
	t.Helper()
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
	for _, s := range x.cluster.Replicas() {
		_, err := s.PauseReplay(limit(t))
		require.NoError(t, err)
	}
}

// visitor returns a handle with a session of its own that has written nothing.
func (x *app) visitor() *gorm.DB { return x.WithContext(session()) }

func session() context.Context {
	return readsplit.WithSession(context.Background(), readsplit.NewSession())
}

// eachOrder runs test with a plugin alone, before and after readsplit, with and
// without prepared statements, and compares what it returns with what the plugin
// alone makes of it. What is no plugin of GORM's but a type, a clause or a wrapper
// has no order.
func eachOrder(t *testing.T, o options, install func(t *testing.T, db *gorm.DB) error, test func(t *testing.T, x *app) []string) {
	t.Helper()
	orders := []order{alone, before, after}
	if install == nil {
		orders = []order{alone, before}
		install = func(*testing.T, *gorm.DB) error { return nil }
	}
	for _, prepared := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "prepared"}[prepared], func(t *testing.T) {
			o := o
			o.gorm.PrepareStmt = prepared
			var want []string
			for _, when := range orders {
				t.Run(string(when), func(t *testing.T) {
					got := test(t, newApp(t, o, when, func(db *gorm.DB) error { return install(t, db) }))
					if when == alone {
						want = got
						return
					}
					require.Equal(t, want, got, "with readsplit as without it")
				})
			}
		})
	}
}

// said is a line of a program's transcript.
func said(what string, tx *gorm.DB, values ...any) string {
	return fmt.Sprint(what, " rows=", tx.RowsAffected, " err=", tx.Error, " ", values)
}

// check is a plugin's own way to write and to read: read returns how many rows
// there are, which grows by one with each write, and which server said so.
type check struct {
	write func(tx *gorm.DB) error
	read  func(tx *gorm.DB) (rows int, server string)
}

// follows asserts what readsplit promises of an app: reads are on a replica;
// while replay is paused a session sees its write, on the primary, and others go
// on reading from replicas. Without readsplit everything is on the primary.
func follows(t *testing.T, x *app, checks ...check) {
	t.Helper()
	if x.plugin == nil {
		for _, c := range checks {
			rows, server := c.read(x.visitor())
			require.Equal(t, "primary", server)
			me := x.visitor()
			require.NoError(t, c.write(me))
			now, _ := c.read(me)
			require.Equal(t, rows+1, now)
		}
		return
	}
	x.pause(t)
	for _, c := range checks {
		stale, server := c.read(x.visitor())
		onReplica(t, server)
		rows, server := c.read(x.WithContext(Current(session())))
		require.Equal(t, "primary", server)
		me := x.visitor()
		require.NoError(t, c.write(me))
		now, server := c.read(me)
		require.Equal(t, "primary", server)
		require.Equal(t, rows+1, now, "a session reads its own write")
		now, server = c.read(x.visitor())
		onReplica(t, server)
		require.Equal(t, stale, now, "a visitor who has written nothing reads what replicas have")
	}
	require.NoError(t, x.cluster.UndoAll())
}

// onReplica asserts that a server's name is a replica's.
func onReplica(t testing.TB, server string) {
	t.Helper()
	require.Contains(t, []string{"replica1", "replica2"}, server)
}
