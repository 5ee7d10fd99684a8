package dbresolver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// DBResolver is the plugin: a readsplit.Plugin that is configured as dbresolver
// is. Make it with [Register] and install it with db.Use.
type DBResolver struct {
	mu      sync.Mutex
	list    []registered
	change  []func(*readsplit.Config)
	sizes   []func(gorm.ConnPool) error
	plugin  *readsplit.Plugin
	db      *gorm.DB
	polls   []*policyBalancer
	tracing bool
}

// registered is one call of Register.
type registered struct {
	config Config
	tables []any
}

// Register configures the primary and the replicas of tables, each given by name
// or as a model; without any, of everything that no other call takes. A name need
// not be a table's: Clauses(Use(name)) finds it too.
func Register(config Config, tables ...any) *DBResolver {
	return new(DBResolver).Register(config, tables...)
}

// Register adds another resolver. After db.Use it takes effect at once; what is
// wrong with it then is an error in GORM's log, and nothing is added.
func (r *DBResolver) Register(config Config, tables ...any) *DBResolver {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, registered{config, tables})
	if r.db == nil {
		return r
	}
	resolver, err := r.resolver(r.db, len(r.list)-1)
	if err == nil {
		err = r.plugin.AddResolver(resolver)
	}
	if err != nil {
		r.list = r.list[:len(r.list)-1]
		r.db.Logger.Error(context.Background(), "dbresolver: Register after db.Use: %v", err)
		return r
	}
	r.trace(config)
	_ = r.settle()
	return r
}

// With changes what readsplit does beyond dbresolver: the lag that is allowed, the
// keys of tokens, the zone. Replicas, Primary and Resolvers are set already, and
// can be changed. It has no effect after db.Use.
func (r *DBResolver) With(change func(*readsplit.Config)) *DBResolver {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.change = append(r.change, change)
	return r
}

// Plugin returns the plugin under it, for Close and Status; nil before db.Use.
func (r *DBResolver) Plugin() *readsplit.Plugin {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.plugin
}

// Name implements gorm.Plugin.
func (r *DBResolver) Name() string { return "readsplit:dbresolver" }

// Initialize implements gorm.Plugin; db.Use calls it. It reports every problem of
// what was registered.
func (r *DBResolver) Initialize(db *gorm.DB) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.db != nil {
		return errors.New("readsplit: this DBResolver is in use already: make one with Register for each gorm.DB" +
			" (gorm.io/plugin/dbresolver initialises every plugin again for each server that it opens: use one of the two)")
	}
	var c readsplit.Config
	var errs []error
	global := false
	for i, reg := range r.list {
		if len(reg.tables) > 0 {
			resolver, err := r.resolver(db, i)
			errs = append(errs, err)
			c.Resolvers = append(c.Resolvers, resolver)
			continue
		}
		if global {
			errs = append(errs, fmt.Errorf("readsplit: Register call %d names no table, as one before does: only one can be for all tables; name the tables, or merge the two", i+1))
			continue
		}
		global = true
		var err error
		c.Primary, err = primaryOf(reg.config.Sources)
		if err != nil {
			errs = append(errs, fmt.Errorf("readsplit: Register call %d: %w", i+1, err))
		}
		c.Replicas = replicasOf("", reg.config.Replicas)
		c.Balancer = r.balancerOf(reg.config.Policy)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, change := range r.change {
		change(&c)
	}
	plugin := readsplit.New(c)
	if err := plugin.Initialize(db); err != nil {
		return err
	}
	r.plugin, r.db = plugin, db
	for _, reg := range r.list {
		r.trace(reg.config)
	}
	return r.settle()
}

// resolver returns what the i-th call of Register has registered.
func (r *DBResolver) resolver(db *gorm.DB, i int) (readsplit.Resolver, error) {
	reg := r.list[i]
	name := nameOf(db, reg.tables)
	if name == "" {
		name = fmt.Sprintf("resolver%d", i+1)
	}
	primary, err := primaryOf(reg.config.Sources)
	if err != nil {
		err = fmt.Errorf("readsplit: Register call %d: %w", i+1, err)
	}
	return readsplit.Resolver{
		Name: name, Tables: reg.tables, Primary: primary,
		Replicas: replicasOf(name+"/", reg.config.Replicas), Balancer: r.balancerOf(reg.config.Policy),
	}, err
}

// nameOf names a resolver: by the first name that it was registered with, or else
// by its first table.
func nameOf(db *gorm.DB, tables []any) string {
	for _, table := range tables {
		if name, ok := table.(string); ok {
			return name
		}
	}
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(tables[0]); err != nil {
		return "" // Initialize of the plugin reports it
	}
	return stmt.Table
}

// replicasOf names the replicas, which dbresolver does not.
func replicasOf(prefix string, dialectors []gorm.Dialector) []readsplit.Replica {
	var replicas []readsplit.Replica
	for i, d := range dialectors {
		replicas = append(replicas, readsplit.Replica{Name: fmt.Sprintf("%sreplica%d", prefix, i+1), Dialector: d})
	}
	return replicas
}

// settle tells the policies which pools there are, and the pools their sizes. The
// caller holds mu.
func (r *DBResolver) settle() error {
	pools := make(map[string]gorm.ConnPool)
	var errs []error
	r.plugin.Pools(func(resolver, server string, pool *sql.DB) {
		pools[server] = pool
		for _, size := range r.sizes {
			errs = append(errs, size(pool))
		}
	})
	for _, b := range r.polls {
		b.pools.Store(&pools)
	}
	return errors.Join(errs...)
}

// Call calls f with the pool of every primary and replica: at once after db.Use,
// and then.
func (r *DBResolver) Call(f func(gorm.ConnPool) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.db == nil {
		r.sizes = append(r.sizes, f)
		return nil
	}
	var pools []gorm.ConnPool
	r.plugin.Pools(func(_, _ string, pool *sql.DB) {
		if !slices.Contains(pools, gorm.ConnPool(pool)) {
			pools = append(pools, pool)
		}
	})
	for _, pool := range pools {
		if err := f(pool); err != nil {
			return err
		}
	}
	return nil
}

func (r *DBResolver) size(f func(*sql.DB)) *DBResolver {
	_ = r.Call(func(pool gorm.ConnPool) error {
		if db, ok := pool.(*sql.DB); ok {
			f(db)
		}
		return nil
	})
	return r
}

// SetMaxOpenConns limits the open connections of every pool, as [sql.DB] does.
func (r *DBResolver) SetMaxOpenConns(n int) *DBResolver {
	return r.size(func(db *sql.DB) { db.SetMaxOpenConns(n) })
}

// SetMaxIdleConns limits the idle connections of every pool, as [sql.DB] does.
func (r *DBResolver) SetMaxIdleConns(n int) *DBResolver {
	return r.size(func(db *sql.DB) { db.SetMaxIdleConns(n) })
}

// SetConnMaxLifetime bounds how long a connection is used, as [sql.DB] does.
func (r *DBResolver) SetConnMaxLifetime(d time.Duration) *DBResolver {
	return r.size(func(db *sql.DB) { db.SetConnMaxLifetime(d) })
}

// SetConnMaxIdleTime bounds how long a connection is idle, as [sql.DB] does.
func (r *DBResolver) SetConnMaxIdleTime(d time.Duration) *DBResolver {
	return r.size(func(db *sql.DB) { db.SetConnMaxIdleTime(d) })
}
