package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// suite is the servers of a bench with the tables of the tests.
type suite struct {
	b        Bench
	ann, bea int64 // authors
}

const (
	// window is for how long a write keeps its session on the primary, where it does.
	window = 700 * time.Millisecond
	// patience is how long a test waits for what has no event. It is no promise of speed.
	patience = 60 * time.Second
)

func newSuite(t *testing.T, b Bench) *suite {
	t.Helper()
	require.Greater(t, len(b.Servers), 1, "a bench has a primary and at least one replica")
	require.NotEmpty(t, b.Proofs)
	s := &suite{b: b}
	db, err := gorm.Open(b.Primary(), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	db = db.WithContext(limit(t))
	require.NoError(t, db.Migrator().DropTable(&book{}, &author{}))
	require.NoError(t, db.AutoMigrate(&author{}, &book{}))
	authors := []author{{Name: "Ann"}, {Name: "Bea"}}
	require.NoError(t, db.Create(&authors).Error)
	s.ann, s.bea = authors[0].ID, authors[1].ID
	require.NotZero(t, s.ann)
	require.NoError(t, pool.Close())
	return s
}

// primary and replicas are the names of the servers, as they name themselves.
func (s *suite) primary() string    { return s.b.Servers[0] }
func (s *suite) replicas() []string { return s.b.Servers[1:] }

// by is the column that says who serves.
func (s *suite) by() string { return s.b.SQL.Who + " AS server" }

// begin gives a test two authors and one book, "one" by Ann, on every server.
func (s *suite) begin(t *testing.T) {
	t.Helper()
	s.rewind(t)
	require.NoError(t, s.b.CaughtUp(limit(t)))
}

// rewind makes the primary so.
func (s *suite) rewind(t *testing.T) {
	t.Helper()
	s.past(t, fmt.Sprintf("DELETE FROM %s WHERE id NOT IN (%d, %d)", authorsTable, s.ann, s.bea))
	s.past(t, "UPDATE "+authorsTable+" SET name = 'Ann' WHERE name <> 'Ann' AND id = "+fmt.Sprint(s.ann))
	s.past(t, "DELETE FROM "+booksTable)
	s.add(t, "one")
}

// add adds a book of Ann's, past the plugin.
func (s *suite) add(t *testing.T, title string) {
	t.Helper()
	s.past(t, fmt.Sprintf("INSERT INTO %s (title, copies, author_id) VALUES ('%s', 3, %d)", booksTable, title, s.ann))
}

// past runs a statement on the primary without the plugin.
func (s *suite) past(t *testing.T, statement string) {
	t.Helper()
	_, err := s.b.Past(s.primary()).ExecContext(limit(t), statement)
	require.NoError(t, err)
}

// titles are the books of the primary, in order, without the plugin.
func (s *suite) titles(t *testing.T) (all []string) {
	t.Helper()
	rows, err := s.b.Past(s.primary()).QueryContext(limit(t), "SELECT title FROM "+booksTable+" WHERE deleted_at IS NULL ORDER BY id")
	require.NoError(t, err)
	for rows.Next() {
		var title string
		require.NoError(t, rows.Scan(&title))
		all = append(all, title)
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	return all
}

// still stops the replicas where they can be stopped; it ends with the test.
func (s *suite) still(t *testing.T) (undo func()) {
	t.Helper()
	if !s.b.Faults.has(pausing) {
		return func() {}
	}
	require.NoError(t, s.b.CaughtUp(limit(t)))
	var all []Undo
	for _, name := range s.replicas() {
		u, err := s.b.Faults.Pause(limit(t), name)
		require.NoError(t, err)
		all = append(all, u)
	}
	undo = sync.OnceFunc(func() {
		for _, u := range all {
			require.NoError(t, u())
		}
		require.NoError(t, s.b.CaughtUp(limit(t)))
	})
	t.Cleanup(undo)
	return undo
}

// behind stops the replicas and adds a book, "two", that only the primary has: what a read
// finds tells who served it, whatever anybody says.
func (s *suite) behind(t *testing.T) {
	t.Helper()
	s.still(t)
	s.add(t, "two")
	if !s.b.Faults.has(pausing) { // all have it then
		require.NoError(t, s.b.CaughtUp(limit(t)))
	}
}

// onReplicas are the books that a replica shows after behind.
func (s *suite) onReplicas() []string {
	if s.b.Faults.has(pausing) {
		return []string{"one"}
	}
	return []string{"one", "two"}
}

// open is a gorm.DB with the plugin over all servers.
type open struct {
	*gorm.DB
	s      *suite
	plugin *readsplit.Plugin
	log    *heard
	early  *gorm.DB // derived before the plugin was in use
}

type settings struct {
	gorm   gorm.Config
	config readsplit.Config
	unused bool // nobody waits for replicas to serve
}

type option func(*settings)

func config(change func(*readsplit.Config)) option { return func(o *settings) { change(&o.config) } }

func gormConfig(change func(*gorm.Config)) option { return func(o *settings) { change(&o.gorm) } }

// atOnce does not wait until replicas serve.
func atOnce(o *settings) { o.unused = true }

// open opens the primary with the plugin, and closes all of it with the test. A server that
// does not answer for seconds is a busy machine here, but where that is the point.
func (s *suite) open(t *testing.T, options ...option) *open {
	t.Helper()
	d := &open{s: s, log: &heard{Interface: logger.Discard}}
	var o settings
	o.gorm.Logger = d.log
	o.config = readsplit.Config{
		SampleTimeout: 10 * time.Second, MaxSampleAge: 20 * time.Second, MaxLag: readsplit.Off,
		StickyWindow: window, SampleEvery: 50 * time.Millisecond, MaxWait: 50 * time.Millisecond,
	}
	for _, name := range s.replicas() {
		o.config.Replicas = append(o.config.Replicas, readsplit.Replica{Name: name, Dialector: s.b.Replica(name)})
	}
	if s.b.Configure != nil {
		s.b.Configure(&o.config)
	}
	for _, change := range options {
		change(&o)
	}
	var err error
	d.DB, err = gorm.Open(s.b.Primary(), &o.gorm)
	require.NoError(t, err)
	pool, err := d.DB.DB()
	require.NoError(t, err)
	pool.SetMaxIdleConns(16)
	d.early = d.WithContext(context.Background())
	d.plugin = readsplit.New(o.config)
	require.NoError(t, d.Use(d.plugin))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, d.plugin.Close(ctx))
		require.NoError(t, pool.Close())
	})
	if !o.unused {
		d.replicasServe(t)
	}
	return d
}

