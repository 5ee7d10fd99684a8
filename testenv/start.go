package testenv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Start starts a cluster for a test and closes it when the test ends. It fails the test, and does
// not skip it, when there are no binaries of PostgreSQL: a test that silently did not run has
// proven nothing. The logs of a test that failed are kept, and the test names them.
func Start(tb testing.TB, options ...Option) *Cluster {
	tb.Helper()
	var cfg Config
	for _, o := range options {
		o(&cfg)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := New(ctx, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			keepLogs(tb, c)
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			tb.Error(err)
		}
	})
	return c
}

func keepLogs(tb testing.TB, c *Cluster) {
	tb.Helper()
	dir, err := os.MkdirTemp("", "readsplit-logs-")
	if err != nil {
		tb.Errorf("readsplit: testenv: keep the servers' logs: %v", err)
		return
	}
	saved, err := c.SaveLogs(dir)
	if err != nil {
		tb.Error(err)
	}
	for _, path := range saved {
		tb.Logf("readsplit: testenv: log kept: %s", path)
	}
}

// New starts a cluster: for programs, and for TestMain. It returns when every replica streams
// from the primary; one second is usual. ctx bounds the start alone, and without a deadline it is
// a minute. Close the cluster: the death of this process ends the servers too, but a process that
// lives on would keep them.
func New(ctx context.Context, cfg Config) (*Cluster, error) {
	c, err := create(ctx, cfg)
	return c, public(err)
}

func create(ctx context.Context, cfg Config) (*Cluster, error) {
	if !supported {
		return nil, fmt.Errorf("faults need the signals of Unix; it does not run on %s", runtime.GOOS)
	}
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	if _, err := pgx.ParseConfig("host=127.0.0.1 port=1 user=postgres sslmode=disable"); err != nil {
		return nil, fmt.Errorf("an environment variable of libpq (PG...) is not valid: unset it: %w", err)
	}
	ctx, cancel := bounded(ctx, patience)
	defer cancel()
	c := &Cluster{cfg: cfg, password: newPassword()}
	c.life, c.finish = context.WithCancel(context.Background())
	if err := c.settleIn(ctx); err != nil {
		return nil, err
	}
	if err := c.begin(ctx); err != nil {
		return nil, errors.Join(err, c.close(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// settleIn finds binaries and a folder that the servers' account can use, and sets the watchdog.
func (c *Cluster) settleIn(ctx context.Context) error {
	var err error
	if c.account, err = serverAccount(); err != nil {
		return err
	}
	if c.install, err = findInstallation(ctx, c.cfg); err != nil {
		return err
	}
	relocated := !c.account.reaches(ctx, c.install.dir)
	base, err := c.base(ctx, relocated)
	if err != nil {
		return err
	}
	c.root = filepath.Join(base, "readsplit-testenv-"+rand.Text())
	if c.watchdog, err = startWatchdog(c.account, c.root); err != nil {
		return err
	}
	err = c.makeDir(c.root)
	if err == nil && relocated {
		err = c.relocate()
	}
	if err != nil {
		return errors.Join(err, c.watchdog.end(false))
	}
	return nil
}

// base is the folder for the cluster's own: the one that is configured, or else one in memory, or
// else the system's for temporary files.
func (c *Cluster) base(ctx context.Context, executable bool) (string, error) {
	dir, source := c.cfg.Dir, "Config.Dir"
	if dir == "" {
		dir, source = os.Getenv(envDir), "$"+envDir
	}
	chosen := dir != ""
	if !chosen {
		source = "the folder for temporary files"
		if dir = c.cfg.memoryDir(executable); dir == "" {
			dir = os.TempDir()
		}
	}
	// The system names a process's folder without symbolic links, and so must we.
	base, err := filepath.Abs(dir)
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", source, err)
	}
	if !chosen && !c.account.reaches(ctx, base) { // $TMPDIR is root's own
		base = "/tmp"
	}
	if !c.account.reaches(ctx, base) {
		return "", fmt.Errorf("%s is %s, which user %s cannot enter: name another folder", source, base, c.account.name)
	}
	return base, nil
}

// begin makes the data folders and starts the servers.
func (c *Cluster) begin(ctx context.Context) error {
	primary := newServer(c, "primary")
	c.servers = []*Server{primary}
	for i := range c.cfg.Replicas {
		s := newServer(c, fmt.Sprintf("replica%d", i+1))
		c.servers = append(c.servers, s)
		var err error
		if s.relay, err = newRelay(primary.Addr); err != nil {
			return err
		}
	}
	for _, s := range c.servers {
		if err := c.makeDir(s.dir); err != nil {
			return err
		}
	}
	if err := c.initialise(ctx, primary.dataDir); err != nil {
		return err
	}
	if err := each(c.servers[1:], func(s *Server) error {
		return c.copyTree(ctx, primary.dataDir, s.dataDir, notCopied)
	}); err != nil {
		return err
	}
	if err := each(c.servers, func(s *Server) error {
		if s == primary {
			return s.start(ctx)
		}
		if err := s.makeStandby(); err != nil {
			return err
		}
		return s.start(ctx)
	}); err != nil {
		return err
	}
	if err := each(c.servers[1:], func(s *Server) error { return s.awaitStreaming(ctx) }); err != nil {
		return err
	}
	return c.loadExtensions(ctx)
}

// each runs f for all servers at once and joins the errors.
func each(servers []*Server, f func(*Server) error) error {
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { errs[i] = f(s) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Close ends all faults and all servers at once, closes the admin pools, removes the cluster's
// folder with data and logs, and returns when no process and no goroutine of it is left. It does
// all of that even when ctx has ended, and may be called more than once.
func (c *Cluster) Close(ctx context.Context) error {
	c.closing.Do(func() { c.closeErr = public(c.close(ctx)) })
	return c.closeErr
}

func (c *Cluster) close(ctx context.Context) error {
	c.finish()
	errs := []error{each(c.servers, func(s *Server) error {
		// Faults under way have noticed that life ended, and give up their turn at once.
		waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err := s.lock(waiting); err != nil {
			return err // the watchdog ends it
		}
		defer s.unlock()
		return errors.Join(s.closePool(), s.end())
	})}
	for _, s := range c.servers {
		if s.relay != nil {
			s.relay.close()
		}
	}
	c.goroutines.Wait()
	errs = append(errs, os.RemoveAll(c.root))
	err := errors.Join(errs...)
	return errors.Join(err, c.watchdog.end(err == nil))
}

// end ends the server without a farewell: its data is thrown away.
func (s *Server) end() error {
	if s.running() && !s.frozen {
		s.up.Store(false)
		if err := signal(s.postmaster.pid, sigNow); err != nil {
			return err
		}
		limit := time.NewTimer(3 * time.Second)
		defer limit.Stop()
		select {
		case <-s.postmaster.exited:
		case <-limit.C:
		}
	}
	return s.kill(context.Background()) // also finds what a postmaster left that has died
}
