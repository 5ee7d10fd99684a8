package readsplit

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/overload"
)

// connections compares what the pools of a plugin may open with what the servers
// take. A server whose limit is reached refuses connections at the worst moment:
// when a load comes that the pools were made large for.
type connections struct {
	mu    sync.Mutex
	users []*connectionUser
	live  bool                  // what is seen is judged at once; else the start does that
	said  map[runningServer]int // what was needed when it was logged
}

// runningServer tells servers apart, whatever name they are configured by.
type runningServer struct {
	system  uint64
	started int64
}

// connectionUser is one role of one server in the configuration: a primary or a
// replica of a router.
type connectionUser struct {
	rt      *router
	replica *server // nil: the primary

	// Guarded by connections.mu.
	seen          bool
	at            runningServer
	most, reserve int
	waits         bool // a connection is kept on which the server waits
}

// watchConnections returns what a source tells its samples to.
func (p *Plugin) watchConnections(rt *router, replica *server) func(lsn.Sample) {
	c := &p.connections
	u := &connectionUser{rt: rt, replica: replica}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := len(c.users)
	if replica == nil {
		// A primary comes before its replicas.
		at -= len(rt.replicas())
	}
	c.users = slices.Insert(c.users, at, u)
	return func(s lsn.Sample) {
		at := runningServer{s.System, s.Started}
		c.mu.Lock()
		waits := replica != nil && s.Version >= lsn.WaitVersion && !rt.cfg.ForbidServerWait
		news := !u.seen || u.at != at || u.most != s.MaxConnections || u.reserve != s.Reserved || u.waits != waits
		u.seen, u.at, u.most, u.reserve, u.waits = true, at, s.MaxConnections, s.Reserved, waits
		live := c.live
		c.mu.Unlock()
		if news && live {
			p.checkConnections()
		}
	}
}

// forget takes out the pool of a replica that was removed, or with nil all pools of
// a router that is closed.
func (c *connections) forget(rt *router, replica *server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users = slices.DeleteFunc(c.users, func(u *connectionUser) bool {
		return u.rt == rt && (replica == nil || u.replica == replica)
	})
}

// starting holds judgement back until checkConnections: servers are seen one by one.
func (c *connections) starting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live = false
}

// checkConnections logs each server that more connections may be opened to than it
// takes, once for each number.
func (p *Plugin) checkConnections() {
	c := &p.connections
	c.mu.Lock()
	c.live = true
	if c.said == nil {
		c.said = make(map[runningServer]int)
	}
	var warn, info []overload.Connections
	sums := c.sums()
	// Runs that have ended, and servers that were removed, do not come again.
	maps.DeleteFunc(c.said, func(at runningServer, _ int) bool { _, there := sums[at]; return !there })
	for at, sum := range sums {
		unlimited := len(sum.Unlimited()) > 0
		if said, ok := c.said[at]; ok && said == sum.Needed || sum.Fits() && !unlimited {
			continue
		}
		c.said[at] = sum.Needed
		if sum.Fits() {
			info = append(info, sum)
		} else {
			warn = append(warn, sum)
		}
	}
	c.mu.Unlock()
	for _, sum := range warn {
		p.db.Logger.Warn(context.Background(), "readsplit: too many connections: %s", sum)
	}
	// A pool of the application's that has no limit had none before the plugin came.
	for _, sum := range info {
		p.db.Logger.Info(context.Background(), "readsplit: connections without a limit: %s", sum)
	}
}

// status returns the sums in the order of the configuration.
func (c *connections) status() []overload.Connections {
	c.mu.Lock()
	defer c.mu.Unlock()
	sums := c.sums()
	var all []overload.Connections
	for _, u := range c.users {
		if sum, ok := sums[u.at]; ok && u.seen {
			all = append(all, sum)
			delete(sums, u.at)
		}
	}
	return all
}

