package retry_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/testenv"
)

const (
	patience = 30 * time.Second
	tick     = 5 * time.Millisecond
)

// pair is a primary and its replica, which cancels reads at once where they conflict with replay.
type pair struct {
	*testenv.Cluster
	primary, replica *sql.DB
}

func startPair(t *testing.T) *pair {
	t.Helper()
	return startPairWith(t)
}

func startPairWith(t *testing.T, settings ...testenv.Option) *pair {
	t.Helper()
	c := testenv.Start(t, append(settings, testenv.Replicas(1), testenv.Setting("max_standby_streaming_delay", "0"), testenv.Setting("autovacuum", "off"))...)
	p := &pair{Cluster: c, primary: openPool(t, c.Primary().DSN()), replica: openPool(t, c.Replica(0).DSN())}
	p.do(t, "CREATE TABLE orders (id bigint PRIMARY KEY, note text)")
	p.do(t, "INSERT INTO orders SELECT i, 'n' FROM generate_series(1, 1000) AS i")
	p.do(t, "CREATE UNLOGGED TABLE carts (id bigint)")
	p.do(t, "CREATE SEQUENCE numbers")
	p.do(t, "CREATE TYPE mood AS ENUM ('sad')")
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	return p
}

func openPool(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// do runs a statement on the primary.
func (p *pair) do(t *testing.T, statement string) {
	t.Helper()
	_, err := p.primary.ExecContext(t.Context(), statement)
	require.NoError(t, err, statement)
}

// read reads until the rows end, and returns what a caller would get.
func read(ctx context.Context, db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, text string,
) error {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}

// until waits for something that one of the servers says.
func until(t *testing.T, db *sql.DB, condition string, args ...any) {
	t.Helper()
	require.Eventually(t, func() bool {
		var ok bool
		return db.QueryRowContext(t.Context(), "SELECT EXISTS ("+condition+")", args...).Scan(&ok) == nil && ok
	}, patience, tick, condition)
}

// What a real standby refuses, and what it lacks while it is behind.
func TestRefusalsOfAStandby(t *testing.T) {
	p := startPair(t)
	undo, err := p.Replica(0).PauseReplay(t.Context())
	require.NoError(t, err)
	p.do(t, "CREATE TABLE invoices (id bigint)")
	p.do(t, "ALTER TABLE orders ADD COLUMN paid boolean")
	p.do(t, "CREATE FUNCTION total() RETURNS int LANGUAGE sql AS 'SELECT 1'")
	p.do(t, "ALTER TYPE mood ADD VALUE 'glad'")
	p.do(t, "CREATE SCHEMA archive")

	for text, want := range map[string]retry.Verdict{
		"INSERT INTO orders VALUES (0)":                asWrite(retry.CauseReadOnlyRefusal),
		"SELECT nextval('numbers')":                    asWrite(retry.CauseReadOnlyRefusal),
		"SELECT * FROM orders FOR UPDATE":              asWrite(retry.CauseReadOnlyRefusal),
		"SELECT pg_current_xact_id()":                  asWrite(retry.CauseReadOnlyRefusal),
		"LISTEN news":                                  asWrite(retry.CauseReadOnlyRefusal),
		"SELECT pg_current_wal_lsn()":                  asWrite(retry.CauseUnsupportedOnStandby),
		"SELECT pg_switch_wal()":                       asWrite(retry.CauseUnsupportedOnStandby),
		"SELECT * FROM carts":                          primary(retry.CauseUnsupportedOnStandby),
		"SELECT currval('numbers')":                    primary(retry.CauseUnsupportedOnStandby),
		"SELECT * FROM invoices":                       primary(retry.CauseSchemaBehind),
		"SELECT paid FROM orders":                      primary(retry.CauseSchemaBehind),
		"SELECT total()":                               primary(retry.CauseSchemaBehind),
		"SELECT 'glad'::mood":                          primary(retry.CauseSchemaBehind),
		"SELECT * FROM archive.orders":                 primary(retry.CauseSchemaBehind),
		"SELECT NULL::cheer":                           primary(retry.CauseSchemaBehind),
		"SELECT 'x'::int":                              surface(retry.CauseStatement),
		"SELECT 1/0":                                   surface(retry.CauseStatement),
		"SELEC 1":                                      surface(retry.CauseStatement),
		"SELECT id, 1/(id-900) FROM orders ORDER BY 1": surface(retry.CauseStatement), // in the midst of the rows
	} {
		err := read(t.Context(), p.replica, text)
		if assert.Error(t, err, text) {
			assert.Equal(t, want, retry.OfRead(err), "%s: %v", text, err)
		}
	}

	tx, err := p.replica.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err == nil {
		_, err = tx.ExecContext(t.Context(), "SELECT 1")
		require.Error(t, tx.Rollback())
	}
	require.Error(t, err)
	assert.Equal(t, primary(retry.CauseUnsupportedOnStandby), retry.OfRead(err), err.Error())
	require.NoError(t, undo())
}

// What ends a read on a standby that is well.
func TestCancellationsOnAStandby(t *testing.T) {
	p := startPair(t)

	t.Run("replay removes the rows", func(t *testing.T) {
		ended := make(chan error, 1)
		go func() {
			ended <- read(t.Context(), p.replica, "SELECT count(*), pg_sleep(60) FROM orders GROUP BY note")
		}()
		until(t, p.replica, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
		p.do(t, "DELETE FROM orders WHERE id > 500")
		p.do(t, "VACUUM orders")
		err := <-ended
		require.Error(t, err)
		assert.Equal(t, elsewhere(retry.CauseRecoveryConflict), retry.OfRead(err), err.Error())
	})

	t.Run("replay holds a lock", func(t *testing.T) {
		tx, err := p.primary.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "LOCK TABLE orders")
		require.NoError(t, err)
		p.do(t, "SELECT pg_current_xact_id()") // flushes the lock's record
		until(t, p.replica, "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'orders'::regclass")
		impatient := openPool(t, p.Replica(0).DSN()+" lock_timeout=10ms")
		err = read(t.Context(), impatient, "SELECT * FROM orders")
		require.Error(t, err)
		assert.Equal(t, elsewhere(retry.CauseLockTimeout), retry.OfRead(err), err.Error())
		require.NoError(t, tx.Rollback())
	})

	t.Run("statement_timeout", func(t *testing.T) {
		conn, err := p.replica.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.ExecContext(t.Context(), "SET statement_timeout = '10ms'")
		require.NoError(t, err)
		err = read(t.Context(), conn, "SELECT pg_sleep(60)")
		require.Error(t, err)
		assert.Equal(t, surface(retry.CauseCanceled), retry.OfRead(err), err.Error())
		_, err = conn.ExecContext(t.Context(), "RESET statement_timeout")
		require.NoError(t, err)
	})

	t.Run("prepared before a change of the table", func(t *testing.T) {
		stmt, err := p.replica.PrepareContext(t.Context(), "SELECT * FROM orders WHERE id = 1")
		require.NoError(t, err)
		defer stmt.Close()
		p.do(t, "ALTER TABLE orders ADD COLUMN weight int")
		require.NoError(t, p.WaitCaughtUp(t.Context()))
		rows, err := stmt.QueryContext(t.Context())
		if err == nil {
			_ = rows.Next()
			err = errors.Join(rows.Err(), rows.Close())
		}
		require.Error(t, err)
		assert.Equal(t, elsewhere(retry.CauseStalePlan), retry.OfRead(err), err.Error())
	})

	t.Run("too many connections", func(t *testing.T) {
		p.do(t, "CREATE ROLE guest LOGIN PASSWORD 'x' CONNECTION LIMIT 0")
		require.NoError(t, p.WaitCaughtUp(t.Context()))
		guest := openPool(t, fmt.Sprintf("host=127.0.0.1 port=%d user=guest password=x dbname=postgres sslmode=disable", p.Replica(0).Port()))
		_, err := guest.ExecContext(t.Context(), "SELECT 1")
		require.Error(t, err)
		assert.Equal(t, elsewhere(retry.CauseTooManyConnections), retry.OfRead(err), err.Error())
		assert.Equal(t, retry.NeverSent, retry.OfWrite(err), err.Error())

		stranger := openPool(t, fmt.Sprintf("host=127.0.0.1 port=%d user=stranger password=x dbname=postgres sslmode=disable", p.Replica(0).Port()))
		_, err = stranger.ExecContext(t.Context(), "SELECT 1")
		require.Error(t, err)
		assert.Equal(t, elsewhere(retry.CauseConfiguration), retry.OfRead(err), err.Error())
	})
}

// Every way in which a replica goes, met by a read in flight and by one on a pooled connection: always elsewhere, and
// what was known of the server is void.
func TestReplicaGoes(t *testing.T) {
	p := startPair(t)
	replica := p.Replica(0)
	terminate := func(ctx context.Context) (testenv.Undo, error) {
		_, err := p.replica.ExecContext(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'")
		return func() error { return nil }, err
	}
	for name, fault := range map[string]func(context.Context) (testenv.Undo, error){
		"terminate": terminate, "stop": replica.Stop, "kill": replica.Kill, "crash": replica.CrashBackend,
	} {
		t.Run(name, func(t *testing.T) {
			victims := openPool(t, replica.DSN()+" application_name=victim")
			victims.SetMaxOpenConns(2)
			idle, err := victims.Conn(t.Context())
			require.NoError(t, err)
			require.NoError(t, idle.PingContext(t.Context()))
			inFlight := make(chan error, 1)
			go func() { inFlight <- read(t.Context(), victims, "SELECT pg_sleep(60)") }()
			until(t, p.replica, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name = 'victim'")

			undo, err := fault(t.Context())
			require.NoError(t, err)
			gone := func(err error) {
				t.Helper()
				require.Error(t, err)
				v := retry.OfAttempt(t.Context(), t.Context(), err)
				assert.Equal(t, retry.Elsewhere, v.Action, "%v: %v", v.Cause, err)
				assert.True(t, v.ServerSuspect, "%v: %v", v.Cause, err)
				assert.False(t, v.CountsAsWrite)
				assert.Contains(t, []retry.Cause{retry.CauseTerminated, retry.CauseConnection, retry.CauseStarting}, v.Cause)
			}
			gone(<-inFlight)
			require.Eventually(t, func() bool { // the postmaster ends one backend after the other
				err = read(t.Context(), idle, "SELECT 1")
				return err != nil
			}, patience, tick)
			gone(err)
			_ = idle.Close()
			if name == "stop" || name == "kill" {
				err = read(t.Context(), victims, "SELECT 1")
				gone(err)
				assert.Equal(t, retry.NeverSent, retry.OfWrite(err), "no connection: %v", err)
			}
			require.NoError(t, undo())
			until(t, openPool(t, replica.DSN()), "SELECT 1")
		})
	}
}

// A frozen server returns no error, until somebody gives up on it.
func TestFrozenReplica(t *testing.T) {
	p := startPair(t)
	conn, err := p.replica.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	undo, err := p.Replica(0).Freeze(t.Context())
	require.NoError(t, err)

	attempt, breakOff := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- read(attempt, conn, "SELECT 1") }()
	breakOff(retry.ErrServerDead)
	err = <-ended
	require.Error(t, err) // context.Canceled, or driver.ErrBadConn where the statement had not been sent yet
	assert.Equal(t, suspect(retry.CauseServerDead), retry.OfAttempt(t.Context(), attempt, err))
	require.NoError(t, undo())
}
