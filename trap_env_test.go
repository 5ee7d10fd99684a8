package readsplit_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// trapSchema is what every trap finds. The tables are read and written through
// views that add who answers, so that each row says which server it came from,
// also in a preload or a hook, without a function in the statement's own text.
const trapSchema = `
CREATE TABLE authors_t (id bigserial PRIMARY KEY, name text UNIQUE);
CREATE TABLE books_t (id bigserial PRIMARY KEY, title text, author_id bigint);
CREATE VIEW authors AS SELECT id, name, current_setting('cluster_name') AS server FROM authors_t;
CREATE VIEW books AS SELECT id, title, author_id, current_setting('cluster_name') AS server FROM books_t;
INSERT INTO authors_t (name) VALUES ('Ann');
INSERT INTO books_t (title, author_id) VALUES ('one', 1);`

type author struct {
	ID     int64
	Name   string
	Server string `gorm:"->"`
	Books  []book
}

type book struct {
	ID       int64
	Title    string
	AuthorID int64
	Server   string `gorm:"->"`
}

// hookedBook is a book whose hooks do what the statement's context says.
type hookedBook struct {
	ID       int64
	Title    string
	AuthorID int64
	Server   string `gorm:"->"`
}

func (*hookedBook) TableName() string { return "books" }

type hooks map[string]func(tx *gorm.DB) error

type hooksKey struct{}

func withHooks(h hooks) context.Context {
	return context.WithValue(context.Background(), hooksKey{}, h)
}

func runHook(tx *gorm.DB, name string) error {
	h, _ := tx.Statement.Context.Value(hooksKey{}).(hooks)
	if f := h[name]; f != nil {
		return f(tx)
	}
	return nil
}

func (*hookedBook) AfterFind(tx *gorm.DB) error    { return runHook(tx, "AfterFind") }
func (*hookedBook) BeforeSave(tx *gorm.DB) error   { return runHook(tx, "BeforeSave") }
func (*hookedBook) AfterSave(tx *gorm.DB) error    { return runHook(tx, "AfterSave") }
func (*hookedBook) AfterCreate(tx *gorm.DB) error  { return runHook(tx, "AfterCreate") }
func (*hookedBook) BeforeUpdate(tx *gorm.DB) error { return runHook(tx, "BeforeUpdate") }
func (*hookedBook) AfterUpdate(tx *gorm.DB) error  { return runHook(tx, "AfterUpdate") }
func (*hookedBook) BeforeDelete(tx *gorm.DB) error { return runHook(tx, "BeforeDelete") }
func (*hookedBook) AfterDelete(tx *gorm.DB) error  { return runHook(tx, "AfterDelete") }

// trap is a gorm.DB with the plugin, in a schema of its own.
type trap struct {
	*testDB
	schema string
	admin  *sql.DB  // to the same schema of the primary, past the plugin
	early  *gorm.DB // derived before the plugin was installed
}

var (
	trapDatabase sync.Once
	trapSchemas  atomic.Int64
)

// newTrap opens a schema of its own for the test on the shared cluster.
// Replicas are used however far they are behind, so that where a read goes is up
// to its session alone.
func newTrap(t *testing.T, options ...dbOption) *trap {
	t.Helper()
	c := cluster(t)
	trapDatabase.Do(func() { require.NoError(t, c.CreateDatabase(limit(t), "traps")) })
	x := &trap{
		testDB: &testDB{cluster: c, name: "traps", log: &logRecorder{}},
		schema: fmt.Sprintf("t%d", trapSchemas.Add(1)),
	}
	var o dbOptions
	o.gorm.Logger = x.log
	undisturbed(&o.config)
	o.config.MaxLag = readsplit.Off
	o.config.Replicas = x.replicas()
	for _, option := range options {
		option(&o)
	}
	consistent(&o.config)

	var err error
	x.admin, err = sql.Open("pgx", x.dsn("primary"))
	require.NoError(t, err)
	x.admin.SetMaxOpenConns(2)
	t.Cleanup(func() { require.NoError(t, x.admin.Close()) })
	x.past(t, "CREATE SCHEMA "+x.schema)
	x.past(t, trapSchema)
	require.NoError(t, c.WaitCaughtUp(limit(t)))

	x.DB, err = gorm.Open(postgres.Open(x.dsn("primary")), &o.gorm)
	require.NoError(t, err)
	pool, err := x.DB.DB()
	require.NoError(t, err)
	pool.SetMaxIdleConns(16)
	x.early = x.WithContext(context.Background())
	x.plugin = readsplit.New(o.config)
	require.NoError(t, x.Use(x.plugin))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(t, x.plugin.Close(ctx))
		require.NoError(t, pool.Close())
	})
	if len(o.config.Replicas) > 0 {
		eventually(t, "reads go to a replica", func() bool { return isReplica(served(t, x.WithContext(readsplit.UseReplica(context.Background())))) })
	}
	return x
}

