package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/readsplit/readsplit/bench/nullpg"
	"github.com/readsplit/readsplit/bench/overhead"
	"github.com/readsplit/readsplit/testenv"
)

// servers are real ones, and what the driver without any has learned from them.
type servers struct {
	cluster *testenv.Cluster
	catalog nullpg.Catalog
	db      *sql.DB
}

// start starts a primary and two replicas.
func start(ctx context.Context, version string) (*servers, error) {
	cluster, err := testenv.New(ctx, testenv.Config{
		Version: version, Replicas: 2, Settings: map[string]string{"max_connections": "500"},
	})
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("pgx", cluster.Primary().DSN())
	if err != nil {
		return nil, errors.Join(err, cluster.Close(ctx))
	}
	db.SetMaxIdleConns(0) // budgets count connections
	if _, err := db.ExecContext(ctx, overhead.CreateOwnFunction); err != nil {
		return nil, errors.Join(err, db.Close(), cluster.Close(ctx))
	}
	return &servers{cluster: cluster, catalog: nullpg.Recorded(db), db: db}, nil
}

func (s *servers) close(ctx context.Context) error {
	return errors.Join(s.db.Close(), s.cluster.Close(ctx))
}
