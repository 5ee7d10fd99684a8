package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/internal/dialect"
	"github.com/readsplit/readsplit/lsn"
)

// follower keeps the connections to the primary where that is one of several
// hosts: it finds out which one it is, opens connections there and nowhere else,
// and breaks them off when another server is elected. So no statement of this
// process is sent to two primaries.
type follower struct {
	of      *router // whose primary it is; resolvers without one of their own share it
	hosts   []failover.Host
	dialers []*dialer // by host
	own     []*dialer // those of them that nobody else closes
	watch   *failover.Watch
	pool    *sql.DB // for statements
	control *sql.DB // for the plugin's own questions, which an exhausted pool must not keep away
	// afterClose is where statements go once the plugin is closed. borrows is that,
	// where it sets what Config.Settings says.
	afterClose gorm.ConnPool
	borrows    *sql.DB

	mu      sync.Mutex
	target  *target
	conns   map[*heldConn]lsn.Server
	said    map[string]bool      // what is said once
	promote map[placed]time.Time // replicas that are no standby, since when
}

// target is where connections go.
type target struct {
	host    int
	server  lsn.Server // the run that was elected
	highest uint32     // nothing below this timeline is written to
	err     error      // why there are none
	life    context.Context
	end     context.CancelCauseFunc // another server was elected
}

// owns reports whether the primary's pool is rt's own: the plugin opened it for rt.
func (rt *router) owns() bool {
	return rt.opened != nil || rt.follow != nil && rt.follow.of == rt
}

