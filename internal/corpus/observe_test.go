package corpus

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// sessionState is what a statement may leave behind on its connection or change
// for others on a standby, one row per thing.
const sessionState = `
SELECT 'setting ' || name || ' = ' || coalesce(setting, '') FROM pg_catalog.pg_settings
 WHERE source = 'session'
UNION ALL SELECT 'lock ' || locktype || ' ' || mode FROM pg_catalog.pg_locks
 WHERE pid = pg_catalog.pg_backend_pid() AND granted
   AND (locktype IN ('advisory', 'object', 'userlock') OR mode NOT IN ('AccessShareLock', 'ExclusiveLock'))
UNION ALL SELECT 'listens to ' || c FROM pg_catalog.pg_listening_channels() c
UNION ALL SELECT 'prepared ' || name FROM pg_catalog.pg_prepared_statements WHERE name <> ''
UNION ALL SELECT 'cursor ' || name FROM pg_catalog.pg_cursors WHERE name <> ''
UNION ALL SELECT 'temporary schema' WHERE pg_catalog.pg_my_temp_schema() <> 0
UNION ALL SELECT 'user ' || current_user || ' ' || session_user
UNION ALL SELECT 'replay paused ' || pg_catalog.pg_is_wal_replay_paused()::text
UNION ALL SELECT 'configuration of ' || pg_catalog.pg_conf_load_time()::text
UNION ALL SELECT 'statistics of ' || coalesce(stats_reset::text, '') FROM pg_catalog.pg_stat_database
 WHERE datname = pg_catalog.current_database()
UNION ALL SELECT 'background writer of ' || coalesce(stats_reset::text, '') FROM pg_catalog.pg_stat_bgwriter
UNION ALL SELECT 'slru of ' || max(stats_reset)::text FROM pg_catalog.pg_stat_slru
UNION ALL SELECT 'slots ' || count(*)::text FROM pg_catalog.pg_replication_slots
UNION ALL SELECT 'recovery ' || pg_catalog.pg_is_in_recovery()::text
ORDER BY 1`

// observe reads the state of the session behind conn. Settings with names of their
// own (app.user) are in no view, so those that the corpus uses are asked for.
func observe(t testing.TB, conn *pgconn.PgConn) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	results, err := conn.Exec(ctx, sessionState+"; SELECT current_setting('app.loud', true), current_setting('app.tenant', true), current_setting('app.user', true)").ReadAll()
	require.NoError(t, err)
	var b strings.Builder
	for _, r := range results {
		for _, row := range r.Rows {
			fmt.Fprintf(&b, "%s\n", row)
		}
	}
	return b.String()
}

// difference names what is in after and not in before, or the other way round.
func difference(before, after string) string {
	seen := map[string]int{}
	for _, line := range strings.Split(before, "\n") {
		seen[line]--
	}
	for _, line := range strings.Split(after, "\n") {
		seen[line]++
	}
	var changes []string
	for line, n := range seen {
		if n > 0 {
			changes = append(changes, "+"+line)
		}
		if n < 0 {
			changes = append(changes, "-"+line)
		}
	}
	return strings.Join(changes, ", ")
}