// dsn names the trap's schema on a server.
func (x *trap) dsn(server string) string {
	return x.cluster.Server(server).DSNFor(x.name) + " search_path=" + x.schema + " application_name=" + x.schema
}

// replicas are the replicas as newTrap configures them.
func (x *trap) replicas() []readsplit.Replica {
	var all []readsplit.Replica
	for _, s := range x.cluster.Replicas() {
		all = append(all, readsplit.Replica{Name: s.Name(), Dialector: postgres.Open(x.dsn(s.Name()))})
	}
	return all
}

// openGORM opens the trap's schema without the plugin.
func openGORM(t *testing.T, x *trap, prepared bool) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(postgres.Open(x.dsn("primary")), &gorm.Config{Logger: x.log, PrepareStmt: prepared})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return db
}

// eachMode runs a test with and without prepared statements.
func eachMode(t *testing.T, test func(t *testing.T, x *trap), options ...dbOption) {
	t.Helper()
	for _, prepared := range []bool{false, true} {
		name := "plain"
		if prepared {
			name = "prepared"
		}
		t.Run(name, func(t *testing.T) {
			test(t, newTrap(t, append(slices.Clone(options), prepareStmt(prepared))...))
		})
	}
}

// eachTxMode runs a test in both modes, with and without the default transaction. With
// -short each of the four choices is made once, in two runs.
func eachTxMode(t *testing.T, test func(t *testing.T, x *trap), options ...dbOption) {
	t.Helper()
	if testing.Short() {
		t.Run("plain", func(t *testing.T) { test(t, newTrap(t, append(slices.Clone(options), prepareStmt(false))...)) })
		t.Run("prepared,skip_default_transaction", func(t *testing.T) {
			test(t, newTrap(t, append(slices.Clone(options), prepareStmt(true), gormConfigured(func(c *gorm.Config) { c.SkipDefaultTransaction = true }))...))
		})
		return
	}
	eachMode(t, test, options...)
	t.Run("skip_default_transaction", func(t *testing.T) {
		eachMode(t, test, append(slices.Clone(options), gormConfigured(func(c *gorm.Config) { c.SkipDefaultTransaction = true }))...)
	})
}

func prepareStmt(on bool) dbOption {
	return gormConfigured(func(c *gorm.Config) { c.PrepareStmt = on })
}

// past runs a statement on the primary, past the plugin.
func (x *trap) past(t testing.TB, statement string, args ...any) {
	t.Helper()
	_, err := x.admin.ExecContext(limit(t), statement, args...)
	require.NoError(t, err)
}

// titles returns the titles of all books that the primary has.
func (x *trap) titles(t testing.TB) []string {
	t.Helper()
	var all string
	require.NoError(t, x.admin.QueryRowContext(limit(t), "SELECT coalesce(string_agg(title, ' ' ORDER BY id), '') FROM books_t").Scan(&all))
	return strings.Fields(all)
}

// stale pauses both replicas and writes the book "two" past the plugin: what
// reads from a replica does not see it, and nothing that comes later.
func (x *trap) stale(t testing.TB) {
	t.Helper()
	t.Cleanup(func() { require.NoError(t, x.cluster.UndoAll()) })
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
	for _, s := range x.cluster.Replicas() {
		_, err := s.PauseReplay(limit(t))
		require.NoError(t, err)
	}
	x.past(t, "INSERT INTO books_t (title, author_id) VALUES ('two', 1)")
}

// session returns a handle with a session of its own that has written nothing.
func (x *trap) session() (*gorm.DB, context.Context) {
	ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
	return x.WithContext(ctx), ctx
}

// fresh returns a handle whose reads go to the primary.
func (x *trap) fresh() *gorm.DB { return x.WithContext(readsplit.Fresh(context.Background())) }

func isReplica(server string) bool { return strings.HasPrefix(server, "replica") }

// onReplica asserts that a server's name is a replica's.
func onReplica(t testing.TB, server string) {
	t.Helper()
	require.Contains(t, []string{"replica1", "replica2"}, server)
}

// reads asserts where the next read of a handle goes: who answers, and which
// books it sees.
func reads(t testing.TB, db *gorm.DB, primary bool, titles ...string) {
	t.Helper()
	var books []book
	tx := db.Session(&gorm.Session{NewDB: true}).Order("id").Find(&books)
	require.NoError(t, tx.Error)
	var saw []string
	for _, b := range books {
		saw = append(saw, b.Title)
		if primary {
			require.Equal(t, "primary", b.Server)
		} else {
			onReplica(t, b.Server)
		}
	}
	require.Equal(t, titles, saw)
	d, ok := readsplit.DecisionOf(tx)
	require.True(t, ok)
	require.Equal(t, books[0].Server, d.Server, "the decision says what happened")
	require.Equal(t, !primary, d.Replica)
}

// reason returns why the newest statement of a handle went where it went.
func reason(t testing.TB, tx *gorm.DB) policy.Reason {
	t.Helper()
	d, ok := readsplit.DecisionOf(tx)
	require.True(t, ok)
	return d.Reason
}