// openFollower makes a follower where dialector names several hosts, or where the
// replicas may take over. Elsewhere nothing changes.
func (rt *router) openFollower(dialector gorm.Dialector, size Pool) error {
	if main := rt.plugin.main; main != nil && main.follow != nil && rt.primary == gorm.ConnPool(main.follow.pool) {
		rt.follow = main.follow
		return nil
	}
	if dialector.Name() != "postgres" {
		return nil
	}
	hosts := dialect.Hosts(dialector)
	if len(hosts) < 2 && (!rt.cfg.FollowPrimary || len(rt.cfg.Replicas) == 0) {
		return nil
	}
	f := &follower{
		of: rt, target: newTarget(-1), conns: make(map[*heldConn]lsn.Server),
		said: make(map[string]bool), promote: make(map[placed]time.Time),
	}
	f.target.err = fmt.Errorf("%w: nobody was asked yet", failover.ErrNoPrimary)
	rt.follow = f
	var errs []error
	if hosts == nil {
		hosts = []dialect.Host{{Name: primaryName, Dialector: dialector}}
	}
	for _, h := range hosts {
		errs = append(errs, f.add(h.Name, h.Dialector))
	}
	if rt.cfg.FollowPrimary {
		for i, r := range rt.cfg.Replicas {
			// With connections of its own: a replica that is removed may be the primary.
			switch hosts := dialect.Hosts(r.Dialector); {
			case rt.dialers[i] == nil: // reported already
			case r.Logical: // it takes writes, and is no candidate
			case hosts == nil:
				errs = append(errs, f.add(r.Name, r.Dialector))
			default:
				for _, h := range hosts {
					name := r.Name
					if len(hosts) > 1 {
						name += "/" + h.Name
					}
					errs = append(errs, f.add(name, h.Dialector))
				}
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("readsplit: %s: the primary's hosts: %w", rt.field, err)
	}
	f.watch = failover.New(failover.Config{
		Hosts: f.hosts, SampleEvery: rt.cfg.SampleEvery, SampleTimeout: rt.cfg.SampleTimeout,
		MaxSampleAge: rt.cfg.MaxSampleAge, OnOutcome: f.outcome, Seed: rand.Uint64(),
	})
	most := 0
	if given, err := databaseOf(rt.primary); err == nil && rt.primary != nil {
		most = given.Stats().MaxOpenConnections
	}
	f.pool = sql.OpenDB(followConnector{f: f, settings: rt.cfg.Settings != nil})
	size.sized(most).apply(f.pool)
	f.control = sql.OpenDB(followConnector{f: f})
	f.control.SetMaxIdleConns(1)
	f.afterClose = f.pool
	switch {
	case rt.primary == nil && (rt.name != "" || rt.cfg.Settings != nil):
		// A primary of its own: once that is closed there is no other.
	case rt.cfg.Settings != nil:
		base, err := databaseOf(rt.primary)
		if err != nil {
			return err
		}
		f.borrows = newBorrowing(base, rt)
		f.afterClose = f.borrows
	default:
		f.afterClose = rt.plugin.base
	}
	rt.primary = f.pool
	return nil
}

// add adds a host that nobody else connects to.
func (f *follower) add(name string, d gorm.Dialector) error {
	dialer, err := newDialer(d)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	f.own, f.dialers = append(f.own, dialer), append(f.dialers, dialer)
	f.hosts = append(f.hosts, failover.Host{Name: name, Source: dialer.source()})
	return nil
}

// source returns what asks the server of a dialer.
func (d *dialer) source() *source { return &source{dialer: d, shared: d.scarce()} }

func newTarget(host int) *target {
	t := &target{host: host}
	t.life, t.end = context.WithCancelCause(context.Background())
	return t
}

// outcome takes in an election, before anybody can see it: when the new primary is
// asked for the first time, no connection to the old one can acknowledge anything
// any more. It returns what is left to do without a lock.
func (f *follower) outcome(before, now failover.Outcome) (later func()) {
	err := now.Err(f.watch.Names())
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.target
	same := err == nil && t.err == nil && t.host == now.Leader && sameRun(t.server, now.Server) && t.highest == now.Highest
	if !same && (err != nil || now.Leader >= 0) {
		f.target = newTarget(now.Leader)
		f.target.server, f.target.highest, f.target.err = now.Server, now.Highest, err
		broken := 0
		for h, server := range f.conns {
			if err != nil || !sameRun(server, now.Server) {
				h.breakOff()
				broken++
			}
		}
		t.end(failover.ErrMoved)
		return func() { f.moved(before, now, err, broken) }
	}
	return func() { f.moved(before, now, err, 0) }
}

// sameRun reports whether two answers came from one run of one server, under
// whatever address.
func sameRun(a, b lsn.Server) bool { return a.System == b.System && a.Started == b.Started }

// moved tells of an election, and has the monitor ask the new primary at once.
func (f *follower) moved(before, now failover.Outcome, err error, broken int) {
	for _, rt := range f.of.plugin.routers() {
		if rt.follow == f && rt.monitor != nil {
			rt.monitor.AskPrimary()
		}
	}
	f.tell(before, now, err, broken)
}

func (f *follower) aim() *target {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.target
}

// close ends what openFollower began. What borrows from the application's pool goes
// on once it was in use: statements still have their settings there.
func (f *follower) close() error {
	if f.watch != nil {
		f.watch.Close()
	}
	f.mu.Lock()
	f.target.end(errClosedPool)
	for h := range f.conns {
		h.breakOff()
	}
	f.mu.Unlock()
	var errs []error
	for _, db := range []*sql.DB{f.control, f.pool} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if f.borrows != nil && !f.of.inUse {
		errs = append(errs, f.borrows.Close())
	}
	for _, d := range f.own {
		errs = append(errs, d.close())
	}
	return errors.Join(errs...)
}

var errClosedPool = errors.New("readsplit: the plugin is closed")

// placed is a replica by its place in a router: routers over one primary share what
// follows it, and the same place is another server in each.
type placed struct {
	router *router
	place  int
}

// promoted notes that a replica is no standby any more. Where it is one of the hosts
// that are followed the election tells of it, but may not have asked it yet.
func (f *follower) promoted(replica placed, standby bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if standby {
		delete(f.promote, replica)
	} else if _, known := f.promote[replica]; !known {
		f.promote[replica] = time.Now()
	}
}

// strays returns the replicas that have been primaries for a while and are none of
// the hosts that are followed. Each is returned once.
func (rt *router) strays() (found []int) {
	f := rt.follow
	f.mu.Lock()
	promoted := maps.Clone(f.promote)
	f.mu.Unlock()
	for at, since := range promoted {
		if at.router != rt || since.IsZero() || time.Since(since) < strayAfter {
			continue
		}
		// Not under f.mu, which an election takes after the watch's own lock.
		if server, writable := rt.monitor.Writable(at.place); writable && !f.watch.Knows(server) {
			found = append(found, at.place)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	found = slices.DeleteFunc(found, func(i int) bool {
		at := placed{rt, i}
		changed := f.promote[at] != promoted[at]
		if !changed {
			f.promote[at] = time.Time{}
		}
		return changed
	})
	slices.Sort(found)
	return found
}

// strayAfter is how long a replica may be a primary before that is warned about:
// the election is over by then.
const strayAfter = 2 * time.Second
