package readsplit_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
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
	"github.com/readsplit/readsplit/testenv"
)

// Two clusters that the tests share, each with a primary and two replicas, started
// by the first test that needs them: one on which nothing worse happens than that
// replicas stand still, and one for tests that break servers.
var calm, broken = &sharedCluster{}, &sharedCluster{}

type sharedCluster struct {
	start   sync.Once
	cluster *testenv.Cluster
	err     error

	mu        sync.Mutex
	databases []string // of tests that are over
}

// started is the cluster, for examples, which leave it as it is.
func (s *sharedCluster) started() (*testenv.Cluster, error) {
	s.start.Do(func() {
		s.cluster, s.err = testenv.New(context.Background(), testenv.Config{})
	})
	return s.cluster, s.err
}

func (s *sharedCluster) get(t testing.TB) *testenv.Cluster {
	t.Helper()
	_, err := s.started()
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.cluster.UndoAll())
		s.drop(t)
	})
	return s.cluster
}

// drop drops the databases of tests that are over, which no fault may hinder. Each is
// 7 MB on three servers, and these may lie in memory.
func (s *sharedCluster) drop(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.databases {
		execOn(t, s.cluster.Primary(), "DROP DATABASE "+name+" WITH (FORCE)")
	}
	s.databases = nil
}

// unused has a database dropped when the faults of the test that made it are over.
func unused(c *testenv.Cluster, name string) {
	for _, s := range []*sharedCluster{calm, broken} {
		if s.cluster == c {
			s.mu.Lock()
			s.databases = append(s.databases, name)
			s.mu.Unlock()
		}
	}
}

// cluster returns the shared cluster. A test of it takes a database of its own
// (newDB), and its faults end with it.
func cluster(t testing.TB) *testenv.Cluster { t.Helper(); return calm.get(t) }

// breakable returns the shared cluster for tests that kill servers. It comes back
// with the faults undone, but a former primary may have another incarnation.
func breakable(t testing.TB) *testenv.Cluster { t.Helper(); return broken.get(t) }

func TestMain(m *testing.M) {
	if os.Getenv(processVariable) != "" {
		os.Exit(runProcess())
	}
	code := m.Run()
	for _, s := range []*sharedCluster{calm, broken} {
		if s.cluster == nil {
			continue
		}
		if code != 0 {
			if dir, err := os.MkdirTemp("", "readsplit-logs-"); err == nil {
				saved, _ := s.cluster.SaveLogs(dir)
				fmt.Println("logs kept:", strings.Join(saved, " "))
			}
		}
		if err := s.cluster.Close(context.Background()); err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	os.Exit(code)
}

// testDB is a gorm.DB with the plugin, over one database of a cluster. Replicas
// have the names that they give themselves, so that Decision.Server and
// cluster_name can be compared.
type testDB struct {
	*gorm.DB
	plugin  *readsplit.Plugin
	cluster *testenv.Cluster
	name    string // of the database
	log     *logRecorder
}

type dbOptions struct {
	database string
	dsn      string // added to the primary's
	config   readsplit.Config
	gorm     gorm.Config
}

type dbOption func(*dbOptions)

// inDatabase takes a database that exists instead of a new one.
func inDatabase(name string) dbOption { return func(o *dbOptions) { o.database = name } }

// connected adds to the primary's DSN.
func connected(with string) dbOption { return func(o *dbOptions) { o.dsn = " " + with } }

// configured changes the plugin's configuration, which holds the replicas.
func configured(change func(c *readsplit.Config)) dbOption {
	return func(o *dbOptions) { change(&o.config) }
}

// gormConfigured changes GORM's configuration.
func gormConfigured(change func(c *gorm.Config)) dbOption {
	return func(o *dbOptions) { change(&o.gorm) }
}

// newDB makes a database of its own for the test on a cluster, the shared one
// (cluster(t)) or another, opens it with the plugin over all replicas, and closes
// everything when the test ends.
func newDB(t testing.TB, c *testenv.Cluster, options ...dbOption) *testDB {
	t.Helper()
	d := &testDB{cluster: c, log: &logRecorder{}}
	var o dbOptions
	o.gorm.Logger = d.log
	o.database = newDatabaseName(t)
	fresh := o.database
	undisturbed(&o.config)
	o.config.Replicas = make([]readsplit.Replica, len(c.Replicas()))
	for i, s := range c.Replicas() {
		o.config.Replicas[i].Name = s.Name()
	}
	for _, option := range options {
		option(&o)
	}
	consistent(&o.config)
	d.name = o.database
	if o.database == fresh {
		require.NoError(t, c.CreateDatabase(t.Context(), fresh))
		t.Cleanup(func() { unused(c, fresh) })
	}
	for i := range o.config.Replicas {
		if r := &o.config.Replicas[i]; r.Dialector == nil {
			r.Dialector = postgres.Open(c.Server(r.Name).DSNFor(o.database))
		}
	}
	var err error
	d.DB, err = gorm.Open(postgres.Open(c.Primary().DSNFor(o.database)+o.dsn), &o.gorm)
	require.NoError(t, err)
	pool, err := d.DB.DB()
	require.NoError(t, err)
	pool.SetMaxIdleConns(32)
	d.plugin = readsplit.New(o.config)
	require.NoError(t, d.Use(d.plugin))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(t, d.plugin.Close(ctx))
		require.NoError(t, pool.Close())
		require.Empty(t, d.log.matching(password(c.Primary().DSN())), "a password was logged")
	})
	return d
}

