package readsplit_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// A read-only transaction does what it does without the plugin, whatever comes
// first in it; only what is not a read, after a read on a replica, is refused.
func TestReadOnlyTransactionsAsWithoutThePlugin(t *testing.T) {
	x := newTrap(t)
	require.NoError(t, x.Exec("CREATE FUNCTION vol() RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1'").Error)
	require.NoError(t, x.Exec("CREATE UNLOGGED TABLE fleeting AS SELECT 1 AS n").Error)
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
	known(t, x.plugin)
	plain := openGORM(t, x, false)
	const read = "SELECT count(*) FROM books"
	for name, run := range map[string]struct {
		statements []string
		refused    bool
	}{
		"serializable":       {statements: []string{"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", read}},
		"repeatable read":    {statements: []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", read}},
		"by a setting":       {statements: []string{"SET LOCAL transaction_isolation = 'serializable'", read}},
		"read write":         {statements: []string{"SET TRANSACTION READ WRITE", read}},
		"read only":          {statements: []string{"SET TRANSACTION READ ONLY", read}},
		"constraints":        {statements: []string{"SET CONSTRAINTS ALL DEFERRED", read}},
		"set, then a call":   {statements: []string{"SET LOCAL statement_timeout = '5s'", "SELECT vol()"}},
		"save, then a call":  {statements: []string{"SAVEPOINT a", "SELECT vol()", "ROLLBACK TO a"}},
		"set, then unlogged": {statements: []string{"SET LOCAL statement_timeout = '5s'", "SELECT n FROM fleeting"}},
		"a call after":       {statements: []string{read, "SELECT vol()"}, refused: true},
		"a cursor after":     {statements: []string{read, "DECLARE c CURSOR FOR SELECT 1"}, refused: true},
		"a setting after":    {statements: []string{read, "SET application_name = 'x'"}, refused: true},
	} {
		in := func(db *gorm.DB) error {
			tx := db.Begin(&sql.TxOptions{ReadOnly: true})
			defer tx.Rollback()
			for _, s := range run.statements {
				if err := tx.Exec(s).Error; err != nil {
					return err
				}
			}
			return tx.Commit().Error
		}
		require.NoError(t, in(plain), name)
		db, _ := x.session()
		if err := in(db); run.refused {
			assert.ErrorIs(t, err, readsplit.ErrWriteInReadOnlyTransaction, name)
		} else {
			assert.NoError(t, err, name)
		}
	}
}

// A transaction that says in its text that it is REPEATABLE READ keeps its snapshot.
func TestReadOnlyTransactionKeepsItsSnapshot(t *testing.T) {
	x := newTrap(t)
	db, ctx := x.session()
	tx := db.Begin(&sql.TxOptions{ReadOnly: true})
	defer tx.Rollback()
	require.NoError(t, tx.Exec("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").Error)
	count := func() (n int64) {
		t.Helper()
		require.NoError(t, tx.Raw("SELECT count(*) FROM books").Scan(&n).Error)
		return n
	}
	before := count()
	x.stale(t)
	require.NoError(t, x.WithContext(ctx).Create(&book{Title: "three", AuthorID: 1}).Error)
	require.Equal(t, before, count())
}

// What failed, and was undone by going back to a savepoint, is not run again when
// the transaction moves to the primary.
func TestReadOnlyTransactionForgetsWhatFailed(t *testing.T) {
	x := newTrap(t)
	db, ctx := x.session()
	tx := db.Begin(&sql.TxOptions{ReadOnly: true})
	defer tx.Rollback()
	in := tx.Session(&gorm.Session{NewDB: true})
	require.NoError(t, in.Exec("SAVEPOINT a").Error)
	require.Error(t, in.Exec("SET LOCAL statement_timeout = 'rubbish'").Error)
	require.NoError(t, in.Exec("ROLLBACK TO a").Error)
	require.NoError(t, in.Exec("SET LOCAL app.tenant = 'seven'").Error)
	reads(t, in, false, "one")
	x.stale(t)
	require.NoError(t, x.WithContext(ctx).Create(&book{Title: "three", AuthorID: 1}).Error)
	reads(t, in, true, "one", "two", "three")
	var tenant string
	require.NoError(t, in.Raw("SELECT current_setting('app.tenant')").Scan(&tenant).Error)
	require.Equal(t, "seven", tenant)
}

// What set_config stands beside in its statement is not forgotten for it.
func TestSetConfigHidesNoWrite(t *testing.T) {
	x := newTrap(t)
	require.NoError(t, x.Exec("CREATE FUNCTION add() RETURNS int LANGUAGE sql VOLATILE AS 'INSERT INTO books_t (title) VALUES (''added'') RETURNING 1'").Error)
	require.NoError(t, x.Exec("CREATE VIEW adding AS SELECT add() AS n").Error)
	known(t, x.plugin)
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
	x.stale(t)
	ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
	db := x.WithContext(readsplit.Stale(ctx))
	require.NoError(t, db.Raw("SELECT set_config('app.x', '1', true), n FROM adding").Scan(&map[string]any{}).Error)
	reads(t, db, true, "one", "two", "added")
}
