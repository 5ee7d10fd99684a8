package readsplit_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// patient waits longer for a replica than the default, because tests share two
// cores with the servers: what they are about is not how quick a machine is.
func patient(c *readsplit.Config) { c.MaxWait = 50 * time.Millisecond }

// direct opens a database of one server past the plugin.
func direct(t testing.TB, s *testenv.Server, database string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", s.DSNFor(database))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// users write and read as an application's users do: each has a row of their own,
// counts it up, and then reads it again and again. What they read must never be
// less than what was acknowledged to them.
type users struct {
	d     *testDB
	stop  chan struct{}
	done  sync.WaitGroup
	began time.Time

	reads, writes, inFlight atomic.Int64
	stale, failed, lost     atomic.Int64 // reads too old, reads failed, writes failed
	slowest                 atomic.Int64 // read, in ns

	gate sync.RWMutex // held by writes

	mu     sync.Mutex
	by     map[string]int64     // reads by the server that says it ran them
	last   map[string]time.Time // when the newest of them began
	first  []string             // the first problems
	writer func(db *gorm.DB, id int, n int64) error
}

// lingers is a view without columns whose row takes 20 ms to come. It sleeps and does
// not count: four users who keep the processors busy are late for everything that is
// tested. That it is stable is what lets a replica run it.
const lingers = `
CREATE OR REPLACE FUNCTION linger() RETURNS boolean STABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.02); RETURN true; END';
CREATE OR REPLACE VIEW lingers AS SELECT WHERE linger();`

// counters is a table with one row for each user, from 0 on, and one to spare.
func counters(t testing.TB, d *testDB, rows int) {
	t.Helper()
	past, err := sql.Open("pgx", d.cluster.Primary().DSNFor(d.name))
	require.NoError(t, err)
	_, err = past.ExecContext(limit(t), lingers)
	require.NoError(t, err)
	require.NoError(t, past.Close())
	require.NoError(t, d.Exec("CREATE TABLE counters (id int PRIMARY KEY, n bigint NOT NULL)").Error)
	require.NoError(t, d.Exec("INSERT INTO counters SELECT i, 0 FROM generate_series(0, ?) i", rows).Error)
}

// readersSelect is how the reads of users begin, for whoever looks for them in
// pg_stat_activity.
const readersSelect = "n, current_setting('cluster_name') AS server"

// running counts the reads of users that a server works on.
const running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT n, current_setting%'"

// ordinary are the reads of a user after each write, and thinks is the pause after each:
// sixteen who never pause take all of two processors, and what is tested comes late.
const (
	ordinary = 10
	thinks   = 8 * time.Millisecond
)

// startUsers starts n users. Every eighth has no session: it is the process. mark
// marks their reads. Every fourth reads slowly, so that some reads are under way
// whenever something breaks.
func startUsers(t testing.TB, d *testDB, n int, mark func(context.Context) context.Context) *users {
	t.Helper()
	u := newUsers(d)
	for id := range n {
		ctx := context.Background()
		if id%8 != 7 {
			ctx = readsplit.WithSession(ctx, readsplit.NewSession())
		}
		reads := ctx
		if mark != nil {
			reads = mark(ctx)
		}
		u.done.Go(func() { u.use(ctx, reads, id) })
	}
	t.Cleanup(u.end)
	return u
}

func newUsers(d *testDB) *users {
	u := &users{d: d, stop: make(chan struct{}), began: time.Now(), by: map[string]int64{}, last: map[string]time.Time{}}
	u.writer = func(db *gorm.DB, id int, n int64) error {
		return db.Exec("UPDATE counters SET n = ? WHERE id = ?", n, id).Error
	}
	return u
}

func (u *users) end() {
	select {
	case <-u.stop:
	default:
		close(u.stop)
	}
	u.done.Wait()
}

func (u *users) use(writes, reads context.Context, id int) {
	from := "counters"
	if id%4 == 2 {
		from = "counters CROSS JOIN lingers"
	}
	var acknowledged, tried int64
	for {
		tried++
		u.gate.RLock()
		err := u.writer(u.d.WithContext(writes), id, tried)
		u.gate.RUnlock()
		if err != nil {
			u.problem(&u.lost, "write %d of user %d: %v", tried, id, err)
		} else {
			acknowledged = tried
		}
		u.writes.Add(1)
		for range ordinary {
			select {
			case <-u.stop:
				return
			default:
			}
			var row struct {
				N      int64
				Server string
			}
			u.inFlight.Add(1)
			began := time.Now()
			err := u.d.WithContext(reads).Table(from).Select(readersSelect).Where("id = ?", id).Take(&row).Error
			took := time.Since(began)
			u.inFlight.Add(-1)
			for old := u.slowest.Load(); int64(took) > old && !u.slowest.CompareAndSwap(old, int64(took)); {
				old = u.slowest.Load()
			}
			switch {
			case err != nil:
				u.problem(&u.failed, "read of user %d: %v", id, err)
			case row.N < acknowledged:
				u.problem(&u.stale, "user %d read %d on %s after %d was acknowledged", id, row.N, row.Server, acknowledged)
			}
			u.mu.Lock()
			u.by[row.Server]++
			if began.After(u.last[row.Server]) {
				u.last[row.Server] = began
			}
			u.mu.Unlock()
			u.reads.Add(1)
			select {
			case <-u.stop:
				return
			case <-time.After(thinks):
			}
		}
	}
}

// only reads.
func (u *users) only(ctx context.Context) {
	for {
		select {
		case <-u.stop:
			return
		case <-time.After(thinks):
		}
		var server string
		if err := u.d.WithContext(ctx).Raw("SELECT current_setting('cluster_name') FROM counters WHERE id = 0").Scan(&server).Error; err != nil {
			u.problem(&u.failed, "%v", err)
		}
		u.mu.Lock()
		u.by[server]++
		u.mu.Unlock()
		u.reads.Add(1)
	}
}

func (u *users) problem(count *atomic.Int64, format string, args ...any) {
	count.Add(1)
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.first) < 5 {
		u.first = append(u.first, fmt.Sprintf("after %v: ", time.Since(u.began).Round(time.Millisecond))+fmt.Sprintf(format, args...))
	}
}

