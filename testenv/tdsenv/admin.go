package tdsenv

import (
	"context"
	"regexp"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/engine"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tds"
)

// What an administrator says in T-SQL does the same as the methods of [Server] and [Cluster], so
// that scripts for a real availability group can be tried here. Every login may, and the names of
// the database and the group are not looked at.
var (
	setHADR    = regexp.MustCompile(`(?i)^\s*ALTER\s+DATABASE\s+\S+\s+SET\s+HADR\s+(SUSPEND|RESUME)\s*;?\s*$`)
	doFailOver = regexp.MustCompile(`(?i)^\s*ALTER\s+AVAILABILITY\s+GROUP\s+\S+\s+FAILOVER\s*;?\s*$`)
)

// administer returns what a batch does that is an administrator's; nil: it is none.
func (c *connection) administer(ctx context.Context, text string, r *tds.Response) func() error {
	var do func() error
	if m := setHADR.FindStringSubmatch(text); m != nil {
		do = func() error { return c.server.setHADR(ctx, strings.EqualFold(m[1], "SUSPEND")) }
	} else if doFailOver.MatchString(text) {
		do = c.failOver
	} else {
		return nil
	}
	return func() error {
		if err := do(); err != nil {
			return c.refuse(r, sqlval.Errorf(41190, "Availability group command failed: %v", err))
		}
		return r.Done(engine.CmdOther, -1, false)
	}
}

// setHADR suspends data movement until it is resumed.
func (s *Server) setHADR(ctx context.Context, suspend bool) error {
	if !suspend {
		s.cluster.mu.Lock()
		undo := s.resume
		s.resume = nil
		s.cluster.mu.Unlock()
		if undo != nil {
			return undo()
		}
		return s.Resume(ctx)
	}
	undo, err := s.Suspend(ctx)
	if err != nil {
		return err
	}
	s.cluster.mu.Lock()
	s.resume = undo
	s.cluster.mu.Unlock()
	return nil
}

// failOver answers before it happens, since it ends this connection too.
func (c *connection) failOver() error {
	cluster, target := c.server.cluster, c.server
	cluster.mu.Lock()
	err := cluster.fit(target, false)
	if err == nil {
		cluster.running.Add(1)
	}
	cluster.mu.Unlock()
	if err != nil {
		return err
	}
	c.after = func() { // begun any earlier, it might break off the answer
		go func() {
			defer cluster.running.Done()
			_ = cluster.Failover(context.Background(), target) // who asks sees no change
		}()
	}
	return nil
}
