package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/readsplit/readsplit/testenv"
)

// Everything here goes to one server directly, past the plugin.

// dsn is the database of the report, but on a replica: what looks into that one may stand in
// the way of replay there, and be cancelled itself.
func (l *lab) dsn(s *testenv.Server) string {
	if s == l.cluster.Primary() || s == l.fed.Primary() {
		return s.DSNFor(l.database)
	}
	return s.DSN()
}

func (l *lab) do(ctx context.Context, s *testenv.Server, text string) error {
	conn, err := pgx.Connect(ctx, l.dsn(s))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, text)
	return err
}

// await asks until the answer is yes.
func await(ctx context.Context, what string, asked func(ctx context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("waited for %s in vain", what))
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if yes, err := asked(ctx); err != nil || yes {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// says is what a server answers to a question. Each time it is asked over a connection of
// its own, which has the settings of the moment.
func (l *lab) says(s *testenv.Server, question string, args ...any) func(ctx context.Context) (bool, error) {
	return func(ctx context.Context) (yes bool, err error) {
		conn, err := pgx.Connect(ctx, l.dsn(s))
		if err != nil {
			return false, err
		}
		defer func() { _ = conn.Close(ctx) }()
		err = conn.QueryRow(ctx, question, args...).Scan(&yes)
		return yes, err
	}
}

// reportRuns says whether the report runs on a server.
const reportRuns = "SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%FROM entries WHERE counted(%' AND state = 'active' AND pid <> pg_backend_pid()"

var left = regexp.MustCompile(`(\d+) are dead but not yet removable`)

// change changes nearly all rows, vacuums them, and returns how many dead rows VACUUM had
// to leave, and the position of the primary after it.
func (l *lab) change(ctx context.Context) (dead int, position string, err error) {
	primary := l.cluster.Primary()
	cfg, err := pgx.ParseConfig(primary.DSNFor(l.database))
	if err != nil {
		return 0, "", err
	}
	dead = -1
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if m := left.FindStringSubmatch(n.Message); m != nil {
			dead, _ = strconv.Atoi(m[1])
		}
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	var xid int64
	err = conn.QueryRow(ctx, "WITH u AS (UPDATE entries SET amount = amount + 1 WHERE id > $1 RETURNING 1) SELECT pg_current_xact_id()::text::bigint FROM u LIMIT 1", rows-changed).Scan(&xid)
	if err != nil {
		return 0, "", err
	}
	// A short read of somebody else must not be what keeps rows.
	err = await(ctx, "older snapshots to end", l.says(primary, `SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'client backend'
		AND pid <> pg_backend_pid() AND backend_xmin::text::bigint <= $1 AND query NOT LIKE '%FROM entries WHERE counted(%'`, xid))
	if err != nil {
		return 0, "", err
	}
	if _, err = conn.Exec(ctx, "VACUUM (VERBOSE) entries"); err != nil {
		return 0, "", err
	}
	if dead < 0 {
		return 0, "", fmt.Errorf("VACUUM did not say how many rows it left")
	}
	err = conn.QueryRow(ctx, "SELECT pg_current_wal_insert_lsn()::text").Scan(&position)
	return dead, position, err
}
