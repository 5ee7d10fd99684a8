package readsplit

import (
	"context"
	"database/sql"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/lsn"
)

// MarkWrite says that the session of ctx, or this process where ctx has none,
// has written on a way that the plugin cannot see (the *sql.DB of db.DB(), a
// stored procedure's dblink, another library). Call it after the commit: every
// later read of the session sees what was committed before the call. It concerns
// every plugin of the process.
func MarkWrite(ctx context.Context) {
	for _, rt := range plugins.all() {
		rt.wrote(marksOf(ctx), true, false, lsn.History{})
	}
}

// SQLTx returns the *sql.Tx of a transaction, for code that needs it. ok is
// false outside of a transaction, and in a read-only one on a replica that has
// not run a statement yet.
func SQLTx(tx *gorm.DB) (sqlTx *sql.Tx, ok bool) {
	if tx == nil || tx.Statement == nil {
		return nil, false
	}
	switch pool, _ := unwrap(tx.Statement.ConnPool); pool := pool.(type) {
	case *trackedTx:
		if pool == nil {
			return nil, false // Begin has failed
		}
		sqlTx, ok = pool.inner.(*sql.Tx)
		if ok {
			// What is done with it is not seen: it counts as a write, and if it is
			// not the handle that ends it, its end has to be found out.
			pool.wrote.Store(true)
			pool.commitsAsync()
			pool.out.Store(true)
			pool.router.handedOut(sqlTx, pool)
		}
	case *readOnlyTx:
		if pool == nil {
			return nil, false
		}
		pool.mu.Lock()
		defer pool.mu.Unlock()
		if pool.primary == nil {
			return pool.replica, pool.replica != nil
		}
		sqlTx, ok = pool.primary.inner.(*sql.Tx)
	case *sql.Tx:
		return pool, true
	}
	return sqlTx, ok
}
