package waitdouble_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/internal/waitdouble"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/testenv"
)

// ask sends one statement in the simple protocol and returns its one text.
func ask(ctx context.Context, c *pgx.Conn, query string) (string, error) {
	results, err := c.PgConn().Exec(ctx, query).ReadAll()
	if err != nil {
		return "", err
	}
	last := results[len(results)-1]
	if len(last.Rows) != 1 || len(last.Rows[0]) != 1 {
		return "", fmt.Errorf("%d rows", len(last.Rows))
	}
	return last.FieldDescriptions[0].Name + " " + string(last.Rows[0][0]), nil
}

func code(err error) string {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return said.Code
	}
	return fmt.Sprint(err)
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	c, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// TestDouble runs the parts of it on one standby; the last one promotes it.
func TestDouble(t *testing.T) {
	c := testenv.Start(t, testenv.Replicas(1))
	r := c.Replica(0)
	d, err := waitdouble.Start(t.Context(), r.DSN(), waitdouble.Options{})
	require.NoError(t, err)
	t.Cleanup(d.Close)
	position := func() string {
		var p string
		require.NoError(t, c.Primary().DB().QueryRowContext(t.Context(), "SELECT pg_current_wal_insert_lsn()").Scan(&p))
		return p
	}
	exec := func(query string) {
		_, err := c.Primary().DB().ExecContext(t.Context(), query)
		require.NoError(t, err)
	}
	exec("CREATE TABLE t (n int)")
	conn := connect(t, d.DSN(r.DSN()))

	t.Run("passes on everything else", func(t *testing.T) {
		var text string
		require.NoError(t, conn.QueryRow(t.Context(), lsn.FullSQL).Scan(&text))
		s, err := lsn.ParseSample(text)
		require.NoError(t, err)
		assert.Equal(t, 190000, s.Version)
		assert.True(t, s.InRecovery)
		var n int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT $1::int + 1", 41).Scan(&n))
		assert.Equal(t, 42, n)
		_, err = conn.Exec(t.Context(), "INSERT INTO t VALUES (1)")
		assert.Equal(t, "25006", code(err))
	})

	t.Run("waits over the real replication", func(t *testing.T) {
		undo, err := r.Delay(t.Context(), 30*time.Millisecond)
		require.NoError(t, err)
		for range 10 {
			exec("INSERT INTO t VALUES (1)")
			to := position()
			status, err := ask(t.Context(), conn, "WAIT FOR LSN '"+to+"' WITH (MODE 'standby_replay', TIMEOUT '20000ms', NO_THROW)")
			require.NoError(t, err)
			assert.Equal(t, "status success", status)
			var there bool
			require.NoError(t, r.DB().QueryRowContext(t.Context(), "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn", to).Scan(&there))
			assert.True(t, there)
		}
		require.NoError(t, undo())
	})

	const never = "FFFF/0"
	t.Run("statuses and errors", func(t *testing.T) {
		for query, want := range map[string]string{
			"WAIT FOR LSN '0/1'":                                             "status success",
			"wait for lsn '0/1' with (timeout 5, no_throw);":                 "status success",
			"WAIT FOR LSN '" + never + "' WITH (TIMEOUT '1ms', NO_THROW)":    "status timeout",
			"WAIT FOR LSN '" + never + "' WITH (TIMEOUT '0.6ms', NO_THROW)":  "status timeout",
			"WAIT FOR LSN '" + never + "' WITH (TIMEOUT '0.001s', NO_THROW)": "status timeout",
			"WAIT FOR LSN '" + never + "' WITH (TIMEOUT '1ms')":              "57014",
			"WAIT FOR LSN '" + never + "' WITH (TIMEOUT '-1ms', NO_THROW)":   "22023",
			"WAIT FOR LSN '" + never + "' WITH (TIMEOUT 'soon', NO_THROW)":   "22023",
			"WAIT FOR LSN '0/1' WITH (MODE 'replay')":                        "22023",
			"WAIT FOR LSN '0/1' WITH (PATIENCE 'much')":                      "42601",
			"WAIT FOR LSN '0/1' WITH (NO_THROW, NO_THROW)":                   "42601",
			"WAIT FOR LSN '0/1' (TIMEOUT '1ms')":                             "42601",
			"WAIT FOR LSN $1":                                                "42601",
			"WAIT FOR LSN 'x'":                                               "22P02",
			"WAIT FOR LSN '0/1' WITH (TIMEOUT '99999999999999999999d')":      "22003",
			"DO $$ BEGIN EXECUTE 'WAIT FOR LSN ''0/1'''; END $$":             "42601", // of the real server, which does not know it
			lsn.WaitSQL(1, time.Millisecond):                                 "status success",
			lsn.WaitSQL(0xFFFF_00000000, 100*time.Microsecond):               "status timeout",
		} {
			got, err := ask(t.Context(), conn, query)
			if err != nil {
				got = code(err)
			}
			assert.Equal(t, want, got, query)
		}
		assert.Equal(t, byte('I'), conn.PgConn().TxStatus(), "and the connection goes on")
	})

	t.Run("half a millisecond is for ever, and a cancel ends it", func(t *testing.T) {
		for _, timeout := range []string{"0.5ms", "0", "500us"} {
			c := connect(t, d.DSN(r.DSN()))
			ended := make(chan error, 1)
			away := d.Counts().Away
			go func() {
				_, err := ask(t.Context(), c, "WAIT FOR LSN '"+never+"' WITH (TIMEOUT '"+timeout+"', NO_THROW)")
				ended <- err
			}()
			require.Eventually(t, func() bool { return d.Counts().Away == away+1 }, 10*time.Second, time.Millisecond)
			select {
			case err := <-ended:
				assert.Fail(t, "it ended", "%v", err)
			case <-time.After(20 * time.Millisecond):
			}
			require.NoError(t, c.PgConn().CancelRequest(t.Context()))
			assert.Equal(t, "57014", code(<-ended))
			_, err := ask(t.Context(), c, "SELECT 1")
			assert.NoError(t, err)
		}
	})

	t.Run("transactions", func(t *testing.T) {
		for begin, want := range map[string]string{
			"BEGIN":                                 "status success",
			"BEGIN ISOLATION LEVEL REPEATABLE READ": "status success",
			"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1": "55000",
			"BEGIN; SELECT count(*) FROM t":                   "status success",
		} {
			_, err := conn.PgConn().Exec(t.Context(), begin).ReadAll()
			require.NoError(t, err)
			got, err := ask(t.Context(), conn, "WAIT FOR LSN '0/1' WITH (NO_THROW)")
			if err != nil {
				got = code(err)
				assert.Equal(t, byte('E'), conn.PgConn().TxStatus())
			}
			assert.Equal(t, want, got, begin)
			_, err = conn.Exec(t.Context(), "ROLLBACK")
			require.NoError(t, err)
		}
		_, err := conn.PgConn().Exec(t.Context(), "BEGIN; SELECT count(*) FROM t").ReadAll()
		require.NoError(t, err)
		_, err = ask(t.Context(), conn, "WAIT FOR LSN '"+never+"' WITH (TIMEOUT '1s', NO_THROW)")
		assert.Equal(t, "55000", code(err), "it holds a lock, and would have to wait")
		_, err = conn.Exec(t.Context(), "ROLLBACK")
		require.NoError(t, err)
	})

	t.Run("an older server", func(t *testing.T) {
		old, err := waitdouble.Start(t.Context(), r.DSN(), waitdouble.Options{Old: true})
		require.NoError(t, err)
		t.Cleanup(old.Close)
		_, err = ask(t.Context(), connect(t, old.DSN(r.DSN())), lsn.WaitSQL(1, time.Second))
		assert.Equal(t, "42601", code(err))
	})

	t.Run("promoted while it waits", func(t *testing.T) {
		for _, throws := range []bool{false, true} {
			c := connect(t, d.DSN(r.DSN()))
			query, want := lsn.WaitSQL(0xFFFF_00000000, time.Minute), "status not in recovery"
			if throws {
				query, want = "WAIT FOR LSN '"+never+"'", "55000"
			}
			ended := make(chan string, 1)
			away := d.Counts().Away
			go func() {
				got, err := ask(t.Context(), c, query)
				if err != nil {
					got = code(err)
				}
				ended <- got
			}()
			if !throws {
				require.Eventually(t, func() bool { return d.Counts().Away == away+1 }, 10*time.Second, time.Millisecond)
				_, err := r.Promote(t.Context())
				require.NoError(t, err)
			}
			assert.Equal(t, want, <-ended)
		}
		status, err := ask(t.Context(), conn, "WAIT FOR LSN '0/1' WITH (NO_THROW)")
		require.NoError(t, err)
		assert.Equal(t, "status success", status, "what it had replayed before")
	})
}
