package tdsenv

import (
	"time"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/engine"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// database is a database of the group.
type database struct {
	name string
	id   int64
	uid  sqlval.UUID // group_database_id
	// recovery is where the log began when the primary became one.
	recovery lsn
}

// entry is a commit in a log, with the database as it was after it.
type entry struct {
	lsn   lsn
	state *engine.State // nil when no server needs it any more
	at    time.Time
}

// replica is a database on one server: a prefix of a log that is hardened there, of which again a
// prefix is redone, and of which again a prefix is shown to readers.
type replica struct {
	server   *Server
	db       *database
	log      []*entry
	redone   int
	visible  int
	writer   *engine.Writer // on the primary
	left     bool           // a forced failover has suspended it
	reported report         // what the primary was last told
}

type report struct {
	hardened, redone int
	at               time.Time
}

// isSuspended says whether data movement is suspended. The cluster is locked.
func (r *replica) isSuspended() bool { return r.left || r.server.under(suspended) }

// connected says whether log can reach the server.
func (r *replica) connected() bool {
	s, p := r.server, r.server.cluster.primary
	return !s.down && !p.down && !s.under(cut) && !p.under(cut) && !s.under(frozen) && !p.under(frozen)
}

// endOf is the last entry of the first n.
func endOf(log []*entry, n int) *entry { return log[n-1] }

// newLog is a log whose first entry is the empty database, from which every server starts.
func newLog() []*entry {
	return []*entry{{lsn: firstLSN, state: engine.Empty(), at: time.Now()}}
}

// publish is called by the primary's writer for each commit, in order.
func (r *replica) publish(state *engine.State) error {
	c := r.server.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := r.server.lost(r.db); err != nil {
		return err
	}
	last := endOf(r.log, len(r.log))
	r.log = append(r.log[:len(r.log):cap(r.log)], &entry{last.lsn.next(), state, time.Now()})
	r.redone, r.visible = len(r.log), len(r.log)
	if c.cfg.NoGroup {
		r.log[len(r.log)-2].state = nil // nobody else has this log
		return nil
	}
	c.ship(r.db)
	if len(r.log)%256 == 0 {
		c.trim(r.db)
	}
	c.changed()
	return nil
}

// ship gives every connected secondary the log of the primary. All of them commit synchronously:
// an acknowledged commit is hardened wherever the log could go. The cluster is locked.
func (c *Cluster) ship(db *database) {
	source := c.primary.replica(db)
	for _, s := range c.servers {
		r := s.replica(db)
		if r == source || !r.connected() || r.isSuspended() {
			continue
		}
		// A slice of its own: the primary's may be continued by another after a failover.
		r.log = source.log[:len(source.log):len(source.log)]
	}
}

// trim forgets the states that all servers have passed.
func (c *Cluster) trim(db *database) {
	passed := len(c.primary.replica(db).log)
	for _, s := range c.servers {
		if s.replica(db).left {
			return // it may have to go back to where the histories part
		}
		passed = min(passed, s.replica(db).visible)
	}
	log := c.primary.replica(db).log
	for i := passed - 2; i >= 0 && log[i].state != nil; i-- {
		log[i].state = nil
	}
}

// carry redoes what is due, until the cluster closes.
func (c *Cluster) carry() {
	defer c.running.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return
		}
		wait := c.redo(time.Now())
		wake := c.wake
		c.mu.Unlock()
		timer.Reset(wait)
		select {
		case <-wake:
		case <-timer.C:
		}
	}
}

// redo does what is due now, and says when the next is.
func (c *Cluster) redo(now time.Time) time.Duration {
	next := time.Hour
	if c.cfg.NoGroup {
		return next
	}
	moved := false
	for _, db := range c.databases {
		c.ship(db)
		for _, s := range c.servers {
			r := s.replica(db)
			if s == c.primary || s.down || s.under(frozen) {
				continue
			}
			delay := s.delay()
			for r.redone < len(r.log) && !s.under(paused) {
				if due := r.log[r.redone].at.Add(delay); due.After(now) {
					next = min(next, due.Sub(now))
					break
				}
				r.redone++
				moved = true
			}
			if !s.under(hidden) && r.visible != r.redone {
				r.visible = r.redone
				moved = true
			}
			if r.connected() {
				r.reported = report{len(r.log), r.redone, now}
			}
		}
	}
	if moved {
		c.tellWaiters()
	}
	return next
}

func (s *Server) delay() time.Duration {
	var d time.Duration
	for _, f := range s.faults {
		if f.kind == delayed {
			d = f.duration
		}
	}
	return d
}
