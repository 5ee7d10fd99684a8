package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/internal/chart"
	"github.com/readsplit/readsplit/testenv"
)

// mode is who keeps a read from missing a write.
type mode struct {
	name     string
	commit   string // synchronous_commit
	standbys string // synchronous_standby_names
	split    bool   // reads go through readsplit
}

var modes = []mode{
	{"asynchronous, reads on replicas in turn", "on", "", false},
	{"synchronous: flushed on both", "on", "2 (replica1, replica2)", false},
	{"`remote_apply`, any one", "remote_apply", "ANY 1 (replica1, replica2)", false},
	{"`remote_apply`, both", "remote_apply", "2 (replica1, replica2)", false},
	{"asynchronous, **readsplit**", "on", "", true},
}

// result is what was seen in one mode.
type result struct {
	mode
	median, slow time.Duration // of a write until it was acknowledged
	missing      int           // own orders, of options.writes
	primary      int           // reads that ran on the primary, of options.writes
	waited       int           // writes that were not acknowledged in time, of options.held
	committed    int           // of those, committed all the same
	missingHeld  int           // own orders, of those that were acknowledged
	acknowledged int
}

type order struct {
	ID       int64
	Customer int
}

func run(ctx context.Context, o options) (err error) {
	cluster, err := testenv.New(ctx, testenv.Config{Version: o.version, Settings: map[string]string{"autovacuum": "off"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close(ctx)) }()
	if _, err := cluster.Primary().DB().ExecContext(ctx, "CREATE TABLE orders (id bigserial PRIMARY KEY, customer bigint)"); err != nil {
		return err
	}
	var text strings.Builder
	for _, network := range []time.Duration{0, o.network} {
		var results []result
		for _, m := range modes {
			r, err := measure(ctx, cluster, o, m, network)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			results = append(results, r)
		}
		text.WriteString(table(o, network, results))
	}
	fmt.Print(text.String())
	if o.page == "" {
		return nil
	}
	return chart.Write(o.page, "synchronous", text.String(), nil)
}

// measure places orders and looks for them in one mode.
func measure(ctx context.Context, cluster *testenv.Cluster, o options, m mode, network time.Duration) (r result, err error) {
	r.mode = m
	if network > 0 {
		for _, s := range cluster.Replicas() {
			if _, err := s.LagNetwork(ctx, network); err != nil {
				return r, err
			}
		}
	}
	if err := cluster.WaitCaughtUp(ctx); err != nil {
		return r, err
	}
	if err := configure(ctx, cluster, m); err != nil {
		return r, err
	}
	defer func() {
		// The faults first: until then a commit here might wait for ever.
		err = errors.Join(err, cluster.UndoAll(), configure(ctx, cluster, modes[0]))
	}()
	a, err := open(cluster, m)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, a.close(ctx)) }()

	var took []time.Duration
	for i := range o.writes + 20 {
		d, found, onPrimary, err := a.placeAndLook(ctx, i)
		switch {
		case err != nil:
			return r, err
		case i < 20:
			continue // connections are opened, and readsplit has its first news
		case !found:
			r.missing++
		}
		if onPrimary {
			r.primary++
		}
		took = append(took, d)
	}
	slices.Sort(took)
	r.median, r.slow = took[len(took)/2], took[len(took)*99/100]

	if _, err := cluster.Replica(0).PauseReplay(ctx); err != nil {
		return r, err
	}
	const held = 1_000_000 // the first customer who orders now
	for i := range o.held {
		ctx, cancel := context.WithTimeout(ctx, o.patience)
		_, found, _, err := a.placeAndLook(ctx, held+i)
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			r.waited++
			continue
		case err != nil:
			return r, err
		case !found:
			r.missingHeld++
		}
		r.acknowledged++
	}
	// Once replay goes on, whatever waited is there to be seen.
	if err := errors.Join(cluster.UndoAll(), cluster.WaitCaughtUp(ctx)); err != nil {
		return r, err
	}
	var there int
	err = cluster.Primary().DB().QueryRowContext(ctx, "WITH gone AS (DELETE FROM orders WHERE customer >= $1 RETURNING 1) SELECT count(*) FROM gone", held).Scan(&there)
	r.committed = there - r.acknowledged
	return r, err
}

// configure makes the primary commit as a mode says.
func configure(ctx context.Context, cluster *testenv.Cluster, m mode) error {
	db := cluster.Primary().DB()
	for _, statement := range []string{
		fmt.Sprintf("ALTER SYSTEM SET synchronous_commit = '%s'", m.commit),
		fmt.Sprintf("ALTER SYSTEM SET synchronous_standby_names = '%s'", m.standbys),
		"SELECT pg_reload_conf()",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	// Processes take a reload when they get to it; the senders say when they have.
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var synchronous int
		err := db.QueryRowContext(ctx, "SELECT count(*) FROM pg_stat_replication WHERE sync_state <> 'async'").Scan(&synchronous)
		if err != nil || synchronous == 2 == (m.standbys != "") {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// application places orders and looks for them.
type application struct {
	primary  *gorm.DB
	replicas []*gorm.DB // without readsplit
	plugin   *readsplit.Plugin
	opened   []*gorm.DB
}

func open(cluster *testenv.Cluster, m mode) (*application, error) {
	a := &application{}
	connect := func(s *testenv.Server) (*gorm.DB, error) {
		db, err := gorm.Open(postgres.Open(s.DSN()), &gorm.Config{Logger: logger.Discard})
		if err == nil {
			a.opened = append(a.opened, db)
		}
		return db, err
	}
	var err error
	if a.primary, err = connect(cluster.Primary()); err != nil {
		return nil, err
	}
	if !m.split {
		for _, s := range cluster.Replicas() {
			db, err := connect(s)
			if err != nil {
				return nil, err
			}
			a.replicas = append(a.replicas, db)
		}
		return a, nil
	}
	var cfg readsplit.Config
	for _, s := range cluster.Replicas() {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: s.Name(), Dialector: postgres.Open(s.DSN())})
	}
	a.plugin = readsplit.New(cfg)
	return a, a.primary.Use(a.plugin)
}

func (a *application) close(ctx context.Context) (err error) {
	if a.plugin != nil {
		err = a.plugin.Close(ctx)
	}
	for _, db := range a.opened {
		if pool, e := db.DB(); e == nil {
			err = errors.Join(err, pool.Close())
		}
	}
	return err
}

// placeAndLook places an order, says how long that took, and looks for it: on the
// replicas in turn, or where readsplit says.
func (a *application) placeAndLook(ctx context.Context, i int) (took time.Duration, found, onPrimary bool, err error) {
	ctx = readsplit.WithSession(ctx, readsplit.NewSession())
	placed := order{Customer: i}
	began := time.Now()
	if err := a.primary.WithContext(ctx).Create(&placed).Error; err != nil {
		return 0, false, false, err
	}
	took = time.Since(began)
	reader := a.primary
	if a.plugin == nil {
		reader = a.replicas[i%len(a.replicas)]
	}
	tx := reader.WithContext(ctx).Where("id = ?", placed.ID).Find(&[]order{})
	d, routed := readsplit.DecisionOf(tx)
	return took, tx.RowsAffected == 1, routed && !d.Replica, tx.Error
}
