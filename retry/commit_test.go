package retry_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/retry"
)

// How writes end on a real primary, and whether they happened.
func TestOutcomesOnAPrimary(t *testing.T) {
	p := startPair(t)
	p.do(t, "CREATE TABLE payments (id bigint PRIMARY KEY, order_id bigint REFERENCES orders DEFERRABLE INITIALLY DEFERRED)")
	outcome := retry.OfWrite
	exec := func(ctx context.Context, text string) error {
		_, err := p.primary.ExecContext(ctx, text)
		return err
	}

	assert.Equal(t, retry.Committed, outcome(exec(t.Context(), "INSERT INTO payments VALUES (1, 1)")))
	assert.Equal(t, retry.RolledBack, outcome(exec(t.Context(), "INSERT INTO payments VALUES (1, 1)")))
	assert.Equal(t, retry.RolledBack, outcome(exec(t.Context(), "INSERT INTO no_table VALUES (1)")))
	assert.Equal(t, retry.RolledBack, outcome(exec(t.Context(), "INSERT INTO payments VALUES (2, -1)")), "deferred, at the end of an autocommit")

	tx, err := p.primary.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "INSERT INTO payments VALUES (3, -1)")
	require.NoError(t, err)
	assert.Equal(t, retry.RolledBack, outcome(tx.Commit()), "deferred, at COMMIT")
	assert.Equal(t, retry.NeverSent, outcome(tx.Commit()), "a second COMMIT")

	tx, err = p.primary.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "INSERT INTO payments VALUES (1, 1)")
	require.Error(t, err)
	assert.Equal(t, retry.RolledBack, outcome(tx.Commit()), "COMMIT of a transaction that had failed")

	var n int
	require.NoError(t, p.primary.QueryRowContext(t.Context(), "SELECT count(*) FROM payments").Scan(&n))
	assert.Equal(t, 1, n)
}

// A commit that waits for a synchronous replica is on disk. Whoever breaks off the wait gets an error, and the row is
// there: the outcome is unknown, never "rolled back".
func TestCommitBrokenOffWhileItWaitsForAReplica(t *testing.T) {
	p := startPair(t)
	admin, err := p.primary.Conn(t.Context())
	require.NoError(t, err)
	defer admin.Close()
	set := func(standbys string) {
		for _, text := range []string{"ALTER SYSTEM SET synchronous_standby_names = '" + standbys + "'", "SELECT pg_reload_conf()"} {
			_, err := admin.ExecContext(t.Context(), text)
			require.NoError(t, err)
		}
		until(t, p.primary, "SELECT 1 WHERE current_setting('synchronous_standby_names') = $1", standbys)
	}
	_, err = admin.ExecContext(t.Context(), "SET synchronous_commit = local")
	require.NoError(t, err)

	cancelIt := func(cancel context.CancelFunc) { cancel() }
	terminateIt := func(context.CancelFunc) {
		_, err := admin.ExecContext(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
		require.NoError(t, err)
	}
	insert := "INSERT INTO orders VALUES ($1, 'sync')"
	autocommit := func(ctx context.Context, id int) error {
		_, err := p.primary.ExecContext(ctx, insert, id)
		return err
	}
	explicit := func(ctx context.Context, id int) error {
		tx, err := p.primary.BeginTx(ctx, &sql.TxOptions{})
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, insert, id); err != nil {
			return err
		}
		return tx.Commit()
	}
	set("nobody")
	id := 5000
	for name, write := range map[string]func(context.Context, int) error{"autocommit": autocommit, "COMMIT": explicit} {
		for how, breakOff := range map[string]func(context.CancelFunc){"cancelled": cancelIt, "terminated": terminateIt} {
			id++
			t.Run(name+" "+how, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan error, 1)
				go func() { ended <- write(ctx, id) }()
				until(t, p.primary, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
				breakOff(cancel)
				err := <-ended
				require.Error(t, err)
				assert.Equal(t, retry.Unknown, retry.OfWrite(err), err.Error())
				assert.True(t, retry.OfWrite(err).Happened())
				until(t, p.primary, "SELECT 1 FROM orders WHERE id = $1", id)
				_, err = admin.ExecContext(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
				require.NoError(t, err)
				require.Eventually(t, func() bool {
					var n int
					return admin.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").Scan(&n) == nil && n == 0
				}, patience, tick)
			})
		}
	}
	set("")
}
