package readsplit

import (
	"database/sql"
	"errors"
	"slices"
	"sync/atomic"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy/latency"
)

// lane is what the reads of one group have on a replica for themselves: a pool, so that
// reports which take all of its connections leave the site its own, and a meter, so that
// an hour of theirs does not make the replica look slow to the site.
type lane struct {
	class    *class
	pool     *sql.DB
	prepared *statements
	meter    latency.Meter
	reads    atomic.Uint64
}

// newLanes makes the lanes of a replica: of the groups that it is in, and of those that
// may fall back on any replica. No connection is made before the first read.
func newLanes(s *server, r Replica, classes map[string]*class, size func(Pool) Pool, prepare *gorm.Config) []*lane {
	var all []*lane
	for _, name := range sortedKeys(classes) {
		c := classes[name]
		if !slices.Contains(r.Groups, name) && (c.otherwise != groups.AnyReplica || s.reserved) {
			continue
		}
		l := &lane{class: c, pool: sql.OpenDB(connector{s})}
		size(c.size.or(r.Pool)).apply(l.pool)
		l.prepared = newStatements(l.pool, prepare)
		all = append(all, l)
	}
	return all
}

// lane returns what reads of c have on s; nil: what the site has.
func (s *server) lane(c *class) *lane {
	if c == nil {
		return nil
	}
	for _, l := range s.allLanes() {
		if l.class == c {
			return l
		}
	}
	return nil
}

// allLanes are what groups have on s.
func (s *server) allLanes() []*lane {
	if p := s.lanes.Load(); p != nil {
		return *p
	}
	return nil
}

// addLanes gives s lanes that it has not, because a group has become known that may fall
// back on it. The caller holds Plugin.adding.
func (s *server) addLanes(more []*lane) {
	all := append(slices.Clone(s.allLanes()), more...)
	s.lanes.Store(&all)
}

// poolFor returns the pool on s for reads of c.
func (s *server) poolFor(c *class) *sql.DB {
	if l := s.lane(c); l != nil {
		return l.pool
	}
	return s.pool
}

// preparedFor returns the prepared statements on s for reads of c.
func (s *server) preparedFor(c *class) *statements {
	if l := s.lane(c); l != nil {
		return l.prepared
	}
	return s.prepared
}

// meterFor returns the meter on s for reads of c.
func (s *server) meterFor(c *class) *latency.Meter {
	if l := s.lane(c); l != nil {
		return &l.meter
	}
	return &s.meter
}

// inFlight is how many reads run on s, in whichever pool.
func (s *server) inFlight() int64 {
	n := s.meter.InFlight()
	for _, l := range s.allLanes() {
		n += l.meter.InFlight()
	}
	return n
}

// inUse is how many connections of s are in use, of whichever pool.
func (s *server) inUse() int {
	n := s.pool.Stats().InUse
	for _, l := range s.allLanes() {
		n += l.pool.Stats().InUse
	}
	return n
}

// closeIdle closes the idle connections of all pools to s.
func (s *server) closeIdle() {
	closeIdle(s.pool)
	for _, l := range s.allLanes() {
		closeIdle(l.pool)
	}
}

// forgetPrepared drops the prepared statements of all pools to s.
func (s *server) forgetPrepared() {
	s.prepared.reset()
	for _, l := range s.allLanes() {
		l.prepared.reset()
	}
}

// closeLanes closes the pools of all groups.
func (s *server) closeLanes() error {
	var errs []error
	for _, l := range s.allLanes() {
		l.prepared.close()
		errs = append(errs, l.pool.Close())
	}
	return errors.Join(errs...)
}

// laneStatus tells of the pools of groups on s.
func (s *server) laneStatus() []groups.PoolStatus {
	var all []groups.PoolStatus
	for _, l := range s.allLanes() {
		all = append(all, groups.PoolStatus{
			Group: l.class.name, Reads: l.reads.Load(), InFlight: l.meter.InFlight(), Latency: l.meter.Latency(sinceStart()), Pool: l.pool.Stats(),
		})
	}
	return all
}
