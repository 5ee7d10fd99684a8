package main

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of those who ask the servers past GORM
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// lab is a primary and two replicas whose stream is delayed.
type lab struct {
	cluster *testenv.Cluster
	users   int
	plain   *gorm.DB // past the plugin, on the primary
}

const database = "share"

func newLab(ctx context.Context, version string, users int) (*lab, error) {
	c, err := testenv.New(ctx, testenv.Config{Version: version})
	if err != nil {
		return nil, err
	}
	l := &lab{cluster: c, users: users}
	if err := l.furnish(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *lab) furnish(ctx context.Context) (err error) {
	if err = l.cluster.CreateDatabase(ctx, database); err != nil {
		return err
	}
	if l.plain, err = l.open(nil, logger.Discard); err != nil {
		return err
	}
	if err = l.plain.Exec("CREATE TABLE users (id int PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 50)").Error; err != nil {
		return err
	}
	if err = l.plain.Exec("INSERT INTO users SELECT i, 0 FROM generate_series(0, ?) i", l.users-1).Error; err != nil {
		return err
	}
	return l.cluster.WaitCaughtUp(ctx)
}

func (l *lab) close() error {
	var err error
	if l.plain != nil {
		if pool, perr := l.plain.DB(); perr == nil {
			err = pool.Close()
		}
	}
	return errors.Join(err, l.cluster.Close(context.Background()))
}

// open opens the primary, with the plugin unless that is nil.
func (l *lab) open(plugin *readsplit.Plugin, log logger.Interface) (*gorm.DB, error) {
	db, err := gorm.Open(postgres.Open(l.cluster.Primary().DSNFor(database)), &gorm.Config{Logger: log, SkipDefaultTransaction: true})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(32)
	pool.SetMaxIdleConns(32)
	if plugin == nil {
		return db, nil
	}
	return db, db.Use(plugin)
}

// replicas are both, as the plugin is told of them.
func (l *lab) replicas() (all []readsplit.Replica) {
	for i, r := range l.cluster.Replicas() {
		all = append(all, readsplit.Replica{Name: []string{"replica1", "replica2"}[i], Dialector: postgres.Open(r.DSNFor(database))})
	}
	return all
}

// delay delays the stream of both replicas, and returns what ends it.
func (l *lab) delay(ctx context.Context, d time.Duration) (end func() error, err error) {
	if d <= 0 {
		return func() error { return nil }, nil
	}
	for _, r := range l.cluster.Replicas() {
		if _, err := r.LagNetwork(ctx, d); err != nil {
			return nil, err
		}
	}
	return l.cluster.UndoAll, nil
}

// behind measures, while nothing else runs, how long a replica takes to replay a write
// that was acknowledged: the median of some writes.
func (l *lab) behind(ctx context.Context) (_ time.Duration, err error) {
	replica, err := sql.Open("pgx", l.cluster.Replica(0).DSNFor(database))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, replica.Close()) }()
	var took []time.Duration
	for range 9 {
		if err := l.plain.Exec("UPDATE users SET n = n WHERE id = 0").Error; err != nil {
			return 0, err
		}
		var at string
		began := time.Now()
		if err := l.plain.Raw("SELECT pg_current_wal_flush_lsn()::text").Scan(&at).Error; err != nil {
			return 0, err
		}
		for has := false; !has; {
			if err := replica.QueryRowContext(ctx, "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn", at).Scan(&has); err != nil {
				return 0, err
			}
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
