package tdsenv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Undo ends the fault that returned it, and returns when it is undone. Calling it again does
// nothing. [Cluster.Close] ends all faults; afterwards an Undo does nothing.
type Undo func() error

type faultKind string

const (
	paused    faultKind = "redo paused"
	delayed   faultKind = "redo delayed"
	suspended faultKind = "data movement suspended"
	cut       faultKind = "cut off"
	hidden    faultKind = "commits hidden"
	held      faultKind = "view held"
	denied    faultKind = "view denied"
	allowing  faultKind = "connections allowed"
	routed    faultKind = "routed"
	frozen    faultKind = "frozen"
	killed    faultKind = "killed"
	failing   faultKind = "fails"
)

// fault is one that is in force. What a server does is always what the list of its faults says.
type fault struct {
	kind     faultKind
	server   *Server
	duration time.Duration
	access   Access
	url      string
	failure  Failure
	left     int
}

func (f *fault) String() string {
	switch f.kind {
	case delayed:
		return fmt.Sprintf("%s by %s", f.kind, f.duration)
	case allowing:
		return fmt.Sprintf("%s: %s", f.kind, f.access)
	case routed:
		return fmt.Sprintf("%s to %s", f.kind, f.url)
	case failing:
		return f.failure.String()
	}
	return string(f.kind)
}

// Faults names the faults in force, the oldest first, for a person.
func (s *Server) Faults() []string {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	var names []string
	for _, f := range s.faults {
		names = append(names, f.String())
	}
	return names
}

// under says whether a fault of the kind is in force. The cluster is locked.
func (s *Server) under(kind faultKind) bool {
	return slices.ContainsFunc(s.faults, func(f *fault) bool { return f.kind == kind })
}

var errClosed = errors.New("the cluster is closed")

// public is the form in which an error leaves the package.
func public(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("readsplit: tdsenv: %w", err)
}

// inject puts f in force. fit says why it makes no sense, if it does not.
func (s *Server) inject(ctx context.Context, f *fault, fit func() error, settle func()) (Undo, error) {
	c := s.cluster
	f.server = s
	c.faulting.Lock()
	defer c.faulting.Unlock()
	c.mu.Lock()
	err := ctx.Err()
	if c.closed {
		err = errClosed
	}
	if err == nil && fit != nil {
		err = fit()
	}
	if err != nil {
		c.mu.Unlock()
		return nil, public(fmt.Errorf("%s on %s: %w", f.kind, s.name, err))
	}
	s.faults = append(s.faults, f)
	c.changed()
	c.mu.Unlock()
	if settle != nil {
		settle()
	}
	var once sync.Once
	undo := func() (err error) {
		once.Do(func() { err = f.undo() })
		return err
	}
	c.mu.Lock()
	c.undos = append(c.undos, undo)
	c.mu.Unlock()
	return undo, nil
}

func (f *fault) undo() error {
	s, c := f.server, f.server.cluster
	c.faulting.Lock()
	defer c.faulting.Unlock()
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	s.faults = slices.DeleteFunc(s.faults, func(x *fault) bool { return x == f })
	if f.kind == held && !s.under(held) {
		s.heldView = nil
	}
	c.changed()
	start := f.kind == killed && !s.under(killed)
	c.mu.Unlock()
	if start {
		return public(s.start())
	}
	return nil
}

// UndoAll ends the faults of all servers.
func (c *Cluster) UndoAll() error {
	c.mu.Lock()
	undos := c.undos
	c.undos = nil
	c.mu.Unlock()
	var errs []error
	for _, undo := range slices.Backward(undos) {
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}

func (s *Server) secondary() error {
	switch {
	case s.cluster.cfg.NoGroup:
		return errors.New("there is no availability group")
	case s == s.cluster.primary:
		return errors.New("it is the primary")
	}
	return nil
}

// PauseRedo stops redo: log arrives and is hardened, and readers see a state that no longer moves.
func (s *Server) PauseRedo(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: paused}, s.secondary, nil)
}

// Delay makes redo of every commit happen d after the commit.
func (s *Server) Delay(ctx context.Context, d time.Duration) (Undo, error) {
	return s.inject(ctx, &fault{kind: delayed, duration: d}, func() error {
		if d <= 0 {
			return fmt.Errorf("the delay is %s: it must be more than 0", d)
		}
		return s.secondary()
	}, nil)
}

// Suspend is ALTER DATABASE .. SET HADR SUSPEND for all databases: no log arrives, what has
// arrived is redone, and the databases stay readable. secondary_lag_seconds says 0 meanwhile.
func (s *Server) Suspend(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: suspended}, s.secondary, nil)
}

// Cut takes the connection to the rest of the group away, while clients still reach the server: a
// secondary gets no more log, and a primary without its quorum refuses everything with error 988.
func (s *Server) Cut(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: cut}, func() error {
		if s.cluster.cfg.NoGroup {
			return errors.New("there is no availability group")
		}
		return nil
	}, nil)
}

// HideCommits makes readers of a secondary miss commits that last_commit_lsn counts already: an
// older page of the documentation says that one long open transaction can do this.
func (s *Server) HideCommits(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: hidden}, s.secondary, nil)
}

// HoldView makes the views of the group say on this server what they say now, whatever happens:
// their documentation says that values may be out of date.
func (s *Server) HoldView(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: held}, func() error {
		if s.heldView == nil {
			s.heldView = map[*database][]replicaRow{}
			for _, db := range s.cluster.databases {
				s.heldView[db] = s.replicaRows(db)
			}
		}
		return nil
	}, nil)
}

// DenyView takes VIEW SERVER STATE from the login: dynamic management views fail with errors 300
// and 297.
func (s *Server) DenyView(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: denied}, nil, nil)
}

// Allow changes which connections the server takes while it is a secondary. It concerns sessions
// that are open too.
func (s *Server) Allow(ctx context.Context, a Access) (Undo, error) {
	return s.inject(ctx, &fault{kind: allowing, access: a}, func() error {
		if a < AllowAll || a > AllowNone {
			return fmt.Errorf("access is %d: it must be AllowAll, AllowReadOnly or AllowNone", int(a))
		}
		return nil
	}, nil)
}

// Route sets the server's READ_ONLY_ROUTING_URL, such as tcp://127.0.0.1:1433; "" takes it out of
// every routing list. That of the listener ([Listener.URL]) makes a loop.
func (s *Server) Route(ctx context.Context, url string) (Undo, error) {
	return s.inject(ctx, &fault{kind: routed, url: url}, nil, nil)
}

// Freeze stops the server where it is: no answer, no error, while connections can be made.
func (s *Server) Freeze(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: frozen}, nil, nil)
}

// Kill breaks all connections and refuses new ones; transactions that are open are gone. Undo
// starts the server again, on its port, with all that it had hardened.
func (s *Server) Kill(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: killed}, nil, s.stop)
}

// access is ALLOW_CONNECTIONS now. The cluster is locked.
func (s *Server) access() Access {
	for _, f := range slices.Backward(s.faults) {
		if f.kind == allowing {
			return f.access
		}
	}
	return s.cluster.cfg.Allow
}
