package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/driver/sqlserver"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/sqlserver/database"
	"github.com/readsplit/readsplit/internal/orderlab"
)

// routed routes with readsplit.
type routed struct {
	plain
	label    string
	sessions orderlab.Sessions
	// change is what its Config has besides the replicas; nil: nothing.
	change func(cfg *readsplit.Config, servers *database.Servers)
	// window is Config.StickyWindow; 0: its default.
	window time.Duration

	plugin *readsplit.Plugin
}

// routed returns a strategy with a session per customer, and what is changed.
func (l *lab) routed(label string, change func(*readsplit.Config, *database.Servers)) *routed {
	return &routed{label: label, change: change, window: l.window, sessions: orderlab.NewSessions(l.customers)}
}

// withoutSessions returns the strategy "routed_no_session": db.Use, and nothing else in
// the whole program. The process is one session.
func (l *lab) withoutSessions() *routed {
	return &routed{label: "routed_no_session", window: l.window}
}

// marked says how positions are had: from a table, without the permission on views.
func marked(cfg *readsplit.Config, _ *database.Servers) { cfg.SQLServer.Marker = markerTable }

// statedLag is how far behind secondaries are at most, as somebody states who runs them.
const statedLag = 100 * time.Millisecond

// stated says what nobody checks.
func stated(cfg *readsplit.Config, _ *database.Servers) {
	for i := range cfg.Replicas {
		cfg.Replicas[i].StatedLag = statedLag
	}
}

// listened says that all there is is the listener, which routes.
func listened(cfg *readsplit.Config, servers *database.Servers) {
	cfg.Replicas = []readsplit.Replica{{
		Name: "secondaries", Dialector: sqlserver.Open(servers.Double.Listener().ReadOnlyDSN()), Balanced: true, StatedLag: statedLag,
	}}
}

func (s *routed) Name() string { return s.label }

func (s *routed) open(ctx context.Context, servers *database.Servers) (*gorm.DB, error) {
	db, err := s.plain.open(ctx, servers)
	if err != nil {
		return nil, err
	}
	cfg := servers.Config()
	cfg.Pool = readsplit.Pool{MaxOpen: poolSize}
	if s.window > 0 {
		// The window is at least the sum of these two. That a server is slow to answer is
		// not the subject where many trials share a machine.
		cfg.StickyWindow, cfg.MaxLag, cfg.MaxSampleAge = s.window, s.window/2, s.window/2
		cfg.SampleTimeout = 10 * time.Second
	}
	if s.change != nil {
		s.change(&cfg, servers)
	}
	s.plugin = readsplit.New(cfg)
	if err := db.Use(s.plugin); err != nil {
		return nil, fmt.Errorf("%s: %w", s.label, err)
	}
	err = orderlab.Until(ctx, "readsplit has heard of every replica", func() bool {
		for _, r := range s.plugin.Status().Replicas {
			if !r.Up {
				return false
			}
		}
		return true
	})
	return db, errors.Join(err, orderlab.RecordDecisions(db))
}

func (s *routed) Request(ctx context.Context, customer int64) context.Context {
	return s.sessions.Request(ctx, customer)
}

func (s *routed) Status() (readsplit.Status, bool) { return s.plugin.Status(), true }

func (s *routed) Close(ctx context.Context) error {
	if s.plugin == nil {
		return s.plain.Close(ctx)
	}
	return errors.Join(s.plugin.Close(ctx), s.plain.Close(ctx))
}
