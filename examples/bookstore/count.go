package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/readsplit/readsplit/testenv"
)

// extension is where a server keeps the statements that it has run.
const extension = "pg_stat_statements"

// listQuery is in the text of the list query and in no other.
const listQuery = "%AS served_by FROM%"

// counter has the servers count the reads that they run. Beside it every list
// carries the name of the server that made it: two witnesses, and neither is the
// router. A server that crashes loses its counters; for it the names remain.
type counter struct{ cluster *testenv.Cluster }

// newCounter makes the counters visible.
func newCounter(ctx context.Context, c *testenv.Cluster) (*counter, error) {
	if _, err := c.Primary().DB().ExecContext(ctx, "CREATE EXTENSION "+extension); err != nil {
		return nil, fmt.Errorf("bookstore: %s: %w", extension, err)
	}
	return &counter{c}, c.WaitCaughtUp(ctx)
}

// CaughtUp returns when both replicas show all that is committed.
func (k *counter) CaughtUp(ctx context.Context) error { return k.cluster.WaitCaughtUp(ctx) }

// Reset sets the counters of every server to zero.
func (k *counter) Reset(ctx context.Context) error {
	var errs []error
	for _, s := range k.cluster.Servers() {
		if _, err := s.DB().ExecContext(ctx, "SELECT pg_stat_statements_reset()"); err != nil {
			errs = append(errs, fmt.Errorf("bookstore: reset the counters of %s: %w", s.Name(), err))
		}
	}
	return errors.Join(errs...)
}

// Lists returns how often each server has run the list query since reset.
func (k *counter) Lists(ctx context.Context) (map[string]int, error) {
	return k.sum(ctx, "query LIKE $2", listQuery)
}

// sum adds up the calls of the shop's statements for which the condition holds.
func (k *counter) sum(ctx context.Context, condition string, args ...any) (map[string]int, error) {
	counts := make(map[string]int)
	for _, s := range k.cluster.Servers() {
		var calls sql.NullInt64
		err := s.DB().QueryRowContext(ctx,
			"SELECT sum(calls) FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1) AND "+condition,
			append([]any{database}, args...)...,
		).Scan(&calls)
		if err != nil {
			return nil, fmt.Errorf("bookstore: count on %s: %w", s.Name(), err)
		}
		counts[s.Name()] = int(calls.Int64)
	}
	return counts, nil
}
