package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/catalog"
	"github.com/readsplit/readsplit/internal/conflicts"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/sqlclass"
)

// router routes statements between one primary and its replicas. A plugin has
// one for everything, and one more for each of its resolvers; what a session
// wrote through one of them is seen by all that stand over the same database
// cluster.
//
// Each read looks at what comes first, and leaves its counts at the end: what is far apart
// in memory, or is changed by other processors, takes longer than the rules do.
type router struct {
	plugin      *Plugin
	of          *router    // of a rehearsal: the router that it stands for
	rehearsal   *rehearsal // nil: what is decided is done
	monitor     *monitor.Monitor
	asks        asker // the monitor
	decider     *policy.Decider
	texts       *texts // nil: nothing is remembered
	conflicts   *conflicts.Memory
	catalog     *catalog.Catalog // nil: positions cannot be asked of the primary
	judging     atomic.Bool      // catalog is in use: there is something to decide
	closed      atomic.Bool
	compared    atomic.Bool // see comparesLatencies
	watched     bool        // positions can be asked of the primary
	dialect     sqlclass.Dialect
	heldPrimary *heldServer
	budget      *budget // nil: nothing is bounded
	maxWait     time.Duration
	seed        uint64 // of what decisions leave to chance
	members     members
	process     register // what any session of this process wrote
	unscoped    register // what was written without a session
	heard       register // what tokens of sessions said
	openRows    openRows
	foreign     foreignTxs
	histories   atomic.Pointer[lsn.History] // see historyNow
	wroteRoute  atomic.Pointer[route]       // see afterWrite

	name  string // of the resolver; empty: everything that no resolver takes
	field string // how the configuration calls it, for errors
	cfg   Config // with defaults; Replicas and Balancer are the router's own

	primary gorm.ConnPool // where writes go
	opened  *dialer       // of the primary, where the plugin opened it
	follow  *follower     // of the primary, where that is one of several hosts
	lent    *sql.DB       // what primary borrows from, where Config.Settings is in use
	// prepared are the prepared statements of a primary that the application's
	// store does not prepare on; nil elsewhere.
	prepared *statements
	dialers  []*dialer // of the replicas, until prepare
	control  *dialer
	database database // nil: nothing can be asked of it
	keys     *session.Keys
	self     []*router
	log      func(monitor.Change)
	clock    atomic.Bool // see postgres.clock
	// startClaim is the first capture that covers everything from before this
	// router was in use.
	startClaim uint64
	// toldSince is when other routers over the same primary had begun to tell this one
	// what they write, in nanoseconds since processStart; 0: they do not yet.
	toldSince atomic.Int64
	rumours   rumours                             // what tokens said that is not proven yet
	wasDown   sync.Map                            // servers that were down once, by name
	plans     plans                               // of the application's prepared statements
	store     atomic.Pointer[gorm.PreparedStmtDB] // where those are, once there was one
	inUse     bool                                // start was called

	_        [64]byte // of others' counts
	ticket   atomic.Uint64
	counters counters
}

// newRouter opens what cfg names, without connecting; prepare comes next.
// dialector opens the primary's connections for positions; pool is the primary's
// pool, nil where the plugin has to open it.
func (p *Plugin) newRouter(name, field string, cfg Config, dialector gorm.Dialector, pool gorm.ConnPool, size Pool) (*router, error) {
	rt := &router{plugin: p, name: name, field: field, cfg: cfg, primary: pool, conflicts: new(conflicts.Memory), texts: newTexts(), seed: rand.Uint64()}
	rt.self = []*router{rt}
	if err := rt.open(dialector, size); err != nil {
		return nil, errors.Join(err, rt.release())
	}
	return rt, nil
}

