// Package stage is what the programs of this module play on: a PostgreSQL primary with
// two replicas, a database of its own for each play, and the ways in which an application
// opens them.
package stage

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/internal/orderlab"
	"github.com/readsplit/readsplit/testenv"
)

// Stage is a primary with two replicas, and a database for one play. End closes what was
// opened through it.
type Stage struct {
	Cluster  *testenv.Cluster
	Database string
	// Logger is GORM's, of every handle that is opened from now on. Defaults to none.
	Logger logger.Interface

	closers []func(context.Context) error
}

// NewCluster starts servers that all plays of a program share.
func NewCluster(ctx context.Context, version string) (*testenv.Cluster, error) {
	return testenv.New(ctx, testenv.Config{Version: version, Settings: map[string]string{
		// What it commits by itself would look like traffic where a quiet primary is the point.
		"autovacuum": "off",
	}})
}

// played counts, so that no database is there already.
var played atomic.Int64

// Play makes a database of its own for a play, and leaves the servers as they were.
func Play(ctx context.Context, cluster *testenv.Cluster, name string, play func(ctx context.Context, s *Stage) error) error {
	s := &Stage{Cluster: cluster, Database: fmt.Sprintf("%s_%d", name, played.Add(1)), Logger: logger.Discard}
	if err := cluster.CreateDatabase(ctx, s.Database); err != nil {
		return err
	}
	err := play(ctx, s)
	return errors.Join(err, s.end(context.WithoutCancel(ctx)))
}

// end closes what was opened, the newest first, and undoes the faults.
func (s *Stage) end(ctx context.Context) error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i](ctx))
	}
	s.closers = nil
	return errors.Join(append(errs, s.Cluster.UndoAll())...)
}

// OnEnd has something closed when the play ends, before what was opened earlier.
func (s *Stage) OnEnd(closes func(context.Context) error) { s.closers = append(s.closers, closes) }

// Open opens one server of the database as any application does.
func (s *Stage) Open(server *testenv.Server) (*gorm.DB, error) {
	return s.OpenDSN(server.DSNFor(s.Database), nil)
}

// OpenDSN is Open for any address, with what change makes of GORM's configuration.
func (s *Stage) OpenDSN(dsn string, change func(*gorm.Config)) (*gorm.DB, error) {
	cfg := gorm.Config{Logger: s.Logger}
	if change != nil {
		change(&cfg)
	}
	db, err := gorm.Open(postgres.Open(dsn), &cfg)
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxIdleConns(idle)
	s.OnEnd(func(context.Context) error { return pool.Close() })
	return db, nil
}

// idle is how many connections a pool keeps, under either plugin, so that none of them is
// measured reconnecting.
const idle = 16

// Dialector is what either plugin takes for a replica.
func (s *Stage) Dialector(server *testenv.Server) gorm.Dialector {
	return postgres.Open(server.DSNFor(s.Database))
}

// Prepare makes the tables, straight on the primary, and waits until the replicas have them.
func (s *Stage) Prepare(ctx context.Context, ddl string) error {
	if err := s.Do(ctx, s.Cluster.Primary(), ddl); err != nil {
		return err
	}
	return s.Cluster.WaitCaughtUp(ctx)
}

// DBResolver opens the primary with every read on one of these replicas.
func (s *Stage) DBResolver(replicas ...*testenv.Server) (*gorm.DB, error) {
	db, err := s.Open(s.Cluster.Primary())
	if err != nil {
		return nil, err
	}
	return db, s.UseDBResolver(db, replicas...)
}

// UseDBResolver installs dbresolver over a primary that is open.
func (s *Stage) UseDBResolver(db *gorm.DB, replicas ...*testenv.Server) error {
	var cfg dbresolver.Config
	for _, r := range replicas {
		cfg.Replicas = append(cfg.Replicas, s.Dialector(r))
	}
	resolver := dbresolver.Register(cfg).SetMaxIdleConns(idle)
	s.OnEnd(func(context.Context) error { return orderlab.CloseResolver(resolver) })
	return db.Use(resolver)
}

// Split opens the primary with readsplit in front of these replicas, once they are up.
// What would change with the load of this machine (a slow answer, a lag of a moment) is
// given all the time there is, so that the numbers are the same everywhere; change may
// say otherwise, and Defaults does.
func (s *Stage) Split(ctx context.Context, change func(*readsplit.Config), replicas ...*testenv.Server) (*gorm.DB, *readsplit.Plugin, error) {
	db, err := s.Open(s.Cluster.Primary())
	if err != nil {
		return nil, nil, err
	}
	plugin, err := s.UseSplit(ctx, db, change, replicas...)
	return db, plugin, err
}

// UseSplit is Split over a primary that is open.
func (s *Stage) UseSplit(ctx context.Context, db *gorm.DB, change func(*readsplit.Config), replicas ...*testenv.Server) (*readsplit.Plugin, error) {
	cfg := readsplit.Config{MaxLag: readsplit.Off, MaxSampleAge: time.Minute, SampleTimeout: 20 * time.Second, SampleEvery: 20 * time.Millisecond}
	for _, r := range replicas {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: r.Name(), Dialector: s.Dialector(r)})
	}
	if change != nil {
		change(&cfg)
	}
	plugin := readsplit.New(cfg)
	if err := db.Use(plugin); err != nil {
		return nil, err
	}
	s.OnEnd(plugin.Close)
	return plugin, Eventually(ctx, "the replicas are up", func() bool {
		for _, r := range plugin.Status().Replicas {
			if !r.Up {
				return false
			}
		}
		return true
	})
}

// Defaults leaves everything of a Config but its replicas to readsplit.
func Defaults(cfg *readsplit.Config) { *cfg = readsplit.Config{Replicas: cfg.Replicas} }

// Pause makes replay stand still on both replicas, once they have everything.
func (s *Stage) Pause(ctx context.Context) error {
	if err := s.Cluster.WaitCaughtUp(ctx); err != nil {
		return err
	}
	for _, r := range s.Cluster.Replicas() {
		if _, err := r.PauseReplay(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Resume undoes the faults and waits until the replicas have everything.
func (s *Stage) Resume(ctx context.Context) error {
	return errors.Join(s.Cluster.UndoAll(), s.Cluster.WaitCaughtUp(ctx))
}

// Ask asks a server, past everything.
func (s *Stage) Ask(ctx context.Context, server *testenv.Server, question string, answer any) error {
	db, err := s.Open(server)
	if err != nil {
		return err
	}
	return db.WithContext(ctx).Raw(question).Scan(answer).Error
}

// Do runs a statement on a server, past everything.
func (s *Stage) Do(ctx context.Context, server *testenv.Server, text string) error {
	db, err := s.Open(server)
	if err != nil {
		return err
	}
	return db.WithContext(ctx).Exec(text).Error
}

// Eventually waits for what has no event to wait for.
func Eventually(ctx context.Context, what string, done func() bool) error {
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

// Customer is the context of one customer's requests: a session of their own.
func Customer(ctx context.Context) context.Context {
	return readsplit.WithSession(ctx, readsplit.NewSession())
}
