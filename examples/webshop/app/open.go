package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"sync"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/plugin/dbresolver"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of dbresolver's pools

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/webshop/trace"
)

// poolSize is how many connections a process keeps to each server.
const poolSize = 16

// opened is the database of a process.
type opened struct {
	db *gorm.DB
	// served names who has answered a query that went through the plugin.
	served func(tx *gorm.DB) (trace.Read, bool)
	status func() readsplit.Status
	close  func(ctx context.Context) error
	counts counts
}

// counts are the queries of a process, by who answered them.
type counts struct {
	mu     sync.Mutex
	reads  map[string]uint64
	failed uint64
}

func (c *counts) add(server string, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed {
		c.failed++
		return
	}
	if c.reads == nil {
		c.reads = make(map[string]uint64)
	}
	c.reads[server]++
}

func (c *counts) report() Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Report{Reads: maps.Clone(c.reads), Failed: c.failed}
}

// plugins are the ways to open the database. The shop is the same under both.
var plugins = map[string]func(db *gorm.DB, c Config) (*opened, error){
	"readsplit":  withReadsplit,
	"dbresolver": withDBResolver,
}

// open opens the database and takes down who answers.
func open(c Config) (*opened, error) {
	db, err := gorm.Open(postgres.Open(c.Primary), &gorm.Config{Logger: logger.Default.LogMode(logger.Silent)})
	if err != nil {
		return nil, fmt.Errorf("webshop: open the primary: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(poolSize)
	pool.SetMaxIdleConns(poolSize)
	o, err := plugins[c.Plugin](db, c)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	record := func(tx *gorm.DB) {
		if read, ok := o.served(tx); ok {
			o.counts.add(read.Server, tx.Error != nil && !errors.Is(tx.Error, gorm.ErrRecordNotFound))
			trace.From(tx.Statement.Context).Add(read)
		}
	}
	closePlugin := o.close
	o.db = db
	o.close = func(ctx context.Context) error { return errors.Join(closePlugin(ctx), pool.Close()) }
	return o, errors.Join(
		db.Callback().Query().After("*").Register("webshop:trace", record),
		db.Callback().Row().After("*").Register("webshop:trace", record),
	)
}

func withReadsplit(db *gorm.DB, c Config) (*opened, error) {
	cfg := readsplit.Config{
		TokenKeys: [][]byte{[]byte(c.Key)},
		Pool:      readsplit.Pool{MaxOpen: poolSize},
		Instances: 2,
	}
	for _, r := range c.Replicas {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: r.Name, Dialector: postgres.Open(r.DSN)})
	}
	plugin := readsplit.New(cfg)
	if err := db.Use(plugin); err != nil {
		return nil, err
	}
	return &opened{
		served: func(tx *gorm.DB) (trace.Read, bool) {
			d, ok := readsplit.DecisionOf(tx)
			return trace.Read{Server: d.Server, Reason: d.Reason.String()}, ok
		},
		status: plugin.Status,
		close:  plugin.Close,
	}, nil
}

// withDBResolver sets gorm.io/plugin/dbresolver up as its README shows.
func withDBResolver(db *gorm.DB, c Config) (*opened, error) {
	names := make(map[gorm.ConnPool]string)
	var closers []func() error
	closeAll := func(context.Context) error {
		var errs []error
		for _, f := range closers {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	cfg := dbresolver.Config{Policy: dbresolver.RandomPolicy{}}
	for _, r := range c.Replicas {
		pool, err := sql.Open("pgx", r.DSN)
		if err != nil {
			return nil, errors.Join(err, closeAll(context.Background()))
		}
		pool.SetMaxOpenConns(poolSize)
		pool.SetMaxIdleConns(poolSize)
		names[pool] = r.Name
		closers = append(closers, pool.Close)
		cfg.Replicas = append(cfg.Replicas, postgres.New(postgres.Config{Conn: pool}))
	}
	if err := db.Use(dbresolver.Register(cfg)); err != nil {
		return nil, errors.Join(err, closeAll(context.Background()))
	}
	return &opened{
		// dbresolver does not say where it sends a statement, but its pools are known.
		served: func(tx *gorm.DB) (trace.Read, bool) {
			read := trace.Read{Server: "primary"}
			if _, ok := tx.Statement.ConnPool.(gorm.TxCommitter); ok {
				read.Reason = trace.InTransaction
			} else if name, ok := names[tx.Statement.ConnPool]; ok {
				read.Server = name
			}
			return read, true
		},
		status: func() readsplit.Status { return readsplit.Status{} },
		close:  closeAll,
	}, nil
}
