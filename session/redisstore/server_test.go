package redisstore

import (
	"bufio"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// server is a redis-server of a test's own.
type server struct {
	port int
	dir  string
	args []string
	pid  int
	cmd  *exec.Cmd
	in   io.Closer
}

// start runs redis-server, which keeps nothing on disk unless args say so.
func start(t *testing.T, args ...string) *server { t.Helper(); return startFor(t, args...) }

func startFor(t testing.TB, args ...string) *server {
	t.Helper()
	s := &server{dir: t.TempDir(), args: args}
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "conf"), nil, 0o600)) // a sentinel wants one
	t.Cleanup(s.kill)
	for range 20 {
		// Below what the kernel hands out to connections, so that a server that was
		// stopped gets its port back.
		s.port = 10_240 + rand.IntN(22_000)
		if l, err := net.Listen("tcp4", s.addr()); err == nil && l.Close() == nil && s.run(t) {
			return s
		}
	}
	require.Fail(t, "redis-server does not start", s.log())
	return nil
}

// run starts the process under a shell that kills it when this process ends, however
// that happens. It reports whether the server answers.
func (s *server) run(t testing.TB) bool {
	t.Helper()
	args := append([]string{
		"-c", `"$@" & p=$!; echo $p; cat >/dev/null; kill -9 $p 2>/dev/null; wait`, "sh", "redis-server", filepath.Join(s.dir, "conf"),
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no",
		"--logfile", filepath.Join(s.dir, "log"), "--repl-diskless-sync-delay", "0",
	}, s.args...)
	s.cmd = exec.Command("sh", args...)
	in, err := s.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	s.in = in
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	s.pid, err = strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)

	c := redis.NewClient(&redis.Options{Addr: s.addr(), MaxRetries: -1})
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := c.Info(ctx, "server").Result()
		if err == nil && strings.Contains(info, "process_id:"+strconv.Itoa(s.pid)+"\r\n") {
			return true
		}
		select {
		case <-tick.C:
			if syscall.Kill(s.pid, 0) == nil {
				continue
			}
		case <-ctx.Done():
		}
		s.kill()
		return false
	}
}

// kill ends the server as kill -9 does.
func (s *server) kill() {
	if s.cmd != nil {
		s.in.Close()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

func (s *server) restart(t *testing.T) {
	t.Helper()
	s.kill()
	require.True(t, s.run(t), s.log())
}

func (s *server) freeze(t *testing.T) (resume func()) {
	t.Helper()
	require.NoError(t, syscall.Kill(s.pid, syscall.SIGSTOP))
	return func() { assert.NoError(t, syscall.Kill(s.pid, syscall.SIGCONT)) }
}

func (s *server) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

func (s *server) log() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(text)
}

func (s *server) client(t *testing.T) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.addr()})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *server) do(t *testing.T, args ...any) any {
	t.Helper()
	v, err := s.client(t).Do(t.Context(), args...).Result()
	require.NoError(t, err, "%v", args)
	return v
}

// open returns a store that is sure of all buckets, as if the server had been in use
// for long. Its timeout is one for a machine that is busy with other tests.
func open(t *testing.T, client redis.UniversalClient, o Options) *Store {
	t.Helper()
	if o.Prefix == "" {
		o.Prefix = "test:" + strings.ReplaceAll(t.Name(), "/", ":") + ":"
	}
	if o.Timeout == 0 {
		o.Timeout = time.Second
	}
	s := reopen(t, client, o)
	for bucket := range 256 {
		marker := markerKey(o.Prefix, byte(bucket))
		require.NoError(t, s.script.Run(t.Context(), client, []string{marker, marker + "nobody"}, milliseconds(s.life()), "0").Err())
		require.NoError(t, client.HSet(t.Context(), marker, "lost", 0).Err())
	}
	return s
}

// reopen is the store of another process.
func reopen(t *testing.T, client redis.UniversalClient, o Options) *Store {
	t.Helper()
	s, err := New(client, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		assert.NoError(t, s.Close(ctx))
	})
	return s
}

// until polls, for at most 20 seconds.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		require.True(t, time.Now().Before(deadline), what)
		<-tick.C
	}
}
