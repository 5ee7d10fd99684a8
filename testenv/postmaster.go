package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// postmaster is the running server process, a child of ours. One goroutine waits for it and
// closes exited when it is gone.
type postmaster struct {
	pid    int
	exited chan struct{}
	err    error // why it ended; valid after exited is closed
	logAt  int64 // where its part of the log begins
}

func (p *postmaster) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// running says whether this server has a postmaster; the caller has the server's turn.
func (s *Server) running() bool { return s.postmaster != nil && s.postmaster.running() }

// start runs the server and returns when it takes connections: on its port if it has one, else
// on a free one. A port that somebody took between choice and bind is tried again.
func (s *Server) start(ctx context.Context) error {
	own := s.Port() != 0
	for attempt := 1; ; attempt++ {
		if !own {
			port, err := s.cluster.cfg.choosePort()
			if err != nil {
				return err
			}
			s.tcpPort.Store(int32(port))
		}
		err := s.writeConf()
		if err == nil {
			err = s.launch()
		}
		if err == nil {
			err = s.awaitReady(ctx)
		}
		if err == nil {
			s.up.Store(true)
			s.dropIdle()
			return nil
		}
		if !errors.Is(err, errPortTaken) || attempt == 20 {
			return errors.Join(err, s.kill(context.WithoutCancel(ctx)))
		}
		if own { // other programs may not keep it for long
			wait := time.NewTimer(100 * time.Millisecond)
			select {
			case <-wait.C:
			case <-ctx.Done():
				wait.Stop()
				return fmt.Errorf("start %s on its port %d: %w", s.name, s.Port(), err)
			}
		}
	}
}

// launch starts the process. Its working folder is the data folder from the first moment: that is
// how the watchdog finds it.
func (s *Server) launch() error {
	log, at, err := s.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.cluster.account.command(s.dataDir, s.cluster.install.program("postgres"), "-D", s.dataDir)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start postgres for %s: %w", s.name, err)
	}
	p := &postmaster{pid: cmd.Process.Pid, exited: make(chan struct{}), logAt: at}
	s.postmaster, s.frozen = p, false
	s.cluster.goroutines.Go(func() {
		p.err = cmd.Wait()
		s.up.Store(false)
		close(p.exited)
	})
	return nil
}

// awaitReady returns when the server says so in its own lock file and answers a query. Its lock
// file and not only the port: somebody else's server could listen there.
func (s *Server) awaitReady(ctx context.Context) error {
	p := s.postmaster
	err := poll(ctx, 3*time.Millisecond, func() (bool, string, error) {
		if !p.running() {
			return false, "", s.whyEnded()
		}
		lines := s.lockFile()
		ready := len(lines) >= 8 && lines[0] == strconv.Itoa(p.pid) && strings.TrimSpace(lines[7]) == "ready"
		return ready, "starting", nil
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	return s.awaitAnswer(ctx)
}

// awaitAnswer returns when a new connection gets an answer from this server.
func (s *Server) awaitAnswer(ctx context.Context) error {
	err := poll(ctx, 5*time.Millisecond, func() (bool, string, error) {
		if !s.running() {
			return false, "", s.whyEnded()
		}
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		var name string
		if err := s.ask(attempt, "SELECT current_setting('cluster_name')", &name); err != nil {
			return false, err.Error(), nil
		}
		if name != s.name {
			return false, "", fmt.Errorf("port %d belongs to a server called %q", s.Port(), name)
		}
		return true, "", nil
	})
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", s.name, err)
	}
	return nil
}

// lockFile returns the lines of postmaster.pid: 1 pid, 4 port, 7 shared memory, 8 status.
func (s *Server) lockFile() []string {
	content, err := os.ReadFile(filepath.Join(s.dataDir, "postmaster.pid"))
	if err != nil {
		return nil
	}
	return strings.Split(string(content), "\n")
}

// whyEnded is the error of a server that ended by itself, with the last lines of its log.
func (s *Server) whyEnded() error {
	if s.postmaster == nil {
		return errors.New("its process was not started")
	}
	log, err := os.ReadFile(s.LogFile())
	if err != nil || int64(len(log)) < s.postmaster.logAt {
		return fmt.Errorf("its process ended: %w", errors.Join(s.postmaster.err, err))
	}
	tail := string(log[s.postmaster.logAt:])
	if strings.Contains(tail, "Address already in use") {
		return errPortTaken
	}
	return fmt.Errorf("its process ended: %w; its log ends with:\n\t%s", s.postmaster.err, lastLines(tail, 10))
}

// stop shuts the server down cleanly; one that takes longer than grace is told to stop at once.
func (s *Server) stop(ctx context.Context, grace time.Duration) error {
	if !s.running() {
		return nil
	}
	if s.frozen {
		if err := s.thaw(ctx); err != nil {
			return err
		}
	}
	s.up.Store(false)
	for _, step := range []struct {
		do    func() error
		limit time.Duration
	}{
		{func() error { return signal(s.postmaster.pid, sigFastStop) }, grace},
		{func() error { return signal(s.postmaster.pid, sigNow) }, 3 * time.Second},
	} {
		if err := step.do(); err != nil {
			return err
		}
		limit := time.NewTimer(step.limit)
		select {
		case <-s.postmaster.exited:
			limit.Stop()
			return nil
		case <-limit.C:
		case <-ctx.Done():
			limit.Stop()
			return fmt.Errorf("stop %s: %w", s.name, context.Cause(ctx))
		}
	}
	return s.kill(ctx)
}

// kill sends SIGKILL to all processes of the server and removes what they leave in the system.
func (s *Server) kill(ctx context.Context) error {
	if s.postmaster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s.up.Store(false)
	pid := 0 // one that has ended may have left its number to another program
	if s.running() {
		pid = s.postmaster.pid
		// Stopped first, it can neither start new children nor react to the death of the others.
		if err := signal(pid, sigStop); err != nil {
			return err
		}
	}
	dead := func(p process) bool { return p.dead() }
	if err := signalUntil(ctx, pid, s.dataDir, sigKill, dead); err != nil {
		return fmt.Errorf("kill %s: %w", s.name, err)
	}
	select {
	case <-s.postmaster.exited:
	case <-ctx.Done():
		return fmt.Errorf("kill %s: %w", s.name, context.Cause(ctx))
	}
	s.frozen = false
	if lines := s.lockFile(); len(lines) >= 7 {
		if key := strings.Fields(lines[6]); len(key) == 2 {
			if err := removeSharedMemory(s.cluster.account, key[1]); err != nil {
				return err
			}
		}
		// It names a process number that the system may give to somebody else; the next start
		// would then refuse to run beside it.
		if err := os.Remove(filepath.Join(s.dataDir, "postmaster.pid")); err != nil {
			return fmt.Errorf("clean up after killing %s: %w", s.name, err)
		}
	}
	return nil
}