// servedSince reports whether a server has served a read that began after a moment.
func (u *users) servedSince(s *testenv.Server, moment time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last[s.Name()].After(moment)
}

// during asserts that a fault is in force, as the servers show it, while at least
// n reads run.
func (u *users) during(t testing.TB, n int64, inForce func() bool) {
	t.Helper()
	require.True(t, inForce(), "the fault is not in force")
	from := u.reads.Load()
	eventually(t, fmt.Sprintf("%d reads", n), func() bool { return u.reads.Load() >= from+n })
	require.True(t, inForce(), "the fault is no longer in force")
}

// busy waits until reads are under way on a server.
func (u *users) busy(t testing.TB, s *testenv.Server) {
	t.Helper()
	eventually(t, "reads in flight on "+s.Name(), func() bool {
		return ask[int](t, s, running) > 0
	})
}

// right ends the users and asserts that nobody missed their own write and no read
// failed.
func (u *users) right(t testing.TB) {
	t.Helper()
	u.end()
	u.mu.Lock()
	defer u.mu.Unlock()
	assert.Zero(t, u.stale.Load(), "reads older than acknowledged: %q", u.first)
	assert.Zero(t, u.failed.Load(), "failed reads: %q", u.first)
	t.Logf("%d reads %v, %d writes, slowest read %v", u.reads.Load(), u.by, u.writes.Load(), time.Duration(u.slowest.Load()).Round(time.Millisecond))
}

// eligible waits until the plugin would read from exactly these servers: until the
// news of a fault, or of its end, is there.
func (d *testDB) eligible(t testing.TB, names ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("only %v to be read from", names), func() bool {
		seen := map[string]bool{}
		for range 24 {
			var name string
			if d.WithContext(readsplit.Stale(context.Background())).Raw(whoSQL).Scan(&name).Error != nil {
				return false
			}
			seen[name] = true
		}
		if len(seen) != len(names) {
			return false
		}
		for _, n := range names {
			if !seen[n] {
				return false
			}
		}
		return true
	})
}

// inLog counts the lines of a server's own log that hold a text.
func inLog(t testing.TB, s *testenv.Server, text string) (lines int) {
	t.Helper()
	log, err := os.ReadFile(s.LogFile())
	require.NoError(t, err)
	return bytes.Count(log, []byte(text))
}

// replicasServe waits until replicas serve what db reads.
func replicasServe(t testing.TB, db *gorm.DB) {
	t.Helper()
	eventually(t, "replicas to serve", func() bool { return served(t, db) != "primary" })
}

// refuses reports whether nobody listens at a server's address.
func refuses(s *testenv.Server) bool {
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return err != nil
}

// silent reports whether a server gives no answer, neither with an error.
func silent(t testing.TB, s *testenv.Server) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	db, err := sql.Open("pgx", s.DSN())
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	var one int
	err = db.QueryRowContext(ctx, "SELECT 1").Scan(&one)
	return errors.Is(err, context.DeadlineExceeded)
}

// undone ends a fault.
func undone(t testing.TB, undo testenv.Undo) {
	t.Helper()
	require.NoError(t, undo())
}

// injected is a fault that is in force.
func injected(t testing.TB) func(undo testenv.Undo, err error) testenv.Undo {
	return func(undo testenv.Undo, err error) testenv.Undo {
		t.Helper()
		require.NoError(t, err)
		return undo
	}
}
