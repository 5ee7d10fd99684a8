package readsplit_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// R16: errors that mean "not on this replica" send the read to the primary, which
// answers for good.
func TestR16NotOnThisReplica(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(boundless), saidToRead("counted", "place", "price"))
	counters(t, d, 1)
	require.NoError(t, d.Exec("CREATE TYPE color AS ENUM ('red')").Error)
	require.NoError(t, d.Exec("CREATE FUNCTION counted() RETURNS bigint LANGUAGE sql AS 'UPDATE counters SET n = n + 1 WHERE id = 1 RETURNING n'").Error)
	require.NoError(t, d.Exec("CREATE VIEW visits AS SELECT counted() AS n").Error)
	require.NoError(t, d.Exec("CREATE FUNCTION place() RETURNS text LANGUAGE sql AS 'SELECT pg_current_wal_lsn()::text'").Error)
	require.NoError(t, d.Exec("CREATE VIEW here AS SELECT place() AS lsn").Error)
	known(t, d.plugin)
	replicasServe(t, d.DB)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	// A deployment by somebody else, which the replicas have not replayed.
	defer still(t, c)()
	deploy := direct(t, c.Primary(), d.name)
	for _, ddl := range []string{
		"ALTER TABLE counters ADD COLUMN title text DEFAULT 'new'",
		"CREATE TABLE orders AS SELECT 1 AS id",
		"CREATE SCHEMA shop",
		"CREATE TABLE shop.items AS SELECT 1 AS id",
		"CREATE FUNCTION price(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2'",
		"CREATE VIEW prices AS SELECT price(21) AS p",
		"ALTER TYPE color ADD VALUE 'green'",
	} {
		_, err := deploy.ExecContext(t.Context(), ddl)
		require.NoError(t, err)
	}
	for _, read := range []struct {
		sqlState, query string
		reason          policy.Reason
	}{
		{"42703", "SELECT title FROM counters WHERE id = 1", policy.ReasonSchemaBehind},
		{"42P01", "SELECT id FROM orders", policy.ReasonSchemaBehind},
		{"42P01", "SELECT id FROM shop.items", policy.ReasonSchemaBehind},
		{"42P01", "SELECT p FROM prices", policy.ReasonSchemaBehind},
		{"22P02", "SELECT 'green'::color::text", policy.ReasonSchemaBehind},
		{"25006", "SELECT n FROM visits", policy.ReasonRefusedByReplica},
		{"55000", "SELECT lsn FROM here", policy.ReasonRefusedByReplica},
	} {
		t.Run(read.sqlState, func(t *testing.T) {
			for range 2 { // again: nothing was learned that would keep it away
				ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
				before := d.plugin.Status()
				var got string
				tx := d.WithContext(ctx).Raw(read.query).Scan(&got)
				require.NoError(t, tx.Error)
				require.NotEmpty(t, got)
				decision, _ := readsplit.DecisionOf(tx)
				assert.Equal(t, read.reason, decision.Reason)
				assert.Equal(t, "primary", decision.Server)
				assert.Equal(t, 2, decision.Attempts, "one replica is enough to know")
				after := d.plugin.Status()
				assert.Equal(t, read.reason == policy.ReasonRefusedByReplica, after.Refused > before.Refused)
				for i := range after.Replicas {
					assert.True(t, after.Replicas[i].Up, "the servers are not suspected")
				}
				if read.sqlState == "25006" || read.sqlState == "55000" {
					assert.Equal(t, "primary", served(t, d.WithContext(ctx)), "it counts as a write of its session")
				}
			}
		})
	}
	t.Run("what is wrong everywhere", func(t *testing.T) {
		for query, reason := range map[string]bool{
			"SELECT nothing FROM counters":  true, // asked on the primary, which decides
			"SELECT 1/0 FROM counters":      false,
			"SELECT 'blue'::color::text":    true,
			"SELECT 'x'::int FROM counters": false,
		} {
			ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
			var got string
			tx := d.WithContext(ctx).Raw(query).Scan(&got)
			require.Error(t, tx.Error, query)
			decision, ok := readsplit.DecisionOf(tx)
			require.True(t, ok, query)
			assert.Equal(t, reason, decision.Server == "primary", fmt.Sprintf("%s: %+v", query, decision))
			assert.NotEqual(t, "primary", served(t, d.WithContext(ctx)), "an error is no write")
		}
	})
}
