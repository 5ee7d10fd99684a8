package readsplit_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// R13: read-only transactions, on replicas that stand still from the moment on at
// which a test says so.
func TestR13ReadOnlyTransactions(t *testing.T) {
	c := cluster(t)
	for _, prepared := range []bool{false, true} {
		t.Run(fmt.Sprintf("PrepareStmt %v", prepared), func(t *testing.T) {
			d := newDB(t, c, configured(boundless), gormConfigured(func(c *gorm.Config) { c.PrepareStmt = prepared }))
			counters(t, d, 1)
			testReadOnlyTransactions(t, d)
		})
	}
}

func testReadOnlyTransactions(t *testing.T, d *testDB) {
	type row struct {
		N        int
		Server   string
		ReadOnly string
	}
	read := func(t *testing.T, tx *gorm.DB) (r row) {
		t.Helper()
		require.NoError(t, tx.Raw("SELECT n, current_setting('cluster_name') AS server, current_setting('transaction_read_only') AS read_only FROM counters WHERE id = ?", 1).Scan(&r).Error)
		require.Equal(t, "on", r.ReadOnly)
		return r
	}
	begin := func(t *testing.T, db *gorm.DB, level sql.IsolationLevel) *gorm.DB {
		t.Helper()
		tx := db.Begin(&sql.TxOptions{ReadOnly: true, Isolation: level})
		require.NoError(t, tx.Error)
		return tx
	}
	n := 0
	write := func(t *testing.T, db *gorm.DB) {
		t.Helper()
		n++
		require.NoError(t, db.Exec("UPDATE counters SET n = ? WHERE id = 1", n).Error)
	}
	// user is a session that replicas serve.
	user := func(t *testing.T) *gorm.DB {
		t.Helper()
		require.NoError(t, d.cluster.WaitCaughtUp(t.Context()))
		db := d.WithContext(readsplit.WithSession(t.Context(), readsplit.NewSession()))
		replicasServe(t, db)
		return db
	}

	t.Run("read committed follows later writes", func(t *testing.T) {
		for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted} {
			db := user(t)
			tx := begin(t, db, level)
			first := read(t, tx)
			require.NotEqual(t, "primary", first.Server)
			again := read(t, tx)
			assert.Equal(t, first, again, "it stays where it is")
			undo := still(t, d.cluster)
			write(t, db) // the same session, outside
			later := read(t, tx)
			assert.Equal(t, row{n, "primary", "on"}, later)
			require.NoError(t, tx.Commit().Error)
			undo()
		}
	})
	t.Run("repeatable read keeps its snapshot", func(t *testing.T) {
		db := user(t)
		tx := begin(t, db, sql.LevelRepeatableRead)
		first := read(t, tx)
		require.NotEqual(t, "primary", first.Server)
		write(t, db)
		require.NoError(t, d.cluster.WaitCaughtUp(t.Context()))
		assert.Equal(t, first, read(t, tx), "the server has the write, the snapshot has not")
		require.NoError(t, tx.Commit().Error)
		next := begin(t, db, sql.LevelRepeatableRead)
		assert.Equal(t, n, read(t, next).N)
		require.NoError(t, next.Commit().Error)
	})
	t.Run("repeatable read checks first", func(t *testing.T) {
		db := user(t)
		undo := still(t, d.cluster)
		defer undo()
		// The check counts when the snapshot is taken, not at Begin.
		tx := begin(t, db, sql.LevelRepeatableRead)
		write(t, db)
		assert.Equal(t, row{n, "primary", "on"}, read(t, tx))
		require.NoError(t, tx.Rollback().Error)
	})
	t.Run("serializable is the primary's", func(t *testing.T) {
		tx := begin(t, user(t), sql.LevelSerializable)
		assert.Equal(t, "primary", read(t, tx).Server)
		require.NoError(t, tx.Commit().Error)
	})
	t.Run("first statement is not a read", func(t *testing.T) {
		tx := begin(t, user(t), sql.LevelDefault)
		require.NoError(t, tx.Exec("SELECT pg_sleep(0)").Error)
		assert.Equal(t, "primary", read(t, tx).Server)
		require.Error(t, tx.Exec("UPDATE counters SET n = 0").Error, "it is still read-only")
		require.NoError(t, tx.Rollback().Error)
	})
	t.Run("later statement is not a read", func(t *testing.T) {
		tx := begin(t, user(t), sql.LevelDefault)
		require.NotEqual(t, "primary", read(t, tx).Server)
		require.ErrorIs(t, tx.Exec("SELECT pg_sleep(0)").Error, readsplit.ErrWriteInReadOnlyTransaction)
		require.ErrorIs(t, tx.Exec("UPDATE counters SET n = 0 WHERE id = ?", 1).Error, readsplit.ErrWriteInReadOnlyTransaction)
		var got int
		require.ErrorIs(t, tx.Raw("UPDATE counters SET n = 0 WHERE id = ? RETURNING n", 1).Scan(&got).Error, readsplit.ErrWriteInReadOnlyTransaction)
		require.NotEqual(t, "primary", read(t, tx).Server, "nothing was sent: it goes on")
		require.NoError(t, tx.Rollback().Error)
	})
	t.Run("what it was made goes with it", func(t *testing.T) {
		for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelRepeatableRead} {
			db := user(t)
			tx := begin(t, db, level)
			setting := func(name string) (value string) {
				t.Helper()
				require.NoError(t, tx.Raw("SELECT coalesce(current_setting(?, true), '') FROM counters WHERE id = 1", name).Scan(&value).Error)
				return value
			}
			if level == sql.LevelDefault {
				require.NoError(t, tx.Exec("SET LOCAL app.tenant = 'seven'").Error)
			} else {
				require.NoError(t, tx.Raw("SELECT set_config(?, ?, true)", "app.tenant", "seven").Scan(new(string)).Error)
			}
			require.NoError(t, tx.SavePoint("a").Error)
			require.NoError(t, tx.Exec("SET LOCAL app.other = 'lost'").Error)
			require.NoError(t, tx.RollbackTo("a").Error)
			if level == sql.LevelDefault {
				require.NotEqual(t, "primary", read(t, tx).Server)
				require.Equal(t, "seven", setting("app.tenant"))
			}
			undo := still(t, d.cluster)
			write(t, db) // the same session, outside
			assert.Equal(t, row{n, "primary", "on"}, read(t, tx), "level %v", level)
			assert.Equal(t, "seven", setting("app.tenant"))
			assert.Empty(t, setting("app.other"))
			require.NoError(t, tx.Commit().Error)
			undo()
		}
	})
	t.Run("is not retried", func(t *testing.T) {
		tx := begin(t, user(t), sql.LevelDefault)
		r := d.cluster.Server(read(t, tx).Server)
		execOn(t, r, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND state = 'idle in transaction'", d.name)
		eventually(t, "the backend to end", func() bool {
			return ask[int](t, r, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND state = 'idle in transaction'", d.name) == 0
		})
		require.Error(t, tx.Raw("SELECT n FROM counters WHERE id = ?", 1).Scan(new(int)).Error)
		_ = tx.Rollback() // the connection is gone
	})
	t.Run("the session's own transaction", func(t *testing.T) {
		db := user(t)
		undo := still(t, d.cluster)
		defer undo()
		write(t, db)
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			assert.Equal(t, row{n, "primary", "on"}, read(t, tx))
			return nil
		}, &sql.TxOptions{ReadOnly: true}))
		other := d.WithContext(readsplit.WithSession(t.Context(), readsplit.NewSession()))
		require.NoError(t, other.Transaction(func(tx *gorm.DB) error {
			assert.NotEqual(t, "primary", read(t, tx).Server)
			return nil
		}, &sql.TxOptions{ReadOnly: true}))
	})
}
