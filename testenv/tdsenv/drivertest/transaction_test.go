package drivertest

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
)

type account struct {
	ID      uint `gorm:"primaryKey;autoIncrement:false"`
	Balance int64
}

func bank(t *testing.T) *gorm.DB {
	t.Helper()
	db := open(t, alone(t).DSN()).WithContext(limit(t))
	require.NoError(t, db.AutoMigrate(&account{}))
	require.NoError(t, db.Create(&[]account{{1, 100}, {2, 100}}).Error)
	return db
}

func balance(t *testing.T, db *gorm.DB, id uint) int64 {
	t.Helper()
	var a account
	require.NoError(t, db.First(&a, id).Error)
	return a.Balance
}

// number is the error number that readsplit looks at.
func number(t *testing.T, err error) int32 {
	t.Helper()
	var e interface{ SQLErrorNumber() int32 }
	require.ErrorAs(t, err, &e)
	return e.SQLErrorNumber()
}

func TestTransactionsAndSavepoints(t *testing.T) {
	db := bank(t)
	boom := errors.New("boom")
	err := db.Transaction(func(tx *gorm.DB) error {
		require.NoError(t, tx.Model(&account{}).Where("id = ?", 1).Update("balance", 0).Error)
		require.EqualValues(t, 0, balance(t, tx, 1))
		require.EqualValues(t, 100, balance(t, db, 1), "others see what is committed")
		return boom
	})
	require.ErrorIs(t, err, boom)
	require.EqualValues(t, 100, balance(t, db, 1))

	require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
		require.NoError(t, tx.Model(&account{}).Where("id = ?", 1).Update("balance", 1).Error)
		require.ErrorIs(t, tx.Transaction(func(inner *gorm.DB) error { // SAVE and ROLLBACK TRANSACTION
			require.NoError(t, inner.Model(&account{}).Where("id = ?", 2).Update("balance", 2).Error)
			return boom
		}), boom)
		return tx.Create(&account{3, 3}).Error
	}))
	require.EqualValues(t, 1, balance(t, db, 1))
	require.EqualValues(t, 100, balance(t, db, 2))
	require.EqualValues(t, 3, balance(t, db, 3))

	// A violation ends its statement, and not the transaction.
	require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
		require.EqualValues(t, 2627, number(t, tx.Create(&account{1, 1}).Error))
		return tx.Create(&account{4, 4}).Error
	}))
	require.EqualValues(t, 4, balance(t, db, 4))
}

// A driver that is told of an abort that it did not ask for refuses to go on.
func TestXactAbort(t *testing.T) {
	ctx, db := limit(t), bank(t)
	raw, err := db.DB()
	require.NoError(t, err)
	tx, err := raw.BeginTx(ctx, nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(ctx, "SET XACT_ABORT ON; INSERT INTO accounts VALUES (9, 9); INSERT INTO accounts VALUES (9, 9)")
	require.EqualValues(t, 2627, number(t, err))
	_, err = tx.ExecContext(ctx, "SELECT 1")
	require.ErrorContains(t, err, "aborted by the server")
	require.Error(t, tx.Commit())
	var n int
	require.NoError(t, raw.QueryRowContext(ctx, "SELECT count(*) FROM accounts WHERE id = 9").Scan(&n))
	require.Zero(t, n)
}

func TestNoUpdateIsLost(t *testing.T) {
	db := bank(t)
	var clients sync.WaitGroup
	errs := make(chan error, 8*25)
	for range 8 {
		clients.Go(func() {
			for range 25 {
				errs <- db.Model(&account{}).Where("id = ?", 1).Update("balance", gorm.Expr("balance + 1")).Error
			}
		})
	}
	clients.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.EqualValues(t, 300, balance(t, db, 1))
}

func TestDeadlockHasAVictim(t *testing.T) {
	ctx, db := limit(t), bank(t)
	raw, err := db.DB()
	require.NoError(t, err)
	var txs [2]*sql.Tx
	for i := range txs {
		txs[i], err = raw.BeginTx(ctx, nil)
		require.NoError(t, err)
		_, err = txs[i].ExecContext(ctx, "UPDATE accounts SET balance = 0 WHERE id = @p1", i+1)
		require.NoError(t, err)
	}
	results := make(chan error, 2)
	for i, tx := range txs {
		go func() {
			_, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = 1 WHERE id = @p1", 2-i)
			if err == nil {
				err = tx.Commit()
			}
			results <- err
		}()
	}
	first, second := <-results, <-results
	if first == nil {
		first, second = second, first
	}
	require.EqualValues(t, 1205, number(t, first))
	require.NoError(t, second)
}

func TestLockTimeoutAndHints(t *testing.T) {
	ctx, db := limit(t), bank(t)
	raw, err := db.DB()
	require.NoError(t, err)
	tx, err := raw.BeginTx(ctx, nil)
	require.NoError(t, err)
	var b int64
	require.NoError(t, tx.QueryRowContext(ctx, "SELECT balance FROM accounts WITH (UPDLOCK, ROWLOCK) WHERE id = @p1", 1).Scan(&b))
	require.EqualValues(t, 100, b)
	_, err = raw.ExecContext(ctx, "SET LOCK_TIMEOUT 1; UPDATE accounts SET balance = 7 WHERE id = 1")
	require.EqualValues(t, 1222, number(t, err))
	require.NoError(t, tx.Commit())
	_, err = raw.ExecContext(ctx, "UPDATE accounts SET balance = 7 WHERE id = 1")
	require.NoError(t, err)
}

func TestSnapshotConflict(t *testing.T) {
	ctx, db := limit(t), bank(t)
	raw, err := db.DB()
	require.NoError(t, err)
	tx, err := raw.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSnapshot})
	require.NoError(t, err)
	var b int64
	require.NoError(t, tx.QueryRowContext(ctx, "SELECT balance FROM accounts WHERE id = 1").Scan(&b))
	require.NoError(t, db.Model(&account{}).Where("id = ?", 1).Update("balance", 5).Error)
	require.NoError(t, tx.QueryRowContext(ctx, "SELECT balance FROM accounts WHERE id = 1").Scan(&b))
	require.EqualValues(t, 100, b)
	_, err = tx.ExecContext(ctx, "UPDATE accounts SET balance = balance + 1 WHERE id = 1")
	require.EqualValues(t, 3960, number(t, err))
	require.NoError(t, tx.Rollback())
	_, err = raw.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	require.ErrorContains(t, err, "read-only", "the driver's own refusal")
}

