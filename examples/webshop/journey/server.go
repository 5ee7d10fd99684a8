package journey

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/readsplit/readsplit/examples/webshop/stage"
)

// Extension is where a server keeps the statements that it has run; each must load it
// at its start.
const Extension = "pg_stat_statements"

// CountReads has the servers count the shop's reads from now on.
func CountReads(ctx context.Context, s *stage.Stage) error {
	if _, err := s.Cluster.Primary().DB().ExecContext(ctx, "CREATE EXTENSION IF NOT EXISTS "+Extension); err != nil {
		return fmt.Errorf("webshop: %s: %w", Extension, err)
	}
	return s.Cluster.WaitCaughtUp(ctx)
}

// ReadsOnReplicas is how many reads of the shop each replica has run, as it says itself.
func ReadsOnReplicas(ctx context.Context, s *stage.Stage) (map[string]uint64, error) {
	counts := make(map[string]uint64)
	for _, r := range s.Cluster.Replicas() {
		var calls sql.NullInt64
		err := r.DB().QueryRowContext(ctx,
			`SELECT sum(calls) FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1)
			AND query ~ 'FROM "(products|cart_lines|orders|order_lines)"'`, stage.Database).Scan(&calls)
		if err != nil {
			return nil, fmt.Errorf("webshop: count on %s: %w", r.Name(), err)
		}
		counts[r.Name()] = uint64(calls.Int64)
	}
	return counts, nil
}
