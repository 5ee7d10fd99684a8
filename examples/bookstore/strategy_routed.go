package main

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/internal/orderlab"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// routed routes with readsplit. Its Config sets only Replicas; sessions are the
// part that an application adds to it.
type routed struct {
	label string
	// policies are additional rules; none but for the strategy sticky.
	policies []policy.Policy
	sessions orderlab.Sessions

	db     *gorm.DB
	plugin *readsplit.Plugin
}

// newRouted returns the strategy "routed": only Replicas is set, and each
// customer has a session.
func newRouted(customers int) *routed {
	return &routed{label: "routed", sessions: orderlab.NewSessions(customers)}
}

// newRoutedWithoutSessions returns the strategy "routed_no_session": db.Use, and
// nothing else in the whole program. The process is one session.
func newRoutedWithoutSessions() *routed { return &routed{label: "routed_no_session"} }

func (s *routed) Name() string { return s.label }

func (s *routed) open(c *testenv.Cluster) (*gorm.DB, error) {
	db, err := openPrimary(c)
	if err != nil {
		return nil, err
	}
	s.db = db
	cfg := readsplit.Config{Policies: s.policies}
	for _, r := range c.Replicas() {
		// The name that the server gives itself, so that what the plugin says and
		// what the servers say can be compared.
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: r.Name(), Dialector: postgres.Open(r.DSNFor(database))})
	}
	s.plugin = readsplit.New(cfg)
	if err := db.Use(s.plugin); err != nil {
		return nil, fmt.Errorf("bookstore: %s: %w", s.label, err)
	}
	if err := orderlab.RecordDecisions(db); err != nil {
		return nil, err
	}
	return db, nil
}

func (s *routed) Request(ctx context.Context, customer int64) context.Context {
	return s.sessions.Request(ctx, customer)
}

func (s *routed) Status() (readsplit.Status, bool) { return s.plugin.Status(), true }

func (s *routed) Close(ctx context.Context) error {
	if s.plugin == nil {
		return closePrimary(s.db)
	}
	return errors.Join(s.plugin.Close(ctx), closePrimary(s.db))
}
