package readsplit_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// writesInTransaction asserts that the transactions that db begins run on the
// primary, see what it has, and can write.
func writesInTransaction(t *testing.T, db *gorm.DB, title string) {
	t.Helper()
	require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
		require.Equal(t, "primary", served(t, tx))
		var seen []book
		require.NoError(t, tx.Where("title = ?", "two").Find(&seen).Error)
		require.Len(t, seen, 1)
		require.Equal(t, "primary", seen[0].Server)
		d, ok := readsplit.DecisionOf(tx)
		require.True(t, ok)
		require.Equal(t, readsplit.Decision{Server: "primary", Reason: policy.ReasonInTransaction, Attempts: 1}, d)
		return tx.Create(&book{Title: title}).Error
	}))
}

func TestT01TransactionsBegunFromReads(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)

		t.Run("AfterFind", func(t *testing.T) {
			ran := 0
			ctx := withHooks(hooks{"AfterFind": func(tx *gorm.DB) error {
				ran++
				writesInTransaction(t, tx, "hook")
				return nil
			}})
			session := readsplit.WithSession(ctx, readsplit.NewSession())
			var found hookedBook
			require.NoError(t, x.WithContext(session).First(&found).Error)
			onReplica(t, found.Server)
			require.Equal(t, 1, ran)
			reads(t, x.WithContext(session), true, "one", "two", "hook")
		})
		t.Run("FindInBatches", func(t *testing.T) {
			db, _ := x.session()
			ran := 0
			var batch []book
			require.NoError(t, db.FindInBatches(&batch, 10, func(tx *gorm.DB, _ int) error {
				ran++
				onReplica(t, batch[0].Server)
				writesInTransaction(t, tx, "batch")
				return nil
			}).Error)
			require.Equal(t, 1, ran)
			reads(t, db, true, "one", "two", "hook", "batch")
		})
		t.Run("result handle", func(t *testing.T) {
			db, _ := x.session()
			var found []book
			result := db.Find(&found)
			require.NoError(t, result.Error)
			onReplica(t, found[0].Server)
			writesInTransaction(t, result.Session(&gorm.Session{NewDB: true}), "result")
			tx := result.Session(&gorm.Session{NewDB: true}).Begin()
			require.NoError(t, tx.Error)
			require.Equal(t, "primary", served(t, tx))
			require.NoError(t, tx.Rollback().Error)
			reads(t, db, true, "one", "two", "hook", "batch", "result")
		})
	})
}

func TestT14SQLTx(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		db, _ := x.session()

		_, ok := readsplit.SQLTx(db)
		require.False(t, ok, "no transaction")
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			raw, ok := readsplit.SQLTx(tx)
			require.True(t, ok)
			var server string
			require.NoError(t, raw.QueryRow(whoSQL).Scan(&server))
			require.Equal(t, "primary", server)
			_, err := raw.Exec("INSERT INTO books (title) VALUES ('raw')")
			return err
		}))
		// What was done with it is not seen, and counts all the same.
		reads(t, db, true, "one", "two", "raw")

		readOnly := db.Begin(&sql.TxOptions{ReadOnly: true})
		require.NoError(t, readOnly.Error)
		_, ok = readsplit.SQLTx(readOnly)
		require.False(t, ok, "it begins with its first statement")
		other, _ := x.session()
		readOnly = other.Begin(&sql.TxOptions{ReadOnly: true})
		onReplica(t, served(t, readOnly))
		raw, ok := readsplit.SQLTx(readOnly)
		require.True(t, ok)
		var server string
		require.NoError(t, raw.QueryRow(whoSQL).Scan(&server))
		onReplica(t, server)
		require.NoError(t, readOnly.Rollback().Error)
	})
}