// replicasServe waits until each replica serves who has written nothing.
func (d *open) replicasServe(t *testing.T) {
	t.Helper()
	seen := map[string]bool{}
	until(t, func() bool {
		seen[d.who(t, d.session())] = true
		for _, name := range d.s.replicas() {
			if !seen[name] {
				return false
			}
		}
		return true
	}, "each replica to serve: %v", seen)
}

// session is a handle whose session has written nothing.
func (d *open) session() *gorm.DB { return d.WithContext(newSession()) }

func newSession() context.Context {
	return readsplit.WithSession(context.Background(), readsplit.NewSession())
}

// fresh is a handle whose reads are on the primary.
func (d *open) fresh() *gorm.DB { return d.WithContext(readsplit.Fresh(context.Background())) }

// who is the server that runs a read, as it says itself. What the plugin says is the same.
func (d *open) who(t *testing.T, db *gorm.DB) (server string) {
	t.Helper()
	tx := db.Session(&gorm.Session{NewDB: true}).Raw("SELECT " + d.s.by()).Scan(&server)
	require.NoError(t, tx.Error)
	require.NotEmpty(t, server)
	if decided, ok := readsplit.DecisionOf(tx); ok {
		require.Equal(t, server != d.s.primary(), decided.Replica, "%s: %v", server, decided)
		if decided.Replica {
			require.Equal(t, server, decided.Server)
		}
	}
	return server
}

// isReplica says whether a server is one.
func (s *suite) isReplica(server string) bool { return slices.Contains(s.replicas(), server) }

// reads requires that a read of all books is served there, and finds what is there.
func (d *open) reads(t *testing.T, db *gorm.DB, onPrimary bool, titles ...string) {
	t.Helper()
	server := d.lists(t, db, titles)
	require.Equal(t, onPrimary, server == d.s.primary(), "%s served", server)
}

// own requires that whoever wrote the books sees them. On replicas that stand still they are
// not; others may have them, and serve as soon as that is proven.
func (d *open) own(t *testing.T, db *gorm.DB, titles ...string) {
	t.Helper()
	server := d.lists(t, db, titles)
	if d.s.b.Faults.has(pausing) {
		require.Equal(t, d.s.primary(), server)
	}
}

// lists requires that these are the books, and returns who says so. The decision says the same.
func (d *open) lists(t *testing.T, db *gorm.DB, titles []string) (server string) {
	t.Helper()
	var books []servedBook
	tx := db.Session(&gorm.Session{NewDB: true}).Select("*, " + d.s.by()).Order("id").Find(&books)
	require.NoError(t, tx.Error)
	var found []string
	for _, b := range books {
		found, server = append(found, b.Title), b.Server
	}
	require.Equal(t, titles, found)
	decided, ok := readsplit.DecisionOf(tx)
	require.True(t, ok)
	require.Equal(t, server != d.s.primary(), decided.Replica, "%s served: %v", server, decided)
	return server
}

// reason is why the statement of a handle ran where it ran.
func reason(t *testing.T, tx *gorm.DB) policy.Reason {
	t.Helper()
	require.NoError(t, tx.Error)
	d, ok := readsplit.DecisionOf(tx)
	require.True(t, ok)
	return d.Reason
}

// modes opens a database with and without prepared statements, with and without GORM's
// default transaction; with -short, each of both once.
func (s *suite) modes(t *testing.T, run func(t *testing.T, d *open), options ...option) {
	t.Helper()
	for _, prepared := range []bool{false, true} {
		for _, skip := range []bool{false, true} {
			if testing.Short() && prepared != skip {
				continue
			}
			var name []string
			if prepared {
				name = append(name, "prepared")
			}
			if skip {
				name = append(name, "no default transaction")
			}
			t.Run("mode "+strings.Join(name, ", "), func(t *testing.T) {
				s.begin(t)
				run(t, s.open(t, append(slices.Clone(options), gormConfig(func(c *gorm.Config) {
					c.PrepareStmt, c.SkipDefaultTransaction = prepared, skip
				}))...))
			})
		}
	}
}

// oneMode runs in one mode what differs in none.
func (s *suite) oneMode(t *testing.T, run func(t *testing.T, d *open), options ...option) {
	t.Helper()
	s.begin(t)
	run(t, s.open(t, options...))
}

// until waits for what has no event to wait for.
func until(t *testing.T, done func() bool, format string, args ...any) {
	t.Helper()
	ctx := limit(t)
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(t, "waited in vain for "+fmt.Sprintf(format, args...))
		}
	}
}

// limit is a context that no step of a test should outlast.
func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// heard keeps what the plugin warns of.
type heard struct {
	logger.Interface
	mu    sync.Mutex
	lines []string
}

// LogMode implements logger.Interface.
func (h *heard) LogMode(logger.LogLevel) logger.Interface { return h }

// Warn implements logger.Interface.
func (h *heard) Warn(_ context.Context, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

// with are the lines that contain a text.
func (h *heard) with(text string) (found []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}