// A cancelled statement gives its connection back: attention and its answer.
func TestCancel(t *testing.T) {
	db := bank(t)
	raw, err := db.DB()
	require.NoError(t, err)
	raw.SetMaxOpenConns(1)
	spid := func() (n int) {
		require.NoError(t, raw.QueryRowContext(limit(t), "SELECT @@SPID").Scan(&n))
		return n
	}
	before := spid()
	for range 5 {
		ctx, cancel := context.WithCancel(limit(t))
		done := make(chan error, 1)
		go func() { done <- db.WithContext(ctx).Exec("WAITFOR DELAY '00:10:00'").Error }()
		require.Eventually(t, func() bool { return raw.Stats().InUse == 1 }, limitFor, tick)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	}
	require.Equal(t, before, spid(), "the connection has lived on")

	// In a transaction the wait ends, the transaction does not.
	tx, err := raw.BeginTx(limit(t), nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(limit(t))
	cancel()
	_, err = tx.ExecContext(ctx, "WAITFOR DELAY '00:10:00'")
	require.ErrorIs(t, err, context.Canceled)
	_, err = tx.ExecContext(limit(t), "UPDATE accounts SET balance = 6 WHERE id = 1")
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	require.EqualValues(t, 6, balance(t, db, 1))
}

func TestErrorsAreTheServers(t *testing.T) {
	ctx, db := limit(t), bank(t)
	raw, err := db.DB()
	require.NoError(t, err)
	for query, want := range map[string]int32{
		"SELEC 1":                                               102,
		"SELECT nothing FROM accounts":                          207,
		"SELECT * FROM nothing":                                 208,
		"SELECT PIVOT(1)":                                       195,
		"EXEC sp_rename 'a', 'b'":                               2812,
		"SELECT 1/0":                                            8134,
		"SELECT CAST('x' AS int)":                               245,
		"INSERT INTO accounts (id) VALUES (NULL)":               515,
		"INSERT INTO accounts VALUES (1, 1)":                    2627,
		"COMMIT TRANSACTION":                                    3902,
		"THROW 50001, 'mine', 1":                                50001,
		"SELECT id, count(*) FROM accounts":                     8120,
		"CREATE TABLE #t (id int)":                              102,
		"SELECT * FROM accounts OPTION (RECOMPILE)":             102,
		"CREATE TRIGGER x ON accounts AFTER INSERT AS SELECT 1": 102,
	} {
		_, err := raw.ExecContext(ctx, query)
		require.Error(t, err, query)
		require.Equal(t, want, number(t, err), query)
	}
	var e mssql.Error
	_, err = raw.ExecContext(ctx, "SELECT * FROM nothing")
	require.ErrorAs(t, err, &e)
	require.Equal(t, uint8(16), e.Class)
	require.Equal(t, "SQL1", e.ServerName)
	require.Contains(t, e.Message, "nothing")
}
