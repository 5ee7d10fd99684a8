package readsplit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/readonlyguard"
	"github.com/readsplit/readsplit/session"
)

// primaryName is how a primary is called in decisions, logs and metrics.
const primaryName = "primary"

// pluginName is under what GORM knows the plugin.
const pluginName = "readsplit"

// Plugin routes the statements of one gorm.DB. Make it with [New] and install it
// with db.Use. After Initialize one goroutine per server runs until Close. Its methods
// may be called from several goroutines, and while statements run.
type Plugin struct {
	// What each statement looks at comes first.

	main *router // of everything that no resolver takes
	// tables are the resolvers. Register of package dbresolver may add some while
	// statements run.
	tables     atomic.Pointer[tables]
	traffic    atomic.Pointer[policy.Traffic] // nil: the rules decide
	grouping   *grouping                      // Config.Groups; nil: there are none
	keepsPools atomic.Bool                    // see keepPool
	told       observe.Observers

	given Config // as New got it
	cfg   Config // with defaults, from Initialize on
	guard readonlyguard.Options
	keys  *session.Keys
	// panicked lets the first panic of an observer be logged.
	panicked sync.Once
	log      func(monitor.Change)
	warn     func(format string, args ...any)

	db     *gorm.DB      // that the plugin was installed on
	base   gorm.ConnPool // the pool of that, which the application opened
	adding sync.Mutex
	// discovery finds replicas; nil: nobody does.
	discovery *discovery
	// connections are what may be opened on each server.
	connections connections

	initialized atomic.Bool
	closed      atomic.Bool
	closing     sync.Once
	closeErr    error
}

// New returns a plugin for cfg. It never fails and does no I/O: db.Use reports
// every problem of cfg at once.
func New(cfg Config) *Plugin {
	p := &Plugin{given: cfg}
	p.discovery = newDiscovery(p)
	return p
}

// Name implements gorm.Plugin.
func (p *Plugin) Name() string { return pluginName }

// Initialize implements gorm.Plugin; db.Use calls it. It validates the
// configuration, asks every server once (each for at most Config.SampleTimeout)
// and Config.Discover's source (for at most its Timeout), and starts watching. A replica that does not answer is not an error: it joins
// when it comes up.
func (p *Plugin) Initialize(db *gorm.DB) error {
	if err := p.initialize(db); err != nil {
		return err
	}
	p.discovery.start() // which adds replicas as others do
	return nil
}

func (p *Plugin) initialize(db *gorm.DB) error {
	p.adding.Lock() // AddResolver waits until there is something to add to
	defer p.adding.Unlock()
	if p.closed.Load() {
		return ErrClosed
	}
	if !p.initialized.CompareAndSwap(false, true) {
		return errors.New("readsplit: this plugin is in use already: make one with New for each gorm.DB" +
			" (dbresolver initialises every plugin again for each server that it opens: use one of the two)")
	}
	if err := p.install(db); err != nil {
		_ = p.release()
		// Nothing has seen it yet: it may be tried again.
		p.cfg, p.guard, p.keys, p.log, p.warn, p.db, p.base, p.main = Config{}, readonlyguard.Options{}, nil, nil, nil, nil, nil, nil
		p.tables.Store(nil)
		p.initialized.Store(false)
		return err
	}
	return nil
}

