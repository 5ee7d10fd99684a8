package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCloseLeavesNothing(t *testing.T) {
	before := ourGoroutines()
	dir := openDir(t)
	c, err := New(limit(t), Config{Dir: dir})
	require.NoError(t, err)
	_, err = c.Replica(0).Freeze(limit(t))
	require.NoError(t, err)
	kill, err := c.Replica(1).Kill(limit(t))
	require.NoError(t, err)
	require.Equal(t, 1, one[int](t, c.Primary(), "SELECT 1"))
	require.DirExists(t, c.root)
	servers := c.Servers()

	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var pids []int
	for _, s := range servers {
		for _, p := range living(t, s) {
			pids = append(pids, p.pid)
		}
	}
	require.Greater(t, len(pids), 8)
	require.NoError(t, c.Close(ended), "it closes whatever the context says")
	require.NoError(t, c.Close(limit(t)))
	assert.Empty(t, alive(t, pids))
	for _, s := range servers {
		assert.Empty(t, living(t, s))
		refused(t, s)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
	eventually(t, "goroutines that had ended are gone", func() bool { return ourGoroutines() <= before })

	require.NoError(t, kill(), "an undo after Close does nothing")
	require.NoError(t, c.UndoAll())
	_, err = servers[0].Freeze(limit(t))
	require.ErrorIs(t, err, errClosed)
	require.ErrorIs(t, c.WaitCaughtUp(limit(t)), errClosed)
	require.Error(t, servers[0].DB().PingContext(limit(t)))
	require.Error(t, servers[1].DB().PingContext(limit(t)), "a pool that is opened late is closed")
	assert.LessOrEqual(t, ourGoroutines(), before)
}

// ourGoroutines counts the goroutines that this package started.
func ourGoroutines() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("created by github.com/readsplit/readsplit/testenv.(")) +
		bytes.Count(stacks, []byte("created by database/sql.OpenDB"))
}

// openDir is a temporary folder that the servers' account can enter: t.TempDir's is not when a
// test runs as root.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "readsplit-test-")
	require.NoError(t, err)
	t.Cleanup(func() {
		// Whoever died in here has a watchdog that must still read what it removes.
		eventually(t, "the folder is empty", func() bool {
			entries, err := os.ReadDir(dir)
			return err == nil && len(entries) == 0
		})
		require.NoError(t, os.RemoveAll(dir))
	})
	require.NoError(t, os.Chmod(dir, 0o777))
	return dir
}

func TestSettingsAndLogs(t *testing.T) {
	var log lockedBuffer
	c := Start(t, Replicas(1), Setting("work_mem", "7MB"), Setting("log_line_prefix", `it's \ %q`), LogTo(&log),
		Setting("shared_preload_libraries", "pg_stat_statements"))
	require.Len(t, c.Servers(), 2)
	for _, s := range c.Servers() {
		assert.Equal(t, "7MB", one[string](t, s, "SHOW work_mem"))
		assert.Equal(t, `it's \ %q`, one[string](t, s, "SHOW log_line_prefix"))
		assert.Equal(t, "on", one[string](t, s, "SHOW synchronous_commit"))
		run(t, s, "DO $$ BEGIN RAISE LOG 'a word from %', current_setting('cluster_name'); END $$")
	}
	for _, line := range []string{"primary: it's \\ LOG:  a word from primary\n", "replica1: it's \\ LOG:  a word from replica1\n"} {
		eventually(t, line, func() bool { return strings.Contains(log.String(), line) })
	}
	require.True(t, c.HasExtension("pg_stat_statements"), "both sets of binaries have it")
	require.False(t, c.HasExtension("no_such_extension"))
	run(t, c.Primary(), "CREATE EXTENSION pg_stat_statements")

	dir := t.TempDir()
	saved, err := c.SaveLogs(dir)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "primary.log"), filepath.Join(dir, "replica1.log")}, saved)
	for i, path := range saved {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(content), "a word from "+c.Servers()[i].Name())
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A setting that PostgreSQL refuses fails the start with its own words, and leaves nothing.
func TestStartThatFails(t *testing.T) {
	dir := openDir(t)
	c, err := New(limit(t), Config{Dir: dir, Replicas: -1, Settings: map[string]string{"work_mem": "plenty"}})
	require.Nil(t, c)
	require.ErrorContains(t, err, "readsplit: testenv: start primary: ")
	require.ErrorContains(t, err, `invalid value for parameter "work_mem": "plenty"`)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)

	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("changed my mind"))
	_, err = New(ended, Config{Dir: dir})
	require.Error(t, err)
	left, err = os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// A test that fails keeps the logs and names them; the test that watches it here is a double.
