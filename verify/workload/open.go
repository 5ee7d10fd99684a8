package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

// poolSize is how many connections a process has to each server.
const poolSize = 20

// opened is an application's way to its servers.
type opened struct {
	db       *gorm.DB
	sessions bool // it knows sessions and marks
	plugin   *readsplit.Plugin
	close    func(ctx context.Context) error
}

func (c *Config) open() (*opened, error) {
	db, err := gorm.Open(postgres.Open(c.Primary), &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	if err != nil {
		return nil, fmt.Errorf("verify: open the primary: %s", told(err))
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(poolSize)
	pool.SetMaxIdleConns(poolSize)
	o := &opened{db: db, close: func(context.Context) error { return pool.Close() }}
	switch c.Plugin {
	case "readsplit":
		plugin := readsplit.New(c.readsplit())
		o.sessions, o.plugin = true, plugin
		o.close = func(ctx context.Context) error { return errors.Join(plugin.Close(ctx), pool.Close()) }
		err = db.Use(plugin)
	case "dbresolver":
		var replicas []gorm.Dialector
		for _, r := range c.Replicas {
			replicas = append(replicas, postgres.Open(r.DSN))
		}
		err = db.Use(dbresolver.Register(dbresolver.Config{Replicas: replicas}).SetMaxOpenConns(poolSize).SetMaxIdleConns(poolSize))
	default:
		err = fmt.Errorf("verify: plugin %q is not known: use readsplit or dbresolver", c.Plugin)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("verify: use %s: %w", c.Plugin, err), pool.Close())
	}
	return o, nil
}

// Window is the shortest sticky window that a bound allows.
func Window(maxLag time.Duration) time.Duration { return maxLag + time.Second }

func (c *Config) readsplit() readsplit.Config {
	cfg := readsplit.Config{
		MaxLag: c.MaxLag,
		// Waiting a little longer than by default keeps own reads on replicas although
		// clients, servers and faults share few processors.
		MaxWait: 20 * time.Millisecond,
		// As short as it may be, so that what comes after it is seen too.
		StickyWindow: Window(c.MaxLag),
		Pool:         readsplit.Pool{MaxOpen: poolSize},
	}
	if c.Process%2 == 0 {
		cfg.Pool.MaxIdle = 1 // connections come and go
		// Reads that hang somewhere do not keep others away from there.
		cfg.Balancer = policy.RoundRobin()
	}
	if c.Monotonic() {
		cfg.Guarantee = session.Causal
	}
	cfg.FollowPrimary = c.FollowReplicas
	if c.Budget > 0 {
		// A read that never gets its place, or one that waits for itself, fails.
		cfg.PrimaryBudget = overload.Budget{Reads: c.Budget, MaxWait: patience * 3 / 4}
	}
	cfg.TokenKeys = c.keys()
	for _, r := range c.Replicas {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: r.Name, Dialector: postgres.Open(r.DSN)})
	}
	return cfg
}