// sums adds up what may be opened on each server that was seen. The caller holds mu.
func (c *connections) sums() map[runningServer]overload.Connections {
	sums := make(map[runningServer]overload.Connections)
	counted := make(map[*sql.DB]bool)
	for _, u := range c.users {
		if !u.seen || u.most == 0 {
			continue
		}
		sum := sums[u.at]
		sum.MaxConnections, sum.Reserved, sum.Instances = u.most, u.reserve, u.rt.cfg.Instances
		sum.Servers = append(sum.Servers, u.name())
		pool, limit, own := u.opens()
		sum.Own += own
		if pool != nil && !counted[pool] {
			counted[pool] = true
			sum.Pools = append(sum.Pools, limit)
		}
		sum.Pools = append(sum.Pools, u.lanes()...)
		sums[u.at] = sum
	}
	for at, sum := range sums {
		sums[at] = sum.WithSum()
	}
	return sums
}

func (u *connectionUser) name() string {
	name := primaryName
	if u.replica != nil {
		name = u.replica.name
	}
	if u.rt.name != "" {
		name = u.rt.name + "/" + name
	}
	return name
}

// opens returns the pool in whose connections the role is played, its limit, and how
// many the plugin opens beside it.
func (u *connectionUser) opens() (pool *sql.DB, limit overload.PoolLimit, own int) {
	rt := u.rt
	if s := u.replica; s != nil {
		if given := s.dialer.db; !s.dialer.owned && given.Stats().MaxOpenConnections > 0 {
			// What the plugin opens, it takes out of the application's pool.
			return given, overload.PoolLimit{Name: "SetMaxOpenConns of the pool given for " + s.name, MaxOpen: given.Stats().MaxOpenConnections}, 0
		}
		own = 1
		if rt.follow != nil {
			own++ // it is asked whether it is the primary now
		}
		if u.waits && s.dialer.owned {
			own++ // on which it says what it has replayed
		}
		if s.reserved {
			return nil, limit, own // no read runs in the site's pool
		}
		return s.pool, overload.PoolLimit{Name: u.poolField(), MaxOpen: s.pool.Stats().MaxOpenConnections}, own
	}
	if rt.follow != nil && rt.follow.of == rt {
		own++
	}
	if rt.control.owned || rt.follow != nil {
		own++
		if rt.splits() && rt.catalog != nil && (rt == rt.plugin.main || rt.catalog != rt.plugin.main.catalog) {
			own++
		}
	}
	pool, err := rt.primaryDB()
	if err != nil {
		return nil, limit, own
	}
	limit = overload.PoolLimit{Name: "SetMaxOpenConns of db.DB()", MaxOpen: pool.Stats().MaxOpenConnections}
	if rt.owns() {
		limit.Name = rt.field + ".PrimaryPool.MaxOpen"
	}
	return pool, limit, own
}

// poolField is how the configuration calls the size of a replica's pool.
func (u *connectionUser) poolField() string {
	s, rt := u.replica, u.rt
	if s.index >= len(rt.cfg.Replicas) || rt.cfg.Replicas[s.index].Name != s.name {
		if s.discovered.Load() {
			return fmt.Sprintf("Config.Discovered.Pool.MaxOpen (%s)", s.name)
		}
		return fmt.Sprintf("Replica.Pool.MaxOpen of %q, which AddReplica added", s.name)
	}
	return fmt.Sprintf("%s.Replicas[%d].Pool.MaxOpen", rt.field, s.index)
}

// lanes returns the limits of the pools that groups have on a replica. Where they all
// take connections out of one pool of the application's, that has the limit.
func (u *connectionUser) lanes() (all []overload.PoolLimit) {
	s := u.replica
	if s == nil || !s.dialer.owned && s.dialer.db.Stats().MaxOpenConnections > 0 {
		return nil
	}
	for _, l := range s.allLanes() {
		field := u.poolField()
		for i, g := range u.rt.plugin.cfg.Groups {
			if g.Name == l.class.name && g.Pool.MaxOpen > 0 {
				field = fmt.Sprintf("Config.Groups[%d].Pool.MaxOpen", i)
			}
		}
		all = append(all, overload.PoolLimit{
			Name: fmt.Sprintf("%s for group %q on %s", field, l.class.name, s.name), MaxOpen: l.pool.Stats().MaxOpenConnections,
		})
	}
	return all
}
