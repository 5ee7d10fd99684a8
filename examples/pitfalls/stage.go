package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// stage is a primary with two replicas, and a database of its own for one pitfall.
type stage struct {
	cluster  *testenv.Cluster
	database string
	closers  []func(context.Context) error
}

// newCluster starts the servers that all pitfalls share.
func newCluster(ctx context.Context, version string) (*testenv.Cluster, error) {
	return testenv.New(ctx, testenv.Config{Version: version, Settings: map[string]string{
		// What it commits by itself would look like traffic where a quiet primary is the point.
		"autovacuum": "off",
	}})
}

// shown counts what was shown, so that no database is there already.
var shown atomic.Int64

// run shows a pitfall in a database of its own, and leaves the servers as they were.
func (p pitfall) run(ctx context.Context, cluster *testenv.Cluster) (seen []finding, err error) {
	s := &stage{cluster: cluster, database: fmt.Sprintf("%s_%d", p.name, shown.Add(1))}
	if err := cluster.CreateDatabase(ctx, s.database); err != nil {
		return nil, err
	}
	seen, err = p.show(ctx, s)
	if err = errors.Join(err, s.end(ctx)); err != nil {
		return nil, fmt.Errorf("pitfalls: %s: %w", p.name, err)
	}
	return seen, nil
}

// end closes what was opened, the newest first, and undoes the faults.
func (s *stage) end(ctx context.Context) error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i](ctx))
	}
	s.closers = nil
	return errors.Join(append(errs, s.cluster.UndoAll())...)
}

// open opens one server of the database as any application does.
func (s *stage) open(server *testenv.Server) (*gorm.DB, error) {
	return s.openDSN(server.DSNFor(s.database))
}

func (s *stage) openDSN(dsn string) (*gorm.DB, error) {
	db, err := gorm.Open(postgres.Open(dsn), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func(context.Context) error { return pool.Close() })
	return db, nil
}

// prepare makes the tables, straight on the primary, and waits until the replicas have them.
func (s *stage) prepare(ctx context.Context, ddl string) error {
	db, err := s.open(s.cluster.Primary())
	if err != nil {
		return err
	}
	if err := db.WithContext(ctx).Exec(ddl).Error; err != nil {
		return err
	}
	return s.cluster.WaitCaughtUp(ctx)
}

// dbresolver opens the primary with every read on one of these replicas.
func (s *stage) dbresolver(replicas ...*testenv.Server) (*gorm.DB, error) {
	db, err := s.open(s.cluster.Primary())
	if err != nil {
		return nil, err
	}
	var cfg dbresolver.Config
	for _, r := range replicas {
		cfg.Replicas = append(cfg.Replicas, postgres.Open(r.DSNFor(s.database)))
	}
	resolver := dbresolver.Register(cfg)
	if err := db.Use(resolver); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func(context.Context) error { return closeResolver(resolver) })
	return db, nil
}

// closeResolver closes the pools of dbresolver, which has no Close.
func closeResolver(resolver *dbresolver.DBResolver) error {
	var errs []error
	err := resolver.Call(func(pool gorm.ConnPool) error {
		if c, ok := pool.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// split opens the primary with readsplit in front of these replicas, once they are up.
// What would change with the load of this machine (a slow answer, a lag of a moment) is
// given all the time there is, so that the numbers are the same everywhere.
func (s *stage) split(ctx context.Context, change func(*readsplit.Config), replicas ...*testenv.Server) (*gorm.DB, *readsplit.Plugin, error) {
	db, err := s.open(s.cluster.Primary())
	if err != nil {
		return nil, nil, err
	}
	cfg := readsplit.Config{MaxLag: readsplit.Off, MaxSampleAge: time.Minute, SampleTimeout: 20 * time.Second, SampleEvery: 20 * time.Millisecond}
	for _, r := range replicas {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: r.Name(), Dialector: postgres.Open(r.DSNFor(s.database))})
	}
	if change != nil {
		change(&cfg)
	}
	plugin := readsplit.New(cfg)
	if err := db.Use(plugin); err != nil {
		return nil, nil, err
	}
	s.closers = append(s.closers, plugin.Close)
	return db, plugin, eventually(ctx, "the replicas are up", func() bool {
		for _, r := range plugin.Status().Replicas {
			if !r.Up {
				return false
			}
		}
		return true
	})
}

// pause makes replay stand still on both replicas, once they have everything.
func (s *stage) pause(ctx context.Context) error {
	if err := s.cluster.WaitCaughtUp(ctx); err != nil {
		return err
	}
	for _, r := range s.cluster.Replicas() {
		if _, err := r.PauseReplay(ctx); err != nil {
			return err
		}
	}
	return nil
}

// resume undoes the faults and waits until the replicas have everything.
func (s *stage) resume(ctx context.Context) error {
	return errors.Join(s.cluster.UndoAll(), s.cluster.WaitCaughtUp(ctx))
}

// eventually waits for what has no event to wait for.
func eventually(ctx context.Context, what string, done func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waited in vain for: %s: %w", what, ctx.Err())
		}
	}
	return nil
}

// customer is the context of one customer's requests: a session of their own.
func customer(ctx context.Context) context.Context {
	return readsplit.WithSession(ctx, readsplit.NewSession())
}
