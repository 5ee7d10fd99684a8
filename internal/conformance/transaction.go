package conformance

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// Savepoints, by hand and in nested transactions, are those of the server: what is undone is
// gone, what is not is there, and the session sees exactly that.
func testSavepoints(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		db := d.session()
		boom := errors.New("boom")
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			require.NoError(t, tx.Create(&book{Title: "three", AuthorID: s.ann}).Error)
			require.ErrorIs(t, tx.Transaction(func(tx *gorm.DB) error {
				require.NoError(t, tx.Create(&book{Title: "undone", AuthorID: s.ann}).Error)
				return boom
			}), boom)
			require.NoError(t, tx.Transaction(func(tx *gorm.DB) error {
				return tx.Create(&book{Title: "four", AuthorID: s.ann}).Error
			}))
			return nil
		}))
		d.own(t, db, "one", "two", "three", "four")

		db = d.session()
		tx := db.Begin()
		require.NoError(t, tx.Create(&book{Title: "five", AuthorID: s.ann}).Error)
		require.NoError(t, tx.SavePoint("before").Error)
		require.NoError(t, tx.Create(&book{Title: "undone", AuthorID: s.ann}).Error)
		require.NoError(t, tx.RollbackTo("before").Error)
		if s.b.Faults.has(pausing) {
			d.reads(t, db, false, "one") // nothing is committed
		}
		require.NoError(t, tx.Commit().Error)
		d.own(t, db, "one", "two", "three", "four", "five")
	})
}

// A transaction that is begun in a hook of a read, in a batch or on what a read returned is on
// the primary, and can write.
func testTransactionsFromReads(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		writes := func(db *gorm.DB, title string) {
			t.Helper()
			require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
				require.Equal(t, s.primary(), d.who(t, tx))
				return tx.Create(&book{Title: title, AuthorID: s.ann}).Error
			}))
		}
		h := hooks{"AfterFind": func(tx *gorm.DB) error {
			writes(tx, "three")
			return nil
		}}
		db := d.WithContext(withHooks(newSession(), h))
		require.NoError(t, db.First(&hookedBook{}).Error)
		d.own(t, db, three...)

		db = d.session()
		require.NoError(t, db.Where("title = ?", "one").FindInBatches(&[]book{}, 10, func(tx *gorm.DB, _ int) error {
			writes(tx, "four")
			return nil
		}).Error)
		d.own(t, db, "one", "two", "three", "four")

		db = d.session()
		result := db.Find(&[]book{})
		require.NoError(t, result.Error)
		writes(result.Session(&gorm.Session{NewDB: true}), "five")
		d.own(t, db, "one", "two", "three", "four", "five")
	})
}

// Read-only transactions run on a replica; what the session writes meanwhile they see on the
// primary, and a write in them is refused or moves them there.
func testReadOnlyTransactions(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		readOnly := &sql.TxOptions{ReadOnly: true}
		db := d.session()
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			d.reads(t, tx, false, s.onReplicas()...)
			require.True(t, s.isReplica(d.who(t, tx)))
			raw, ok := readsplit.SQLTx(tx)
			require.True(t, ok)
			var server string
			require.NoError(t, raw.QueryRowContext(limit(t), "SELECT "+s.b.SQL.Who).Scan(&server))
			require.True(t, s.isReplica(server))
			return nil
		}, readOnly))
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			require.True(t, s.isReplica(d.who(t, tx)))
			require.NoError(t, db.Create(&book{Title: "three", AuthorID: s.ann}).Error)
			d.own(t, tx, three...)
			return nil
		}, readOnly))

		db = d.session()
		err := db.Transaction(func(tx *gorm.DB) error {
			require.True(t, s.isReplica(d.who(t, tx)))
			return tx.Exec("DELETE FROM " + booksTable).Error
		}, readOnly)
		require.ErrorIs(t, err, readsplit.ErrWriteInReadOnlyTransaction)
		require.Equal(t, three, s.titles(t))
	})
}

