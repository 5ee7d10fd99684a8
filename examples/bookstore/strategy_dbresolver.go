package main

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/internal/orderlab"
	"github.com/readsplit/readsplit/testenv"
)

// resolved routes with gorm.io/plugin/dbresolver, set up as its README shows:
// writes to the primary, every read to a random replica.
type resolved struct {
	db       *gorm.DB
	resolver *dbresolver.DBResolver
}

func (s *resolved) Name() string { return "dbresolver" }

func (s *resolved) open(c *testenv.Cluster) (*gorm.DB, error) {
	db, err := openPrimary(c)
	if err != nil {
		return nil, err
	}
	s.db = db
	cfg := dbresolver.Config{Policy: dbresolver.RandomPolicy{}}
	for _, r := range c.Replicas() {
		cfg.Replicas = append(cfg.Replicas, postgres.Open(r.DSNFor(database)))
	}
	s.resolver = dbresolver.Register(cfg).SetMaxOpenConns(poolSize).SetMaxIdleConns(poolSize)
	if err := db.Use(s.resolver); err != nil {
		return nil, fmt.Errorf("bookstore: dbresolver: %w", err)
	}
	return db, nil
}

// Request: dbresolver knows no sessions.
func (s *resolved) Request(ctx context.Context, _ int64) context.Context { return ctx }

// Status: dbresolver does not say where it sends a statement.
func (s *resolved) Status() (readsplit.Status, bool) { return readsplit.Status{}, false }

func (s *resolved) Close(context.Context) error {
	if s.resolver == nil {
		return closePrimary(s.db)
	}
	return errors.Join(orderlab.CloseResolver(s.resolver), closePrimary(s.db))
}