func TestT19SessionsOfATransaction(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		untouched, _ := x.session()

		t.Run("of Begin and of a statement", func(t *testing.T) {
			begun, _ := x.session()
			inside, ctx := x.session()
			require.NoError(t, begun.Transaction(func(tx *gorm.DB) error {
				return gorm.G[book](tx).Create(ctx, &book{Title: "both"})
			}))
			reads(t, begun, true, "one", "two", "both")
			reads(t, inside, true, "one", "two", "both")
			reads(t, untouched, false, "one")
		})
		t.Run("lost in a hook", func(t *testing.T) {
			hooked := withHooks(hooks{"AfterSave": func(tx *gorm.DB) error {
				lost := tx.Session(&gorm.Session{NewDB: true, Context: context.Background()})
				return lost.Create(&book{Title: "lost"}).Error
			}})
			db := x.WithContext(readsplit.WithSession(hooked, readsplit.NewSession()))
			require.NoError(t, db.Create(&hookedBook{Title: "hooked"}).Error)
			reads(t, db, true, "one", "two", "both", "hooked", "lost")
			reads(t, untouched, false, "one")
		})
		t.Run("bypassing callbacks", func(t *testing.T) {
			begun, _ := x.session()
			inside, ctx := x.session()
			require.NoError(t, begun.Transaction(func(tx *gorm.DB) error {
				_, err := tx.Statement.ConnPool.ExecContext(ctx, "UPDATE books SET title = 'changed' WHERE title = 'both'")
				return err
			}))
			reads(t, begun, true, "one", "two", "changed", "hooked", "lost")
			reads(t, inside, true, "one", "two", "changed", "hooked", "lost")
			reads(t, untouched, false, "one")
		})
		t.Run("none, and one", func(t *testing.T) {
			// What is written without a session concerns every session, although
			// the transaction has one too.
			other, ctx := x.session()
			require.NoError(t, x.Transaction(func(tx *gorm.DB) error {
				require.NoError(t, tx.Where("title <> ?", "two").Delete(&book{}).Error)
				return tx.WithContext(ctx).Create(&book{Title: "three"}).Error
			}))
			reads(t, other, true, "two", "three")
			reads(t, untouched, true, "two", "three")
		})
	})
}

func TestT30ConcurrentStatementsInOneTransaction(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		const writers = 8
		sessions := make([]*gorm.DB, writers)
		db, _ := x.session()
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			var all sync.WaitGroup
			for i := range writers {
				var ctx context.Context
				sessions[i], ctx = x.session()
				all.Go(func() {
					for range 5 {
						// By Exec: the driver allows no rows of two statements at a time.
						if err := tx.WithContext(ctx).Exec("INSERT INTO books (title) VALUES (?)", fmt.Sprintf("w%d", i)).Error; err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			return nil
		}))
		require.Len(t, x.titles(t), 2+5*writers)
		for _, s := range slices.Concat(sessions, []*gorm.DB{db}) {
			require.Equal(t, "primary", served(t, s))
		}
		other, _ := x.session()
		onReplica(t, served(t, other))
	})
}

func TestTokenAfterAbandonedTransaction(t *testing.T) {
	x := newTrap(t)
	session := readsplit.NewSession()
	ctx, cancel := context.WithCancel(readsplit.WithSession(context.Background(), session))
	defer cancel()
	tx := x.WithContext(ctx).Begin()
	require.NoError(t, tx.Error)
	require.NoError(t, tx.Create(&book{Title: "gone"}).Error)
	_, err := session.Token(context.Background())
	require.ErrorIs(t, err, readsplit.ErrTokenInTransaction)

	cancel() // database/sql rolls back; nobody calls Rollback
	eventually(t, "the session is let go of", func() bool {
		_, err = session.Token(context.Background())
		return !errors.Is(err, readsplit.ErrTokenInTransaction)
	})
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, x.titles(t))
}

func TestCommitAsText(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		db, _ := x.session()
		tx := db.Begin()
		require.NoError(t, tx.Create(&book{Title: "text"}).Error)
		reads(t, db, false, "one")
		require.NoError(t, tx.Exec("COMMIT").Error)
		reads(t, db, true, "one", "two", "text")
		_ = tx.Rollback() // nothing is left to roll back

		db, _ = x.session()
		tx = db.Begin()
		require.NoError(t, tx.Exec("ROLLBACK").Error)
		require.NoError(t, tx.Create(&book{Title: "beyond"}).Error) // commits by itself
		_ = tx.Rollback()
		reads(t, db, true, "one", "two", "text", "beyond")
	})
}
