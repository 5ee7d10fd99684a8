package main

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/driver/sqlserver"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/sqlserver/database"
	"github.com/readsplit/readsplit/internal/orderlab"
)

// poolSize is how many connections each pool may open and keep: the same for every
// strategy, so that none of them is measured logging in.
const poolSize = 32

// strategy is a way of routing the statements of the shop, which is the same under all
// of them.
type strategy interface {
	orderlab.Strategy
	// open connects to the primary and installs the router. It is called once.
	open(ctx context.Context, servers *database.Servers) (*gorm.DB, error)
}

// plain is GORM alone: everything is on the primary.
type plain struct{ db *gorm.DB }

func (s *plain) Name() string { return "plain" }

func (s *plain) open(_ context.Context, servers *database.Servers) (db *gorm.DB, err error) {
	// A slow statement is a number of this lab, not a line in its output.
	s.db, err = database.Open(servers.Primary, &gorm.Config{Logger: logger.Discard})
	return s.db, err
}

// Request: there are no sessions.
func (s *plain) Request(ctx context.Context, _ int64) context.Context { return ctx }

// Status: nobody says where a statement goes.
func (s *plain) Status() (readsplit.Status, bool) { return readsplit.Status{}, false }

func (s *plain) Close(context.Context) error {
	if s.db == nil {
		return nil
	}
	return database.ClosePool(s.db)
}

// resolved routes with gorm.io/plugin/dbresolver: writes to the primary, every read to
// the replica that its policy names, which is a random one in its README.
type resolved struct {
	plain
	policy   dbresolver.Policy
	resolver *dbresolver.DBResolver
}

func newResolved() *resolved { return &resolved{policy: dbresolver.RandomPolicy{}} }

func (s *resolved) Name() string { return "dbresolver" }

func (s *resolved) open(ctx context.Context, servers *database.Servers) (*gorm.DB, error) {
	db, err := s.plain.open(ctx, servers)
	if err != nil {
		return nil, err
	}
	cfg := dbresolver.Config{Policy: s.policy}
	for _, r := range servers.Replicas {
		cfg.Replicas = append(cfg.Replicas, sqlserver.Open(r.DSN))
	}
	s.resolver = dbresolver.Register(cfg).SetMaxOpenConns(poolSize).SetMaxIdleConns(poolSize)
	if err := db.Use(s.resolver); err != nil {
		return nil, fmt.Errorf("dbresolver: %w", err)
	}
	return db, nil
}

func (s *resolved) Close(ctx context.Context) error {
	if s.resolver == nil {
		return s.plain.Close(ctx)
	}
	return errors.Join(orderlab.CloseResolver(s.resolver), s.plain.Close(ctx))
}
