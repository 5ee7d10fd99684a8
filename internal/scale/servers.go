package main

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// opened is a gorm.DB over a cluster, and what ends it.
type opened struct {
	*gorm.DB
	plugin *readsplit.Plugin // nil: plain GORM
	close  func() error
}

// open opens the primary with a pool, and the plugin over the first replicas; replicas
// is -1 for plain GORM.
func open(c *testenv.Cluster, pool, replicas int, change func(*readsplit.Config)) (*opened, error) {
	db, err := gorm.Open(postgres.Open(c.Primary().DSN()), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	p, err := db.DB()
	if err != nil {
		return nil, err
	}
	p.SetMaxOpenConns(pool)
	p.SetMaxIdleConns(pool)
	o := &opened{DB: db, close: p.Close}
	if replicas < 0 {
		return o, nil
	}
	cfg := readsplit.Config{Pool: readsplit.Pool{MaxOpen: pool}}
	for _, r := range c.Replicas()[:replicas] {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: r.Name(), Dialector: postgres.Open(r.DSN())})
	}
	change(&cfg)
	o.plugin = readsplit.New(cfg)
	o.close = func() error { return errors.Join(o.plugin.Close(context.Background()), p.Close()) }
	if err := db.Use(o.plugin); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return o, nil
}

// with runs f on a cluster of its own.
func with(o options, replicas int, f func(c *testenv.Cluster) error) error {
	ctx := context.Background()
	c, err := testenv.New(ctx, testenv.Config{Version: o.version, Replicas: replicas})
	if err != nil {
		return err
	}
	if err = c.WaitCaughtUp(ctx); err == nil {
		err = f(c)
	}
	if err := errors.Join(err, c.Close(ctx)); err != nil {
		return fmt.Errorf("with %d replicas: %w", replicas, err)
	}
	return nil
}
