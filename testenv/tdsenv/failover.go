package tdsenv

import (
	"context"
	"errors"
	"fmt"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/engine"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// Failover makes a synchronized secondary the primary, without loss. Connections to both servers
// break. The old primary becomes a secondary.
func (c *Cluster) Failover(ctx context.Context, target *Server) error {
	_, err := c.failover(ctx, target, false)
	return err
}

// ForceFailover makes any secondary that is up the primary, whatever it has, and says how many
// commits are lost. All other servers are suspended and go on showing what they had, commits that
// are lost included, until [Server.Resume]. The numbers of commits go on from where the new
// primary's log ends: they are those of the lost ones once more.
func (c *Cluster) ForceFailover(ctx context.Context, target *Server) (lost int, err error) {
	return c.failover(ctx, target, true)
}

func (c *Cluster) failover(ctx context.Context, target *Server, force bool) (int, error) {
	c.faulting.Lock()
	defer c.faulting.Unlock()
	problem := func(err error) (int, error) {
		return 0, public(fmt.Errorf("failover to %s: %w", target.name, err))
	}
	old := c.Primary()
	c.mu.Lock()
	err := c.fit(target, force)
	if err == nil {
		err = ctx.Err()
	}
	writers := old.writers()
	c.mu.Unlock()
	if err != nil {
		return problem(err)
	}
	// Before the role changes: no commit of the old primary may come after it.
	for _, w := range writers {
		w.End(sqlval.Errorf(983, "Unable to access the availability database because the database replica is not in the PRIMARY or SECONDARY role. Connections to an availability database are permitted only when the database replica is in the PRIMARY or SECONDARY role. Try the operation again later."))
	}
	old.sever()
	lost := c.promote(old, target, force)
	target.sever()
	old.sever() // those too that came while it was the primary still: a change of role ends them
	return lost, nil
}

func (s *Server) writers() []*engine.Writer {
	var writers []*engine.Writer
	for _, r := range s.replicas {
		if r.writer != nil {
			writers = append(writers, r.writer)
		}
	}
	return writers
}

// fit says why a failover is not possible. The cluster is locked.
func (c *Cluster) fit(target *Server, force bool) error {
	switch {
	case c.closed:
		return errClosed
	case c.cfg.NoGroup:
		return errors.New("there is no availability group")
	case target == c.primary:
		return errors.New("it is the primary already")
	case target.down:
		return errors.New("it is down")
	case force:
		return nil
	case c.primary.down:
		return errors.New("the primary is down: only ForceFailover is possible")
	}
	for _, db := range c.databases {
		r := target.replica(db)
		if !r.connected() || r.isSuspended() || len(r.log) < len(c.primary.replica(db).log) {
			return fmt.Errorf("%s is not synchronized there: only ForceFailover is possible", db.name)
		}
	}
	return nil
}

// promote changes the roles.
func (c *Cluster) promote(old, target *Server, force bool) (lost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, db := range c.databases {
		was, is := old.replica(db), target.replica(db)
		if !force {
			// What came between the check and the end of the old writer.
			is.log = was.log[:len(was.log):len(was.log)]
		}
		lost += len(was.log) - len(is.log)
		was.writer = nil
		is.redone, is.visible, is.left = len(is.log), len(is.log), false
		db.recovery = endOf(is.log, len(is.log)).lsn.endOfBlock()
		is.writer = engine.NewWriter(endOf(is.log, len(is.log)).state, is.publish)
		if force {
			for _, s := range c.servers {
				if s != target {
					s.replica(db).left = true
				}
			}
		}
	}
	c.primary = target
	target.heldView, old.heldView = nil, nil
	c.changed()
	return lost
}

// Resume is ALTER DATABASE .. SET HADR RESUME after a forced failover: what the server has and the
// new primary has not is undone, and log arrives again.
func (s *Server) Resume(ctx context.Context) error {
	c := s.cluster
	c.faulting.Lock()
	defer c.faulting.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return public(err)
	}
	if err := s.secondary(); err != nil {
		return public(fmt.Errorf("resume %s: %w", s.name, err))
	}
	for _, db := range c.databases {
		r, source := s.replica(db), c.primary.replica(db)
		r.left = false
		common := 0
		for common < min(len(r.log), len(source.log)) && r.log[common] == source.log[common] {
			common++
		}
		r.log = r.log[:common:common]
		r.redone, r.visible = min(r.redone, common), min(r.visible, common)
	}
	c.changed()
	return nil
}