// The session of BeginTx and that of a statement inside both see what was written; a
// statement's alone does not bind others.
func testSessionsOfTransactions(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		begun, inside := d.session(), newSession()
		require.NoError(t, begun.Transaction(func(tx *gorm.DB) error {
			return gorm.G[book](tx).Create(inside, &book{Title: "three", AuthorID: s.ann})
		}))
		d.own(t, begun, three...)
		d.own(t, d.WithContext(inside), three...)
		if s.b.Faults.has(pausing) {
			d.reads(t, d.session(), false, "one")
		}
	})
}

// Statements of one transaction that run at once keep its list of sessions.
func testConcurrentStatements(t *testing.T, s *suite) {
	d := s.open(t)
	s.behind(t)
	db := d.session()
	var contexts []context.Context
	for range 8 {
		contexts = append(contexts, newSession())
	}
	require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
		var every sync.WaitGroup
		errs := make(chan error, len(contexts))
		for _, ctx := range contexts {
			every.Go(func() {
				errs <- tx.WithContext(ctx).Exec("UPDATE "+booksTable+" SET copies = copies + 1 WHERE title = ?", "one").Error
			})
		}
		every.Wait()
		close(errs)
		for err := range errs {
			require.NoError(t, err)
		}
		return nil
	}))
	for _, ctx := range contexts {
		var b book
		require.NoError(t, d.WithContext(ctx).First(&b, "title = ?", "one").Error)
		require.Equal(t, 3+len(contexts), b.Copies)
	}
}

// A deadlock of writes is the caller's: its victim has the error, the other one goes through,
// and nothing is run twice.
func testDeadlock(t *testing.T, s *suite) {
	d := s.open(t)
	db := d.session()
	ids := []int64{s.ann, s.bea}
	var txs [2]*gorm.DB
	add := func(tx *gorm.DB, id int64) error {
		return tx.Exec("INSERT INTO "+booksTable+" (title, copies, author_id) VALUES ('by deadlock', 3, ?)", id).Error
	}
	lock := func(tx *gorm.DB, id int64) error {
		return tx.Exec("UPDATE "+authorsTable+" SET name = name WHERE id = ?", id).Error
	}
	for i := range txs {
		txs[i] = db.Begin()
		require.NoError(t, add(txs[i], ids[i]))
		require.NoError(t, lock(txs[i], ids[i]))
	}
	results := make(chan error, 2)
	for i, tx := range txs {
		go func() {
			err := lock(tx, ids[1-i])
			if err == nil {
				err = tx.Commit().Error
			} else {
				tx.Rollback()
			}
			results <- err
		}()
	}
	first, second := <-results, <-results
	if first == nil {
		first, second = second, first
	}
	require.Error(t, first)
	require.Equal(t, s.b.SQL.Deadlock, s.b.SQL.Code(first))
	require.NoError(t, second)
	require.Equal(t, []string{"one", "by deadlock"}, s.titles(t))
	var n int64
	require.NoError(t, db.Model(&book{}).Count(&n).Error)
	require.EqualValues(t, 2, n)
}

// A dry run sends nothing and decides nothing.
func testDryRun(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		db := d.session()
		sent := s.sent(t, func() {
			dry := db.Session(&gorm.Session{DryRun: true})
			require.Contains(t, dry.Find(&[]book{}).Statement.SQL.String(), "SELECT")
			require.Contains(t, dry.Create(&book{Title: "three"}).Statement.SQL.String(), "INSERT")
			require.Contains(t, dry.Model(&book{}).Where("title = ?", "one").Update("title", "uno").Statement.SQL.String(), "UPDATE")
			require.Contains(t, dry.Where("title = ?", "one").Delete(&book{}).Statement.SQL.String(), "UPDATE")
			require.Contains(t, db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&book{Title: "three"}) }), "INSERT")
			_, ok := readsplit.DecisionOf(dry.Find(&[]book{}))
			require.False(t, ok)
		})
		require.Empty(t, sent)
		require.NotEqual(t, policy.ReasonUnsure, reason(t, db.Find(&[]book{})))
		d.reads(t, db, false, "one")
	})
}
