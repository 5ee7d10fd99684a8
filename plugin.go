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

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/readonlyguard"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/sqlclass"
)

// primaryName is how the primary is called in decisions, logs and metrics.
const primaryName = "primary"

// pluginName is under what GORM knows the plugin.
const pluginName = "readsplit"

// Plugin routes the statements of one gorm.DB. Make it with [New] and install it
// with db.Use. After Initialize one goroutine per server runs until Close.
type Plugin struct {
	given  Config // as New got it
	cfg    Config // with defaults, from Initialize on
	guard  readonlyguard.Options
	groups map[string]bool

	primary gorm.ConnPool // what the plugin was installed over
	servers []*server
	load    policy.Load
	monitor *monitor.Monitor
	control *dialer
	decider *policy.Decider
	dialect sqlclass.Dialect
	maxWait time.Duration
	keys    *session.Keys
	self    []*Plugin
	watched bool // positions can be asked of the primary
	// startClaim is the first capture that covers everything from before this
	// plugin was in use.
	startClaim uint64
	log        func(monitor.Change)
	ticket     atomic.Uint64
	counters   counters

	process  register // what any session of this process wrote
	unscoped register // what was written without a session
	openRows openRows
	foreign  foreignTxs
	plans    plans                               // of the application's prepared statements
	store    atomic.Pointer[gorm.PreparedStmtDB] // where those are, once there was one

	initialized atomic.Bool
	closed      atomic.Bool
	closing     sync.Once
	closeErr    error
}

// New returns a plugin for cfg. It never fails and does no I/O: db.Use reports
// every problem of cfg at once.
func New(cfg Config) *Plugin {
	p := &Plugin{given: cfg}
	p.self = []*Plugin{p}
	return p
}

// Name implements gorm.Plugin.
func (p *Plugin) Name() string { return pluginName }

// Initialize implements gorm.Plugin; db.Use calls it. It validates the
// configuration, asks every server once (each for at most Config.SampleTimeout)
// and starts watching. A replica that does not answer is not an error: it joins
// when it comes up.
func (p *Plugin) Initialize(db *gorm.DB) error {
	if p.closed.Load() {
		return ErrClosed
	}
	if !p.initialized.CompareAndSwap(false, true) {
		return errors.New("readsplit: this plugin is in use already: make one with New for each gorm.DB" +
			" (dbresolver initialises every plugin again for each server that it opens: use one of the two)")
	}
	if err := p.install(db); err != nil {
		plugins.remove(p)
		_ = p.release()
		*p = Plugin{given: p.given} // nothing has seen it yet: it may be tried again
		p.self = []*Plugin{p}
		return err
	}
	return nil
}

func (p *Plugin) install(db *gorm.DB) error {
	p.cfg = p.given.withDefaults()
	errs := []error{p.cfg.validate(), fits(db, len(p.cfg.Replicas))}
	dialers := make([]*dialer, len(p.cfg.Replicas))
	defer func() {
		for _, d := range dialers {
			if d != nil {
				_ = d.close() // those that no server took over
			}
		}
	}()
	for i, r := range p.cfg.Replicas {
		if isNil(r.Dialector) {
			continue // reported by validate
		}
		d, err := newDialer(r.Dialector)
		if err != nil {
			errs = append(errs, fmt.Errorf("readsplit: Config.Replicas[%d].Dialector (%q): %w", i, r.Name, err))
			continue
		}
		dialers[i] = d
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}

	p.primary, _ = unwrap(db.ConnPool)
	primary, err := p.primaryDB()
	if err != nil && len(p.cfg.Replicas) > 0 {
		return err
	}
	keys, err := session.NewKeys(p.cfg.TokenKeys...)
	if err != nil {
		return err
	}
	p.keys = &keys
	p.maxWait = max(p.cfg.MaxWait, 0)
	p.guard = readonlyguard.Options{ReturnErrors: p.cfg.GuardErrors}
	p.log = logTo(db)
	// Positions are asked over connections of the plugin's own, so that an
	// exhausted pool of the application cannot keep them away. Where the
	// dialector cannot open any, they are borrowed.
	watched := db.Dialector.Name() == "postgres"
	p.control = &dialer{db: primary}
	if d, err := newDialer(db.Dialector); watched && err == nil {
		p.control = d
	}
	p.prepare(db, primary, dialers)
	clear(dialers) // the servers close them from here on

	if watched {
		if err := readonlyguard.Register(db, p.guard); err != nil {
			return err
		}
	}
	if err := p.register(db); err != nil {
		return err
	}
	p.watched = watched
	if watched {
		// From here on other plugins over the same primary tell what they write,
		// also while the servers are asked for the first time. What was written
		// before are this process's writes too.
		plugins.add(p)
		p.startClaim = p.monitor.NextCapture()
		// How commits through another plugin were acknowledged is not known here.
		insert := len(plugins.all()) > 1
		for _, r := range []*register{&p.process, &p.unscoped} {
			r.update(func(c session.Claim) session.Claim {
				return c.AfterWrite(p.startClaim, insert, lsn.History{}, time.Time{})
			})
		}
		p.monitor.Start()
	}
	p.replacePools(db)
	return nil
}

