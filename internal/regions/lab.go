package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// lab is a primary and two replicas, seen from the region of replica1: the primary and
// replica2 are far away.
type lab struct {
	cluster      *testenv.Cluster
	primary, far *testenv.Away
	o            options
}

const database = "regions"

func newLab(ctx context.Context, o options) (*lab, error) {
	c, err := testenv.New(ctx, testenv.Config{Version: o.version})
	if err != nil {
		return nil, err
	}
	l := &lab{cluster: c, o: o}
	if err := l.furnish(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *lab) furnish(ctx context.Context) (err error) {
	c, o := l.cluster, l.o
	if err = c.CreateDatabase(ctx, database); err != nil {
		return err
	}
	db, err := gorm.Open(postgres.Open(c.Primary().DSNFor(database)), quiet())
	if err != nil {
		return err
	}
	err = db.Exec("CREATE TABLE users (id int PRIMARY KEY, n bigint NOT NULL)").Error
	if err == nil {
		err = db.Exec("INSERT INTO users SELECT i, 0 FROM generate_series(0, 9999) i").Error
	}
	if pool, perr := db.DB(); perr == nil {
		err = errors.Join(err, pool.Close())
	}
	if err != nil {
		return err
	}
	if err = c.WaitCaughtUp(ctx); err != nil {
		return err
	}
	for _, r := range c.Replicas() {
		if o.behind > 0 {
			if _, err = r.Delay(ctx, o.behind); err != nil {
				return err
			}
		}
	}
	if l.primary, err = c.Primary().Away(o.away); err != nil {
		return err
	}
	l.far, err = c.Replica(1).Away(o.away)
	return err
}

func (l *lab) close() error {
	for _, a := range []*testenv.Away{l.primary, l.far} {
		if a != nil {
			a.Close()
		}
	}
	return l.cluster.Close(context.Background())
}

func quiet() *gorm.Config {
	return &gorm.Config{Logger: logger.Discard, SkipDefaultTransaction: true}
}

// open opens a database with pool connections that stay open.
func open(dsn string, pool int) (*gorm.DB, func() error, error) {
	db, err := gorm.Open(postgres.Open(dsn), quiet())
	if err != nil {
		return nil, nil, err
	}
	p, err := db.DB()
	if err != nil {
		return nil, nil, err
	}
	p.SetMaxOpenConns(pool)
	p.SetMaxIdleConns(pool)
	return db, p.Close, nil
}

// form is one way to read.
type form struct {
	name string
	// handles returns what one user writes and reads with. wrote is when the user's
	// newest write was acknowledged.
	handles func() (write *gorm.DB, read func(wrote time.Time) *gorm.DB)
	close   func() error
}

// plain reads everything from the primary.
func (l *lab) plain() (*form, error) {
	db, done, err := open(l.primary.DSNFor(database), 64)
	if err != nil {
		return nil, err
	}
	return &form{"plain GORM", func() (*gorm.DB, func(time.Time) *gorm.DB) {
		return db, func(time.Time) *gorm.DB { return db }
	}, done}, nil
}

// window reads from the region's replica unless the user has written within a window.
func (l *lab) window(length time.Duration) (*form, error) {
	primary, first, err := open(l.primary.DSNFor(database), 64)
	if err != nil {
		return nil, err
	}
	replica, second, err := open(l.cluster.Replica(0).DSNFor(database), 64)
	if err != nil {
		return nil, errors.Join(err, first())
	}
	return &form{fmt.Sprintf("a window of %v", length), func() (*gorm.DB, func(time.Time) *gorm.DB) {
		return primary, func(wrote time.Time) *gorm.DB {
			if time.Since(wrote) < length {
				return primary
			}
			return replica
		}
	}, func() error { return errors.Join(first(), second()) }}, nil
}

// readsplit is the plugin with its defaults, but for the zone.
func (l *lab) readsplit() (*form, error) {
	db, done, err := open(l.primary.DSNFor(database), 64)
	if err != nil {
		return nil, err
	}
	plugin := readsplit.New(readsplit.Config{
		Zone: "here",
		Replicas: []readsplit.Replica{
			{Name: "replica1", Zone: "here", Dialector: postgres.Open(l.cluster.Replica(0).DSNFor(database))},
			{Name: "replica2", Zone: "there", Dialector: postgres.Open(l.far.DSNFor(database))},
		},
	})
	if err := db.Use(plugin); err != nil {
		return nil, errors.Join(err, done())
	}
	return &form{"readsplit", func() (*gorm.DB, func(time.Time) *gorm.DB) {
		db := db.WithContext(readsplit.WithSession(context.Background(), readsplit.NewSession()))
		return db, func(time.Time) *gorm.DB { return db }
	}, func() error {
		return errors.Join(plugin.Close(context.Background()), done())
	}}, nil
}