func (p *Plugin) install(db *gorm.DB) error {
	p.cfg = p.given.withDefaults()
	p.db = db
	p.traffic.CompareAndSwap(nil, &p.cfg.Traffic) // SetTraffic may have come first
	errs := []error{p.cfg.validate(), fits(db, p.cfg), oneService(p.cfg)}
	p.base, _ = unwrap(db.ConnPool)
	p.guard = readonlyguard.Options{ReturnErrors: p.cfg.GuardErrors, AllowFunctions: p.cfg.ReadFunctions}
	p.log, p.warn = logTo(db), func(format string, args ...any) { db.Logger.Warn(context.Background(), format, args...) }
	dialector, pool := db.Dialector, p.base
	if !isNil(p.cfg.Primary) {
		dialector, pool = p.cfg.Primary, nil
	}
	var err error
	p.main, err = p.newRouter("", "Config", p.cfg, dialector, pool, p.cfg.PrimaryPool)
	errs = append(errs, err)
	all := &tables{}
	p.tables.Store(all)
	for i, r := range p.cfg.Resolvers {
		errs = append(errs, p.addTo(all, fmt.Sprintf("Config.Resolvers[%d]", i), r))
	}
	keys, _ := session.NewKeys(p.cfg.TokenKeys...) // checked by validate
	p.told, _ = observe.Of(p.cfg.Observers...)
	p.keys = &keys
	p.grouping, err = p.newGrouping(p.cfg.Groups)
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	guarded := p.main.watched
	if guarded && readonlyguard.Registered(db) {
		return readonlyguard.Register(db, p.guard) // says why not
	}
	for _, rt := range p.routers() {
		rt.prepare()
	}
	p.guard.Judge = p.main.judged
	// What register needs is looked at before it changes anything.
	if err := p.register(db); err != nil {
		return err
	}
	if guarded {
		if err := readonlyguard.Register(db, p.guard); err != nil {
			return err
		}
	}
	for _, rt := range p.routers() {
		rt.start()
	}
	p.checkConnections()
	p.checkZone()
	p.replacePools(db)
	return nil
}

// fits reports what about db keeps the plugin from working.
func fits(db *gorm.DB, c Config) error {
	var errs []error
	if _, ok := db.Plugins["gorm:db_resolver"]; ok {
		errs = append(errs, errors.New("readsplit: dbresolver is in use on this gorm.DB: both would route every statement; remove its db.Use and give its replicas to readsplit.Config.Replicas, or import github.com/readsplit/readsplit/dbresolver in its place (docs/migrate-from-dbresolver.md)"))
	}
	if name := db.Dialector.Name(); name != "postgres" && name != "sqlserver" && (len(c.Replicas) > 0 || len(c.Resolvers) > 0 || c.Discover.Source != nil) {
		errs = append(errs, fmt.Errorf("readsplit: Config.Replicas, Config.Resolvers or Config.Discover is set for a database of dialect %q: replicas work with postgres and sqlserver; leave them empty elsewhere", name))
	}
	errs = append(errs, fitsSQLServer(db, c))
	if shardingLosesTransactions(db) {
		errs = append(errs, errSharding)
	}
	if pool, _ := unwrap(db.ConnPool); pool != nil {
		if _, ok := pool.(*rootPool); ok {
			errs = append(errs, errors.New("readsplit: readsplit is in use on this gorm.DB already: remove one of the two db.Use"))
		}
	}
	if _, ok := db.Statement.ConnPool.(gorm.TxCommitter); ok {
		errs = append(errs, errors.New("readsplit: db.Use was called on a transaction: call it on what gorm.Open returned"))
	}
	return errors.Join(errs...)
}

// routers returns every router, the main one first.
func (p *Plugin) routers() []*router {
	var all []*router
	if p.main != nil {
		all = append(all, p.main)
	}
	if t := p.tables.Load(); t != nil {
		all = append(all, t.routers...)
	}
	return all
}

// replacePools puts the root pool where GORM takes pools from. Under prepared
// statements the store stays where it is and what it prepares on is swapped:
// GORM and its plugins look for a *gorm.PreparedStmtDB at the top.
func (p *Plugin) replacePools(db *gorm.DB) {
	root := &rootPool{router: p.main}
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

// Close stops watching and closes every pool that the plugin opened; the pool of
// gorm.Open is the application's. Statements that run on a replica are broken
// off and end on the primary, and everything that comes later goes to the
// primary; what a resolver keeps on a primary of its own cannot be reached any
// more. Close waits for the plugin's goroutines until ctx is done; calling it
// again waits again. It may be called before the plugin was installed.
func (p *Plugin) Close(ctx context.Context) error {
	p.closed.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.discovery.stop() // which may be adding
		p.closing.Do(func() {
			p.adding.Lock() // whatever is being added is closed too
			defer p.adding.Unlock()
			for _, rt := range p.routers() {
				rt.closed.Store(true)
			}
			if p.main != nil && p.main.owns() {
				p.main.forgetPrepared() // on a pool that is about to be closed
			}
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

// release ends what install started. The caller holds adding.
func (p *Plugin) release() error {
	var errs []error
	for _, rt := range slices.Backward(p.routers()) {
		errs = append(errs, rt.release())
	}
	return errors.Join(errs...)
}