// fits reports what about db keeps the plugin from working.
func fits(db *gorm.DB, replicas int) error {
	var errs []error
	for name := range db.Plugins {
		if name == "gorm:db_resolver" {
			errs = append(errs, errors.New("readsplit: dbresolver is in use on this gorm.DB: both would route every statement; remove its db.Use and give its replicas to readsplit.Config.Replicas"))
		}
	}
	if name := db.Dialector.Name(); replicas > 0 && name != "postgres" {
		errs = append(errs, fmt.Errorf("readsplit: Config.Replicas is set for a database of dialect %q: replicas work with postgres; leave Replicas empty elsewhere", name))
	}
	if _, ok := db.Statement.ConnPool.(gorm.TxCommitter); ok {
		errs = append(errs, errors.New("readsplit: db.Use was called on a transaction: call it on what gorm.Open returned"))
	}
	return errors.Join(errs...)
}

// prepare makes the servers, the monitor and the decider, without connecting.
func (p *Plugin) prepare(db *gorm.DB, primary *sql.DB, dialers []*dialer) {
	most := 0
	if primary != nil {
		most = primary.Stats().MaxOpenConnections
	}
	cfg := monitor.Config{
		Primary:     monitor.Target{Name: primaryName},
		SampleEvery: p.cfg.SampleEvery, SampleTimeout: p.cfg.SampleTimeout,
		MaxLag: p.cfg.MaxLag, MaxWait: p.maxWait,
		Nudge: !p.cfg.ForbidNudge, OnChange: p.onChange, BeforeSample: p.sweepClosed,
		OnDead:  func(i int) { p.servers[i].die() },
		OnAlive: func(i int) { p.servers[i].revive() },
		Seed:    rand.Uint64(),
	}
	limits := policy.Limits{
		MaxLag: p.cfg.MaxLag, MaxSampleAge: p.cfg.MaxSampleAge, MaxWait: p.maxWait,
		RefuseWhenLost: p.cfg.PrimaryLost == Refuse,
	}
	if p.cfg.MaxLag == Off {
		limits.MaxLag, cfg.MaxLag = noLimit, noLimit
	}
	p.groups = make(map[string]bool)
	for i, r := range p.cfg.Replicas {
		s := newServer(i, r, dialers[i], r.Pool.or(p.cfg.Pool).sized(most), db.Config)
		p.servers = append(p.servers, s)
		cfg.Replicas = append(cfg.Replicas, monitor.Target{
			Name: r.Name, Zone: r.Zone, Weight: r.Weight, Groups: r.Groups,
			AllowPrimary: r.AllowPrimaryAsReplica, Source: &source{dialer: dialers[i], shared: dialers[i].scarce()},
		})
		for _, g := range r.Groups {
			p.groups[g] = true
		}
	}
	p.load = load(p.servers)
	p.decider = policy.NewDecider(policy.Rules{Limits: limits, Policies: p.cfg.Policies, Balancer: p.cfg.Balancer})
	cfg.Primary.Source = &source{dialer: p.control, shared: p.control.scarce()}
	p.monitor = monitor.New(cfg)
	for _, s := range p.servers {
		s.monitor = p.monitor
	}
}

// replacePools puts the root pool where GORM takes pools from. Under prepared
// statements the store stays where it is and what it prepares on is swapped:
// GORM and its plugins look for a *gorm.PreparedStmtDB at the top.
func (p *Plugin) replacePools(db *gorm.DB) {
	root := &rootPool{p: p}
	swap := func(pool gorm.ConnPool) gorm.ConnPool {
		s, ok := pool.(*gorm.PreparedStmtDB)
		if !ok {
			return root
		}
		for {
			inner, ok := s.ConnPool.(*gorm.PreparedStmtDB)
			if !ok {
				break
			}
			s = inner
		}
		s.ConnPool = root
		return pool
	}
	db.ConnPool = swap(db.ConnPool)
	db.Statement.ConnPool = swap(db.Statement.ConnPool)
	db.Dialector = wrapDialector(db.Dialector, p)
}

// resetPrepared forgets every server's prepared statements after a change of the
// schema: their result types may have changed.
func (p *Plugin) resetPrepared() {
	if store := p.store.Load(); store != nil {
		p.plans.n.Add(1)
		store.Close()
	}
	for _, s := range p.servers {
		s.prepared.reset()
	}
}

// Close stops watching and closes every pool that the plugin opened; the
// primary's pool is the application's. Statements that run on a replica are
// broken off and end on the primary, and everything that comes later goes to the
// primary. Close waits for the plugin's goroutines until ctx is done; calling it
// again waits again. It may be called before the plugin was installed.
func (p *Plugin) Close(ctx context.Context) error {
	p.closed.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.closing.Do(func() {
			plugins.remove(p)
			p.closeErr = p.release()
		})
	}()
	select {
	case <-done:
		return p.closeErr
	case <-ctx.Done():
		return fmt.Errorf("readsplit: Close: %w", ctx.Err())
	}
}

// release ends what install started.
func (p *Plugin) release() error {
	if p.monitor == nil {
		return nil
	}
	p.monitor.Close()
	errs := []error{p.control.close()}
	for _, s := range p.servers {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}