func (rt *router) open(dialector gorm.Dialector, size Pool) error {
	var errs []error
	rt.dialers = make([]*dialer, len(rt.cfg.Replicas))
	rt.database = rt.newDatabase(dialector)
	for i, r := range rt.cfg.Replicas {
		if isNil(r.Dialector) {
			continue // reported by validate
		}
		if err := rt.unlike(fmt.Sprintf("%s.Replicas[%d]", rt.field, i), r); err != nil {
			errs = append(errs, err)
			continue
		}
		d, err := newDialer(r.Dialector)
		if err != nil {
			errs = append(errs, fmt.Errorf("readsplit: %s.Replicas[%d].Dialector (%q): %w", rt.field, i, r.Name, err))
			continue
		}
		d.engine = rt.engineOf(r)
		rt.dialers[i] = d
	}
	if err := rt.openFollower(dialector, size); err != nil {
		errs = append(errs, err)
	}
	if rt.primary == nil && rt.follow == nil {
		d, err := newDialer(dialector)
		if err != nil {
			errs = append(errs, fmt.Errorf("readsplit: %s.Primary: %w", rt.field, err))
		} else {
			rt.opened, rt.primary = d, d.db
			if d.owned {
				size.sized(0).apply(d.db)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	primary, err := rt.primaryDB()
	if err != nil && len(rt.cfg.Replicas) > 0 {
		return err
	}
	// Positions are asked over connections of the plugin's own, so that an
	// exhausted pool of the application cannot keep them away. Where the
	// dialector cannot open any, they are borrowed.
	if rt.database != nil {
		rt.watched, rt.dialect = true, rt.database.dialect()
	}
	rt.control = &dialer{db: primary}
	if rt.follow != nil {
		rt.control = &dialer{db: rt.follow.control}
	} else if rt.watched {
		if d, err := newDialer(dialector); err == nil {
			rt.control = d
		}
	}
	if rt.database != nil {
		rt.control.engine = rt.database.primary()
	}
	return nil
}

// prepare makes the servers, the monitor and the decider, without connecting.
func (rt *router) prepare() {
	p := rt.plugin
	rt.keys, rt.log = p.keys, p.log
	rt.maxWait = max(rt.cfg.MaxWait, 0)
	most := 0
	if primary, err := rt.primaryDB(); err == nil {
		if rt.owns() && rt.name != "" {
			rt.prepared = newStatements(primary, p.db.Config)
		}
		most = primary.Stats().MaxOpenConnections
		if rt.cfg.Settings != nil && rt.follow == nil {
			rt.lent, rt.primary = primary, newBorrowing(primary, rt)
		}
	}
	rt.members.most = most
	cfg := monitor.Config{
		Primary:     monitor.Target{Name: primaryName},
		SampleEvery: rt.cfg.SampleEvery, SampleTimeout: rt.cfg.SampleTimeout,
		MaxLag: rt.cfg.MaxLag, MaxWait: rt.maxWait, Window: rt.cfg.StickyWindow,
		Nudge: !rt.cfg.ForbidNudge && (rt.database == nil || rt.database.nudges()), OnChange: rt.onChange, BeforeSample: rt.beforeSample,
		OnDead:    func(i int) { rt.replicas()[i].die() },
		OnAlive:   func(i int) { rt.replicas()[i].revive() },
		OnVoid:    func(i int, generation uint64) { rt.replicas()[i].void(generation) },
		Health:    rt.cfg.Health,
		OnCapture: rt.tellCapture, ConflictsEvery: conflictsEvery,
		IdleSampleEvery: rt.cfg.IdleSampleEvery, MaxSampleAge: rt.cfg.MaxSampleAge, UnderWay: rt.underWay,
		NoServerWait: rt.cfg.ForbidServerWait, Bytes: rt.bytes(),
		Seed: rand.Uint64(),
	}
	limits := policy.Limits{
		MaxLag: rt.cfg.MaxLag, MaxSampleAge: rt.cfg.MaxSampleAge, MaxWait: rt.maxWait,
		RefuseWhenLost: rt.cfg.PrimaryLost == Refuse, SlowStart: rt.cfg.Health.Ramp(),
	}
	if rt.cfg.MaxLag == Off {
		limits.MaxLag, cfg.MaxLag = noLimit, noLimit
	}
	if rt == p.main && p.grouping != nil {
		for _, g := range p.grouping.groups {
			rt.knows([]string{g.Name}) // also one that no replica is in yet
		}
	}
	for i, r := range rt.cfg.Replicas {
		rt.join(i, r, rt.dialers[i])
		rt.clocks(r)
		cfg.Replicas = append(cfg.Replicas, monitored(r, rt.watchedSource(i)))
	}
	rt.dialers = nil // the servers close them from here on
	rt.decider = policy.NewDecider(policy.Rules{Limits: limits, Policies: rt.cfg.Policies, Balancer: rt.cfg.Balancer})
	cfg.Primary.Source = &source{dialer: rt.control, shared: rt.control.scarce(), saw: p.watchConnections(rt, nil)}
	rt.control.plain.clock = &rt.clock
	rt.monitor = monitor.New(cfg)
	rt.asks = rt.monitor
	switch {
	case !rt.watched || rt.dialect == sqlclass.SQLServer: // functions change nothing there
	case !rt.owns() && rt != p.main && p.main.catalog != nil:
		rt.catalog = p.main.catalog // of the same database
	default:
		rt.catalog = rt.newCatalog()
	}
	rt.heldPrimary = &heldServer{router: rt, server: -1}
	if rt.budget = newBudget(rt.cfg.PrimaryBudget); rt != p.main && !rt.owns() {
		rt.budget = p.main.budget // of the same primary
	}
	for _, s := range rt.replicas() {
		s.monitor = rt.monitor
	}
}

// start begins to watch.
func (rt *router) start() {
	rt.inUse = true
	if !rt.watched {
		return
	}
	// From here on other routers over the same primary tell what they write,
	// also while the servers are asked for the first time. What was written
	// before are this process's writes too.
	// No capture has begun yet, so that whatever is written until add is covered.
	rt.startClaim = rt.monitor.NextCapture()
	plugins.add(rt)
	rt.toldSince.Store(int64(time.Since(processStart)))
	// How commits through another router were acknowledged is not known here.
	insert := len(plugins.all()) > 1
	for _, r := range []*register{&rt.process, &rt.unscoped} {
		r.update(func(c session.Claim) session.Claim {
			return c.AfterWrite(rt.startClaim, insert, lsn.History{}, time.Time{})
		})
	}
	if rt.follow != nil {
		rt.follow.watch.Start()
	}
	decides := len(rt.replicas()) > 0
	if decides && rt.catalog != nil {
		rt.catalog.Start()
	}
	rt.monitor.Start()
	if plugins.commitsAsync(rt) {
		rt.monitor.MarkAsync()
	}
	if decides {
		rt.judge()
	}
}

// judge takes the catalogue into use.
func (rt *router) judge() {
	if rt.catalog == nil {
		return
	}
	rt.catalog.Start()
	rt.judging.Store(true)
	if rt.lost() {
		return
	}
	// Until it is there, functions of the database's own are unknown, and views
	// are what they seem.
	ctx, cancel := context.WithTimeout(context.Background(), rt.cfg.SampleTimeout)
	defer cancel()
	_ = rt.catalog.Wait(ctx)
}

// schemaChanged forgets, after a change of the schema, what every server's prepared
// statements return and, where it redefines, what the functions and views of the
// database do.
func (rt *router) schemaChanged(redefines bool) {
	for _, q := range rt.plugin.routers() { // some stand over the same primary
		q.forgetPrepared()
		if redefines && q.judging.Load() {
			q.catalog.Refresh()
		}
	}
}

func (rt *router) forgetPrepared() {
	if store := rt.store.Load(); store != nil {
		rt.plans.n.Add(1)
		store.Close()
	}
	if rt.prepared != nil {
		rt.prepared.reset()
	}
	for _, s := range rt.replicas() {
		s.forgetPrepared()
	}
}

// release ends what newRouter and start began. What borrows from a pool that is
// not closed goes on: statements still have their settings on the primary.
func (rt *router) release() error {
	plugins.remove(rt)
	rt.plugin.connections.forget(rt, nil)
	if rt.catalog != nil {
		rt.catalog.Close()
	}
	if rt.monitor != nil {
		rt.monitor.Close()
	}
	var errs []error
	if rt.follow != nil && rt.follow.of == rt {
		// Before the replicas, whose connections it asks on.
		errs = append(errs, rt.follow.close())
	}
	for _, d := range append(rt.dialers, rt.control, rt.opened) {
		if d != nil {
			errs = append(errs, d.close())
		}
	}
	for _, s := range rt.replicas() {
		errs = append(errs, s.close())
	}
	if rt.prepared != nil {
		rt.prepared.close()
	}
	if borrowing, ok := rt.primary.(*sql.DB); ok && rt.lent != nil && (rt.opened != nil || !rt.inUse) {
		errs = append(errs, borrowing.Close())
	}
	return errors.Join(errs...)
}
