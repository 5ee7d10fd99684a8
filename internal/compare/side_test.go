package compare

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// mode is a configuration of GORM that all programs run in.
type mode struct {
	name   string
	config gorm.Config
	// sessions gives each program a session of its own on readsplit's side;
	// otherwise all of the process is one.
	sessions bool
}

var modes = []mode{
	{name: "default"},
	{name: "prepared", config: gorm.Config{PrepareStmt: true}},
	{name: "skip_tx_translate", config: gorm.Config{SkipDefaultTransaction: true, TranslateError: true}, sessions: true},
}

// now is every moment that GORM writes: two runs must write the same.
var now = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

// side is one of the two ways that a program is run in a mode: a gorm.DB over a
// database of its own, which begins as the other side's does.
type side struct {
	opened
	name     string // "plain", "readsplit", or "plain_again" for the control
	mode     mode
	database string
	admin    *sql.DB   // to the same database of the primary, past GORM
	replicas []*sql.DB // to the same database of the replicas
	log      *recorder
	pristine map[string]string // what the tables hold before a program
	current  atomic.Pointer[run]
}

func openSide(t *testing.T, m mode, name string) *side {
	t.Helper()
	s := &side{name: name, mode: m, database: m.name + "_" + name}
	_, err := cluster.Primary().DB().ExecContext(t.Context(), "CREATE DATABASE "+s.database+" TEMPLATE compared")
	require.NoError(t, err)
	open := func(dsn string) *sql.DB {
		db, err := sql.Open("pgx", dsn)
		require.NoError(t, err)
		db.SetMaxIdleConns(2)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}
	s.admin = open(cluster.Primary().DSNFor(s.database))
	for _, r := range cluster.Replicas() {
		s.replicas = append(s.replicas, open(r.DSNFor(s.database)))
	}
	s.log = &recorder{side: s}
	require.NoError(t, cluster.WaitCaughtUp(t.Context()))
	require.NoError(t, s.restore(t.Context(), nil))
	s.pristine, err = s.contents(t.Context())
	require.NoError(t, err)
	s.opened, err = s.open(m.config, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.close()) })
	return s
}

// opened is a gorm.DB over the side's database, with the plugin where it is the
// side that has one.
type opened struct {
	db     *gorm.DB
	plugin *readsplit.Plugin
}

// open opens the side's database with a configuration. before runs before the
// plugin is installed.
func (s *side) open(config gorm.Config, before func(*gorm.DB)) (o opened, err error) {
	config.Logger = s.log
	config.NowFunc = func() time.Time { return now }
	o.db, err = gorm.Open(postgres.Open(cluster.Primary().DSNFor(s.database)), &config)
	if err != nil {
		return o, err
	}
	if before != nil {
		before(o.db)
	}
	if s.name != "readsplit" {
		return o, nil
	}
	o.plugin = s.newPlugin()
	return o, o.db.Use(o.plugin)
}

// newPlugin returns a plugin over the side's database on the replicas, with the
// default configuration.
func (s *side) newPlugin() *readsplit.Plugin {
	var c readsplit.Config
	for _, r := range cluster.Replicas() {
		c.Replicas = append(c.Replicas, readsplit.Replica{Name: r.Name(), Dialector: postgres.Open(r.DSNFor(s.database))})
	}
	return readsplit.New(c)
}

func (o opened) close() error {
	var errs []error
	if o.plugin != nil {
		st := o.plugin.Status()
		result.replicaReads.Add(st.ReplicaReads)
		result.primaryReads.Add(st.PrimaryReads)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		errs = append(errs, o.plugin.Close(ctx))
	}
	if o.db != nil {
		pool, err := o.db.DB()
		errs = append(errs, err)
		if err == nil {
			errs = append(errs, pool.Close())
		}
	}
	return errors.Join(errs...)
}

// restore puts what a program has changed into the state that programs begin
// with, on the primary and the replicas, and drops what it has made.
func (s *side) restore(ctx context.Context, after map[string]string) error {
	if _, err := s.admin.ExecContext(ctx, restoring(s.pristine, after)); err != nil {
		return err
	}
	return s.awaitReplicas(ctx)
}

// awaitReplicas returns when the replicas have what was committed past the
// plugin, which cannot wait for it.
func (s *side) awaitReplicas(ctx context.Context) error {
	var position string
	if err := s.admin.QueryRowContext(ctx, "SELECT pg_current_wal_flush_lsn()::text").Scan(&position); err != nil {
		return err
	}
	tick := time.NewTicker(500 * time.Microsecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for _, r := range s.replicas {
		for {
			var reached bool
			if err := r.QueryRowContext(ctx, "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn", position).Scan(&reached); err != nil {
				return err
			}
			if reached {
				break
			}
			select {
			case <-tick.C:
			case <-deadline:
				return errors.New("a replica did not catch up within 30 s")
			}
		}
	}
	return nil
}

// contents are all relations on the primary by their names: their columns and
// rows, and how far the sequences have come, since a statement that ran twice
// shows there.
func (s *side) contents(ctx context.Context) (map[string]string, error) {
	rows, err := s.admin.QueryContext(ctx, "SELECT name, holds FROM harness.contents()")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	var errs []error
	for rows.Next() {
		var name, holds string
		errs = append(errs, rows.Scan(&name, &holds))
		all[name] = holds
	}
	return all, errors.Join(append(errs, rows.Err(), rows.Close())...)
}