// undisturbed is for servers that do not freeze: one that does not answer within half a
// second shares two processors with three packages of tests, and is not down. One that
// dies, stops or is promoted says so. And what is known of servers stays valid for longer
// than that: otherwise a read goes to the primary now and then, whatever is tested.
func undisturbed(c *readsplit.Config) {
	c.SampleTimeout, c.MaxSampleAge, c.MaxLag = 10*time.Second, longNewsAge, longNewsAge
}

const longNewsAge = 10 * time.Second

// consistent fits undisturbed to what a test has set: a window that ends while what is
// known may still be older would be refused. And servers are sampled as often as by
// default while nothing runs: a test waits for what comes of it.
func consistent(c *readsplit.Config) {
	if c.StickyWindow > 0 && c.MaxLag > 0 && c.StickyWindow < c.MaxLag+c.MaxSampleAge {
		if c.MaxSampleAge == longNewsAge {
			c.MaxSampleAge = 0
		}
		if c.MaxLag == longNewsAge {
			c.MaxLag = 0
		}
	}
	if c.StickyWindow == 0 && c.MaxLag == readsplit.Off && c.MaxSampleAge == longNewsAge {
		c.StickyWindow = 5 * time.Second // the default, which long news would make longer
	}
	if c.IdleSampleEvery == 0 && c.MaxSampleAge == longNewsAge {
		c.IdleSampleEvery = max(c.SampleEvery, 800*time.Millisecond)
	}
}

// impatient is for servers that freeze, which nothing but the time tells from others:
// longer than a busy machine takes to ask two questions.
func impatient(c *readsplit.Config) { c.SampleTimeout = 1500 * time.Millisecond }

// password is the secret in a DSN, which must appear nowhere.
func password(dsn string) string {
	_, rest, _ := strings.Cut(dsn, "password=")
	secret, _, _ := strings.Cut(rest, " ")
	return secret
}

var (
	databases atomic.Int64
	unfit     = regexp.MustCompile(`[^a-z0-9]+`)
)

func newDatabaseName(t testing.TB) string {
	name := unfit.ReplaceAllString(strings.ToLower(t.Name()), "_")
	return fmt.Sprintf("%.48s_%d", name, databases.Add(1))
}

// whoSQL asks the server that runs it for its own name.
const whoSQL = "SELECT current_setting('cluster_name')"

// served runs a read through db and returns the name of the server that ran it,
// as the server itself says.
func served(t testing.TB, db *gorm.DB) string {
	t.Helper()
	var name string
	require.NoError(t, db.Raw(whoSQL).Scan(&name).Error)
	return name
}

// ask returns one value that a server of a cluster gives to a connection that
// the plugin knows nothing of.
func ask[T any](t testing.TB, s *testenv.Server, question string, args ...any) T {
	t.Helper()
	var answer T
	require.NoError(t, unsent(func() error {
		return s.DB().QueryRowContext(limit(t), question, args...).Scan(&answer)
	}), s.Name())
	return answer
}

// execOn runs a statement on a server of a cluster, past the plugin.
func execOn(t testing.TB, s *testenv.Server, statement string, args ...any) {
	t.Helper()
	require.NoError(t, unsent(func() error {
		_, err := s.DB().ExecContext(limit(t), statement, args...)
		return err
	}), s.Name())
}

// unsent runs f again while it has sent nothing: a test before this one may have
// stopped the server, and left connections in its pool that pgx finds closed.
func unsent(f func() error) (err error) {
	for range 5 {
		if err = f(); err == nil || err.Error() != "conn closed" {
			break
		}
	}
	return err
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

// logRecorder is GORM's logger of a test: it keeps what is logged.
type logRecorder struct {
	mu    sync.Mutex
	lines []string
}

func (l *logRecorder) add(level, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, level+": "+fmt.Sprintf(format, args...))
}

// matching returns the lines that contain all of the words.
func (l *logRecorder) matching(words ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
next:
	for _, line := range l.lines {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		found = append(found, line)
	}
	return found
}

// LogMode implements logger.Interface.
func (l *logRecorder) LogMode(logger.LogLevel) logger.Interface { return l }

// Info implements logger.Interface.
func (l *logRecorder) Info(_ context.Context, format string, args ...any) {
	l.add("info", format, args...)
}

// Warn implements logger.Interface.
func (l *logRecorder) Warn(_ context.Context, format string, args ...any) {
	l.add("warn", format, args...)
}

// Error implements logger.Interface.
func (l *logRecorder) Error(_ context.Context, format string, args ...any) {
	l.add("error", format, args...)
}

// Trace implements logger.Interface.
func (l *logRecorder) Trace(context.Context, time.Time, func() (string, int64), error) {}

// saidToRead declares functions as reading that are not: what the replica refuses
// is the last line then.
func saidToRead(names ...string) dbOption {
	return configured(func(c *readsplit.Config) { c.ReadFunctions = names })
}

// known waits until the catalogue is known again after DDL that redefines.
func known(t testing.TB, p *readsplit.Plugin) {
	t.Helper()
	eventually(t, "the catalogue to be known", func() bool { return p.Status().Catalog.Current })
}