func TestLogsOfAFailedTestAreKept(t *testing.T) {
	tb := &failingTB{TB: t}
	c := Start(tb, Replicas(0))
	require.Empty(t, c.Replicas())
	require.Len(t, tb.cleanups, 1)
	tb.cleanups[0]()
	require.Empty(t, tb.errors)
	require.Len(t, tb.logs, 1)
	_, path, ok := strings.Cut(tb.logs[0], "log kept: ")
	require.True(t, ok, tb.logs[0])
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(filepath.Dir(path))) })
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(content), "database system is ready to accept connections")
	assert.NoDirExists(t, c.root)
}

func TestDatabases(t *testing.T) {
	c := whole(t)
	pause, err := c.Replica(1).PauseReplay(limit(t))
	require.NoError(t, err)
	const odd = `it's "odd" \ % ü`
	t.Cleanup(func() {
		require.NoError(t, pause())
		run(t, c.Primary(), "DROP DATABASE "+pgx.Identifier{odd}.Sanitize())
	})
	require.NoError(t, c.CreateDatabase(limit(t), odd), "a replica under a fault is not waited for")
	for _, dsn := range []string{c.Primary().DSNFor(odd), c.Primary().URLFor(odd), c.Replica(0).DSNFor(odd), c.Replica(0).URLFor(odd)} {
		conn, err := pgx.Connect(limit(t), dsn)
		require.NoError(t, err)
		var name string
		require.NoError(t, conn.QueryRow(limit(t), "SELECT current_database()").Scan(&name))
		assert.Equal(t, odd, name)
		require.NoError(t, conn.Close(limit(t)))
	}
	require.ErrorContains(t, c.CreateDatabase(limit(t), odd), "already exists")
}

func TestWaitCaughtUpSaysWhoIsBehind(t *testing.T) {
	c := whole(t)
	name := table(t, c)
	_, err := c.Replica(0).PauseReplay(limit(t))
	require.NoError(t, err)
	run(t, c.Primary(), "INSERT INTO "+name+" VALUES (1)")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err = c.WaitCaughtUp(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "replica1 (replay paused) is not caught up")
	require.NotContains(t, err.Error(), "replica2")
}

// An open transaction on a quiet primary can leave the flushed position inside a record, which
// nobody completes for up to 15 s.
func TestWaitCaughtUpWithAnOpenTransaction(t *testing.T) {
	c := whole(t)
	name := table(t, c)
	tx, err := c.Primary().DB().BeginTx(limit(t), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback()) }()
	for range 20 {
		_, err = tx.ExecContext(limit(t), "INSERT INTO "+name+" SELECT generate_series(1, 5000)")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := c.WaitCaughtUp(ctx)
		cancel()
		require.NoError(t, err)
	}
}

type failingTB struct {
	testing.TB
	cleanups     []func()
	logs, errors []string
}

func (f *failingTB) Helper()          {}
func (f *failingTB) Failed() bool     { return true }
func (f *failingTB) Cleanup(g func()) { f.cleanups = append(f.cleanups, g) }
func (f *failingTB) Logf(format string, a ...any) {
	f.logs = append(f.logs, strings.TrimSpace(fmt.Sprintf(format, a...)))
}
func (f *failingTB) Errorf(format string, a ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, a...))
}
func (f *failingTB) Error(a ...any) { f.errors = append(f.errors, fmt.Sprint(a...)) }
