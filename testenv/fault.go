package testenv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Undo ends the fault that returned it, and returns when it is undone, as the servers see it.
// Calling it again does nothing, unless it failed: then it tries again. Where several faults are
// on one server they may be undone in any order: each lasts until its own Undo. What cannot be
// changed on a server that is down or frozen is changed when that fault is undone. [Cluster.Close]
// ends all faults; afterwards an Undo does nothing.
type Undo func() error

// patience bounds what has no deadline of its own, and every Undo.
const patience = 60 * time.Second

type faultKind string

const (
	paused    faultKind = "replay paused"
	delayed   faultKind = "replay delayed"
	cut       faultKind = "cut off"
	lagging   faultKind = "network lag"
	following faultKind = "follows another"
	promoted  faultKind = "promoted"
	frozen    faultKind = "frozen"
	stopped   faultKind = "stopped"
	killed    faultKind = "killed"
	crashed   faultKind = "backend crashed"
)

// fault is one that is in force. A server's state is always what the list of its faults says;
// whatever is undone, settle brings the server to it.
type fault struct {
	kind     faultKind
	server   *Server
	duration time.Duration // of delayed and lagging
	upstream *Server       // of following

	mu   sync.Mutex
	done bool
}

func (f *fault) String() string {
	switch {
	case f.duration != 0:
		return fmt.Sprintf("%s by %s", f.kind, f.duration)
	case f.upstream != nil:
		return fmt.Sprintf("follows %s", f.upstream.name)
	}
	return string(f.kind)
}

// Faults names the faults in force, the oldest first, for a person.
func (s *Server) Faults() []string {
	s.faultsMu.Lock()
	defer s.faultsMu.Unlock()
	var names []string
	for _, f := range s.faults {
		names = append(names, f.String())
	}
	return names
}

// under says whether one of the kinds is in force.
func (s *Server) under(kinds ...faultKind) bool { return s.newest(kinds...) != nil }

func (s *Server) newest(kinds ...faultKind) *fault {
	s.faultsMu.Lock()
	defer s.faultsMu.Unlock()
	for _, f := range slices.Backward(s.faults) {
		if slices.Contains(kinds, f.kind) {
			return f
		}
	}
	return nil
}

func (s *Server) wantedDelay() time.Duration {
	if f := s.newest(delayed); f != nil {
		return f.duration
	}
	return 0
}

// upstream is the server that this replica receives from.
func (s *Server) upstream() *Server {
	if f := s.newest(following); f != nil {
		return f.upstream
	}
	return s.cluster.Primary()
}

// inject puts f on the list, makes it true, and returns its Undo. When it cannot be made true the
// server is brought back to what it was.
func (s *Server) inject(ctx context.Context, f *fault, force func(context.Context) error) (Undo, error) {
	c := s.cluster
	ctx, cancel := c.while(ctx)
	defer cancel()
	f.server = s
	err := s.forceUnderLock(ctx, f, force)
	if err == nil && s.rebuilt.Load() { // to be able to follow another server
		err = s.settleFollowers(ctx)
	}
	if err == nil {
		c.remember(f)
		return f.undo, nil
	}
	if !errors.Is(err, errUnfit) { // then nothing was touched
		back, cancel := context.WithTimeout(c.life, patience)
		defer cancel()
		err = errors.Join(err, s.restore(back, f))
	}
	return nil, public(fmt.Errorf("%s on %s: %w", f.kind, s.name, err))
}

func (s *Server) forceUnderLock(ctx context.Context, f *fault, force func(context.Context) error) error {
	if err := s.lock(ctx); err != nil {
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	defer s.unlock()
	if s.cluster.life.Err() != nil {
		return fmt.Errorf("%w: %w", errUnfit, errClosed)
	}
	s.faultsMu.Lock()
	s.faults = append(s.faults, f)
	s.faultsMu.Unlock()
	err := force(ctx)
	if err != nil {
		s.drop(f)
	}
	return err
}

// restore takes f off the list and makes the server, and who receives from it, what the rest of
// the list says.
func (s *Server) restore(ctx context.Context, f *fault) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	if s.cluster.life.Err() != nil {
		s.unlock()
		return nil //nolint:nilerr // Close has ended it
	}
	s.drop(f)
	err := s.settle(ctx)
	s.unlock()
	if err != nil {
		return err
	}
	return s.settleFollowers(ctx)
}

func (s *Server) drop(f *fault) {
	s.faultsMu.Lock()
	defer s.faultsMu.Unlock()
	s.faults = slices.DeleteFunc(s.faults, func(x *fault) bool { return x == f })
}

func (f *fault) undo() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.server.cluster
	if f.done || c.life.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.life, patience)
	defer cancel()
	if err := f.server.restore(ctx, f); err != nil {
		if c.life.Err() != nil {
			return nil // Close ended it meanwhile
		}
		return public(fmt.Errorf("undo %s on %s: %w", f, f.server.name, err))
	}
	f.done = true
	c.forget(f)
	return nil
}
