package retry_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/testenv"
)

// Every kind of conflict with recovery that PostgreSQL knows, on a real standby: what its error says is what the
// standby's own statistics count.
func TestConflictsOnAStandby(t *testing.T) {
	p := startPairWith(t, testenv.Setting("allow_in_place_tablespaces", "on"), testenv.Setting("deadlock_timeout", "50ms"))
	p.do(t, "CREATE TABLE other (a int)")
	p.do(t, "CREATE DATABASE doomed")
	require.NoError(t, p.WaitCaughtUp(t.Context()))

	counted := func(kind retry.ConflictKind) (n int64) {
		column := map[retry.ConflictKind]string{
			retry.ConflictSnapshot: "confl_snapshot", retry.ConflictLock: "confl_lock", retry.ConflictBufferPin: "confl_bufferpin",
			retry.ConflictTablespace: "confl_tablespace", retry.ConflictDeadlock: "confl_deadlock",
		}[kind]
		require.NoError(t, p.replica.QueryRowContext(t.Context(), "SELECT sum("+column+") FROM pg_stat_database_conflicts").Scan(&n))
		return n
	}
	const sleeping = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
	delay := func(text string) {
		_, err := p.replica.ExecContext(t.Context(), "ALTER SYSTEM SET max_standby_streaming_delay = '"+text+"'")
		require.NoError(t, err)
		_, err = p.replica.ExecContext(t.Context(), "SELECT pg_reload_conf()")
		require.NoError(t, err)
		until(t, p.replica, "SELECT 1 WHERE current_setting('max_standby_streaming_delay') = $1", text)
	}
	// inTx runs statements in one transaction of the standby, the last of which is to be cancelled.
	inTx := func(statements ...string) <-chan error {
		ended := make(chan error, 1)
		go func() {
			tx, err := p.replica.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
			for i := 0; err == nil && i < len(statements); i++ {
				err = read(context.Background(), tx, statements[i])
			}
			if tx != nil {
				_ = tx.Rollback()
			}
			ended <- err
		}()
		return ended
	}
	// A page with room for a cleanup that concerns no snapshot: its rows were never committed.
	aborted := func(table string) {
		p.do(t, "CREATE TABLE "+table+" (a int, b int)")
		p.do(t, "INSERT INTO "+table+" VALUES (1, 0)")
		tx, err := p.primary.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "INSERT INTO "+table+"(a) SELECT generate_series(1, 100)")
		require.NoError(t, err)
		require.NoError(t, tx.Rollback())
		p.do(t, "INSERT INTO "+table+" VALUES (2, 0)")
		require.NoError(t, p.WaitCaughtUp(t.Context()))
	}

	for _, tt := range []struct {
		kind    retry.ConflictKind
		provoke func(t *testing.T) error
	}{
		{retry.ConflictSnapshot, func(t *testing.T) error {
			ended := inTx("SELECT count(*), pg_sleep(60) FROM orders")
			until(t, p.replica, sleeping)
			p.do(t, "DELETE FROM orders WHERE id BETWEEN 10 AND 20")
			p.do(t, "VACUUM orders")
			return <-ended
		}},
		{retry.ConflictLock, func(t *testing.T) error {
			ended := inTx("SELECT count(*) FROM other", "SELECT pg_sleep(60)")
			until(t, p.replica, sleeping)
			p.do(t, "ALTER TABLE other ADD COLUMN b int")
			return <-ended
		}},
		{retry.ConflictBufferPin, func(t *testing.T) error {
			aborted("pinned")
			ended := inTx("DECLARE c CURSOR FOR SELECT b FROM pinned", "FETCH FORWARD FROM c", "SELECT pg_sleep(60)")
			until(t, p.replica, sleeping)
			p.do(t, "VACUUM FREEZE pinned")
			return <-ended
		}},
		{retry.ConflictTablespace, func(t *testing.T) error {
			p.do(t, "CREATE TABLESPACE elsewhere LOCATION ''")
			require.NoError(t, p.WaitCaughtUp(t.Context()))
			ended := inTx("SET LOCAL work_mem = '64kB'", "SET LOCAL temp_tablespaces = 'elsewhere'",
				"DECLARE c CURSOR FOR SELECT i FROM generate_series(1, 100000) i ORDER BY i DESC", "FETCH FORWARD FROM c", "SELECT pg_sleep(60)")
			until(t, p.replica, sleeping)
			p.do(t, "DROP TABLESPACE elsewhere")
			return <-ended
		}},
		{retry.ConflictDeadlock, func(t *testing.T) error {
			delay("-1")
			defer delay("0")
			aborted("stuck")
			lock, err := p.primary.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			defer func() { _ = lock.Rollback() }()
			_, err = lock.ExecContext(t.Context(), "LOCK TABLE other")
			require.NoError(t, err)
			p.do(t, "SELECT pg_current_xact_id()")
			until(t, p.replica, "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'other'::regclass")
			ended := inTx("DECLARE c CURSOR FOR SELECT a FROM stuck", "FETCH FORWARD FROM c", "SELECT * FROM other")
			until(t, p.replica, "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'other'::regclass")
			p.do(t, "VACUUM FREEZE stuck")
			return <-ended
		}},
	} {
		t.Run(tt.kind.String(), func(t *testing.T) {
			before := counted(tt.kind)
			err := tt.provoke(t)
			require.Error(t, err)
			assert.Equal(t, tt.kind, retry.ConflictOf(err), "%v", err)
			assert.Equal(t, elsewhere(retry.CauseRecoveryConflict), retry.OfRead(err), "%v", err)
			until(t, p.replica, fmt.Sprintf("SELECT 1 FROM pg_stat_database_conflicts HAVING sum(confl_%s) > %d", statisticsName(tt.kind), before))
		})
	}

	t.Run("database", func(t *testing.T) {
		there := openPool(t, p.Replica(0).DSNFor("doomed"))
		ended := make(chan error, 1)
		go func() { ended <- read(context.Background(), there, "SELECT pg_sleep(60)") }()
		until(t, p.replica, sleeping)
		p.do(t, "DROP DATABASE doomed")
		err := <-ended
		require.Error(t, err)
		assert.Equal(t, retry.ConflictDatabase, retry.ConflictOf(err), "%v", err)
		assert.Equal(t, primary(retry.CauseTerminated), retry.OfRead(err), "%v", err)
	})

	// An idle transaction is ended with its connection.
	t.Run("idle in a transaction", func(t *testing.T) {
		tx, err := p.replica.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
		require.NoError(t, err)
		defer func() { _ = tx.Rollback() }()
		require.NoError(t, read(t.Context(), tx, "SELECT count(*) FROM orders"))
		require.Eventually(t, func() bool { // VACUUM skips a page that somebody else has pinned
			p.do(t, "UPDATE orders SET note = note WHERE id BETWEEN 30 AND 40")
			p.do(t, "VACUUM orders")
			require.NoError(t, p.WaitCaughtUp(t.Context()))
			err = read(t.Context(), tx, "SELECT 1")
			return err != nil
		}, patience, tick)
		require.Error(t, err)
		assert.Equal(t, retry.ConflictSnapshot, retry.ConflictOf(err), "%v", err)
		assert.Equal(t, retry.Elsewhere, retry.OfRead(err).Action)
	})
}

func statisticsName(k retry.ConflictKind) string {
	if k == retry.ConflictBufferPin {
		return "bufferpin"
	}
	return k.String()
}
