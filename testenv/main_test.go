package testenv

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests of faults share one cluster; each leaves it whole.
var shared = sync.OnceValues(func() (*Cluster, error) {
	return New(context.Background(), Config{})
})

var sharedStarted bool

func TestMain(m *testing.M) {
	if dir := os.Getenv(envChild); dir != "" {
		child(dir)
		return
	}
	code := m.Run()
	if sharedStarted {
		if c, err := shared(); err == nil {
			if code != 0 {
				if dir, err := os.MkdirTemp("", "readsplit-logs-"); err == nil {
					saved, _ := c.SaveLogs(dir)
					fmt.Println("logs kept:", strings.Join(saved, " "))
				}
			}
			if err := c.Close(context.Background()); err != nil {
				fmt.Println(err)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// whole returns the shared cluster and sees to it that the test leaves no fault behind.
func whole(t *testing.T) *Cluster {
	t.Helper()
	sharedStarted = true
	c, err := shared()
	require.NoError(t, err)
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	t.Cleanup(func() {
		require.NoError(t, c.UndoAll())
		for _, s := range c.Servers() {
			require.Empty(t, s.Faults())
		}
	})
	return c
}

// limit is a context that no step of a test should outlast.
func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// table makes an empty table of this test on the primary and waits for the replicas to have it.
func table(t *testing.T, c *Cluster) string {
	t.Helper()
	name := "t_" + strings.ToLower(strings.NewReplacer("/", "_", "#", "_", "-", "_", " ", "_").Replace(t.Name()))
	run(t, c.Primary(), "DROP TABLE IF EXISTS "+name)
	run(t, c.Primary(), "CREATE TABLE "+name+" (id int)")
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	return name
}

func run(t *testing.T, s *Server, statement string) {
	t.Helper()
	_, err := s.DB().ExecContext(limit(t), statement)
	require.NoError(t, err)
}

// one asks a server for one value.
func one[T any](t *testing.T, s *Server, question string) T {
	t.Helper()
	var answer T
	require.NoError(t, s.DB().QueryRowContext(limit(t), question).Scan(&answer), s.Name())
	return answer
}

func count(t *testing.T, s *Server, table string) int {
	t.Helper()
	return one[int](t, s, "SELECT count(*) FROM "+table)
}

// eventually waits for what has no event to wait for.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	require.NoError(t, poll(limit(t), 5*time.Millisecond, func() (bool, string, error) {
		return done(), what, nil
	}))
}

// silent asserts that a server does not answer within 300 ms, neither with an error.
func silent(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	var answer int
	err := s.ask(ctx, "SELECT 1", &answer)
	require.Error(t, err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// refused asserts that nobody listens on the server's port.
func refused(t *testing.T, s *Server) {
	t.Helper()
	var answer int
	require.ErrorContains(t, s.ask(limit(t), "SELECT 1", &answer), "connection refused")
}

// living lists the server's processes, for a test that no fault of it runs at the same time.
func living(t *testing.T, s *Server) []process {
	t.Helper()
	pid := 0
	if s.running() {
		pid = s.postmaster.pid
	}
	members, err := family(pid, s.dataDir)
	require.NoError(t, err)
	return members
}
