package compare

import (
	"context"
	"database/sql"
	"time"

	"gorm.io/gorm"
)

// rename changes a name, which is seen when it was committed.
func rename(tx *gorm.DB, to string) *gorm.DB {
	return tx.Model(&User{}).Where("id = 1").Update("name", to)
}

// nameOf reads the name.
func nameOf(r *run, tx *gorm.DB) {
	var u User
	r.did(tx.First(&u, 1), u.Name)
}

var transactionPrograms = []program{
	{"transaction", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			r.did(rename(tx, "new"))
			nameOf(r, tx)
			return nil
		}))
		nameOf(r, r.db)
	}},
	{"transaction that fails", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			r.did(rename(tx, "new"))
			nameOf(r, tx)
			return errApplication
		}))
		nameOf(r, r.db)
	}},
	{"transaction that panics", func(r *run) {
		r.guard(func() {
			r.saw(r.db.Transaction(func(tx *gorm.DB) error { rename(tx, "new"); panic("in the transaction") }))
		})
		nameOf(r, r.db)
	}},
	{"transaction that ignores an error", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			r.did(rename(tx, "new"))
			r.did(tx.Exec("SELEKT"))
			r.did(rename(tx, "newer"))
			return nil
		}))
		nameOf(r, r.db)
	}},
	{"transaction that reads only", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error { nameOf(r, tx); return nil }))
	}},
	{"transaction without a statement", func(r *run) { r.saw(r.db.Transaction(func(*gorm.DB) error { return nil })) }},
	{"transaction on a chain", func(r *run) {
		r.saw(r.db.Where("age = 30").Transaction(func(tx *gorm.DB) error {
			var all []User
			r.did(tx.Find(&all), len(all))
			r.did(tx.Model(&User{}).Update("name", "x"))
			return nil
		}))
		names(r)
	}},
	{"nested transactions", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			rename(tx, "outer")
			r.saw(tx.Transaction(func(tx *gorm.DB) error { r.did(rename(tx, "inner")); return nil }))
			nameOf(r, tx)
			return nil
		}))
		nameOf(r, r.db)
	}},
	{"a nested transaction fails", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			rename(tx, "outer")
			r.saw(tx.Transaction(func(tx *gorm.DB) error { rename(tx, "inner"); return errApplication }))
			nameOf(r, tx)
			r.saw(tx.Transaction(func(tx *gorm.DB) error { return tx.Exec("SELEKT").Error }))
			nameOf(r, tx)
			return nil
		}))
		nameOf(r, r.db)
	}},
	{"a nested transaction panics", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			rename(tx, "outer")
			r.guard(func() { _ = tx.Transaction(func(tx *gorm.DB) error { rename(tx, "inner"); panic("inside") }) })
			nameOf(r, tx)
			return nil
		}))
		nameOf(r, r.db)
	}},
	{"nested transactions turned off", func(r *run) {
		db := r.db.Session(&gorm.Session{DisableNestedTransaction: true})
		r.saw(db.Transaction(func(tx *gorm.DB) error {
			rename(tx, "outer")
			r.saw(tx.Transaction(func(tx *gorm.DB) error { rename(tx, "inner"); return errApplication }))
			nameOf(r, tx)
			return nil
		}))
		nameOf(r, r.db)
	}},
	{"begin and commit", func(r *run) {
		tx := r.db.Begin()
		r.saw(tx.Error)
		r.did(rename(tx, "new"))
		nameOf(r, tx)
		r.saw(tx.Commit().Error)
		nameOf(r, r.db)
	}},
	{"begin and roll back", func(r *run) {
		tx := r.db.Begin()
		rename(tx, "new")
		r.saw(tx.Rollback().Error)
		nameOf(r, r.db)
	}},
	{"commit twice", func(r *run) {
		tx := r.db.Begin()
		rename(tx, "new")
		r.saw(tx.Commit().Error, tx.Commit().Error, tx.Rollback().Error)
	}},
	{"roll back twice", func(r *run) {
		tx := r.db.Begin()
		r.saw(tx.Rollback().Error, tx.Rollback().Error, tx.Commit().Error)
	}},
	{"use after commit", func(r *run) {
		tx := r.db.Begin()
		r.saw(tx.Commit().Error)
		r.did(rename(tx, "late"))
		nameOf(r, tx)
		rows, err := tx.Model(&User{}).Rows()
		r.saw(rows == nil, err)
		r.saw(tx.Transaction(func(*gorm.DB) error { return nil }))
	}},
	{"use after rollback", func(r *run) {
		tx := r.db.Begin()
		tx.Rollback()
		var n int64
		r.did(tx.Model(&User{}).Count(&n), n)
		r.did(tx.Create(&Note{Text: "late"}))
		r.saw(tx.SavePoint("a").Error)
	}},
	{"begin twice", func(r *run) {
		tx := r.db.Begin()
		second := tx.Begin()
		r.saw(second.Error)
		r.saw(tx.Rollback().Error)
	}},
	{"commit without begin", func(r *run) {
		r.saw(r.db.Commit().Error, r.db.Rollback().Error)
	}},
	{"commit a result", func(r *run) {
		var u User
		r.saw(r.db.First(&u, 1).Commit().Error, r.db.Create(&Note{Text: "x"}).Rollback().Error)
	}},
	{"savepoints", func(r *run) {
		tx := r.db.Begin()
		rename(tx, "one")
		r.saw(tx.SavePoint("a").Error)
		rename(tx, "two")
		r.saw(tx.RollbackTo("a").Error)
		nameOf(r, tx)
		r.saw(tx.RollbackTo("none").Error, tx.Commit().Error)
		nameOf(r, r.db)
	}},
	{"savepoint without a transaction", func(r *run) { r.saw(r.db.SavePoint("a").Error, r.db.RollbackTo("a").Error) }},
	{"savepoints rescue a failed transaction", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			rename(tx, "new")
			tx.SavePoint("a")
			r.did(tx.Create(&Language{Code: "de"}))
			r.saw(tx.RollbackTo("a").Error)
			nameOf(r, tx)
			return nil
		}))
		nameOf(r, r.db)
	}},
	{"an aborted transaction", func(r *run) {
		tx := r.db.Begin()
		r.did(rename(tx, "new"))
		r.did(tx.Exec("SELECT 1 / 0"))
		// A text that no connection has prepared: where the error comes from would
		// depend on the connection.
		r.did(tx.Where("'aborted' <> ''").Find(&[]Pet{}))
		r.did(rename(tx, "newer"))
		r.saw(tx.Commit().Error)
		nameOf(r, r.db)
	}},
	{"commit that fails by a deferred constraint", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			r.did(tx.Exec("INSERT INTO children (parent_id) VALUES (99)"))
			return nil
		}))
		r.did(r.db.Exec("INSERT INTO children (parent_id) VALUES (98)"))
		r.did(r.db.Table("children").Create(map[string]any{"parent_id": 97}))
		var n int64
		r.did(r.db.Table("children").Count(&n), n)
	}},
	{"deferred constraint that is kept", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			r.did(tx.Exec("INSERT INTO children (parent_id) VALUES (3)"))
			r.did(tx.Exec("INSERT INTO parents (name) VALUES ('p3')"))
			return nil
		}))
	}},
	{"begin with a context that is over", func(r *run) {
		ctx, cancel := context.WithCancel(r.ctx)
		cancel()
		tx := r.db.WithContext(ctx).Begin()
		err := tx.Error
		r.saw(err, tx.Rollback().Error)
		r.saw(r.db.WithContext(ctx).Transaction(func(*gorm.DB) error { return nil }))
	}},
	{"use after a begin that failed", func(r *run) {
		tx := r.db.WithContext(ended(r)).Begin()
		r.did(tx.Find(&[]User{}))
		r.did(tx.Create(&Note{Text: "x"}))
		r.did(tx.Exec("DELETE FROM notes"))
		r.saw(tx.Error)
	}},
	{"a transaction after a begin that failed", func(r *run) {
		tx := r.db.WithContext(ended(r)).Begin()
		r.saw(tx.Transaction(func(*gorm.DB) error { return nil }))
	}},
	{"a transaction's context ends", func(r *run) {
		ctx, cancel := context.WithCancel(r.ctx)
		tx := r.db.WithContext(ctx).Begin()
		r.did(rename(tx, "new"))
		cancel()
		r.raced = true
		r.saw(tx.Commit().Error)
		nameOf(r, r.db)
	}},
	{"a statement's context ends in a transaction", func(r *run) {
		tx := r.db.Begin()
		rename(tx, "new")
		ctx, cancel := context.WithCancel(r.ctx)
		cancel()
		r.did(rename(tx.WithContext(ctx), "newer"))
		nameOf(r, tx)
		r.saw(tx.Commit().Error)
		nameOf(r, r.db)
	}},
	{"a deadline inside a transaction", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			rename(tx, "new")
			ctx, cancel := soon(r)
			defer cancel()
			return tx.WithContext(ctx).Exec("SELECT pg_sleep(10)").Error
		}))
		nameOf(r, r.db)
	}},
	{"the default transaction's time limit", func(r *run) {
		r.raced = true
		db := r.open(gorm.Config{DefaultTransactionTimeout: 500 * time.Millisecond}, nil)
		r.did(db.Exec("SELECT 1"))
		r.saw(db.Transaction(func(tx *gorm.DB) error {
			rename(tx, "new")
			return tx.Exec("SELECT pg_sleep(3)").Error
		}) != nil)
		nameOf(r, db)
	}},
	{"the default time limit of statements", func(r *run) {
		db := r.open(gorm.Config{DefaultContextTimeout: time.Minute}, nil)
		nameOf(r, db)
		r.did(rename(db, "new"))
		nameOf(r, db)
		r.raced = true
		short := r.open(gorm.Config{DefaultContextTimeout: 50 * time.Millisecond}, nil)
		var n int64
		r.did(short.Raw(slowly).Scan(&n), n)
		r.did(short.Exec("SELECT pg_sleep(10)"))
	}},
	{"transaction in a query's result", func(r *run) {
		var u User
		found := r.db.First(&u, 1)
		r.saw(found.Session(&gorm.Session{NewDB: true}).Transaction(func(tx *gorm.DB) error { r.did(rename(tx, "new")); return nil }))
		nameOf(r, r.db)
	}},
	{"transaction on the result of a write", func(r *run) {
		tx := r.db.Create(&Note{Text: "x"})
		r.saw(tx.Session(&gorm.Session{NewDB: true}).Transaction(func(tx *gorm.DB) error { r.did(rename(tx, "new")); return errApplication }))
		nameOf(r, r.db)
	}},
	{"transaction with rows", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			rows, err := tx.Raw("INSERT INTO notes (text) VALUES ('x') RETURNING text").Rows()
			all(r, rows, err)
			rows, err = tx.Model(&Note{}).Order("text").Rows()
			all(r, rows, err)
			var n int
			r.saw(tx.Raw("SELECT count(*) FROM notes").Row().Scan(&n), n)
			return nil
		}))
	}},
	{"statements prepared in a transaction", func(r *run) {
		r.saw(r.db.Session(&gorm.Session{PrepareStmt: true}).Transaction(func(tx *gorm.DB) error {
			for range 3 {
				r.did(rename(tx, "new"))
				nameOf(r, tx)
			}
			return nil
		}))
	}},
	{"isolation left as it is in hooks", func(r *run) {
		ctx := context.WithValue(r.ctx, hookKey("AfterCreate"), func(tx *gorm.DB, _ *Hooked) error {
			return tx.Transaction(func(tx *gorm.DB) error { return tx.Create(&Note{Text: "from a hook"}).Error })
		})
		r.did(r.db.WithContext(ctx).Create(&Hooked{Name: "x"}))
		fail := context.WithValue(r.ctx, hookKey("AfterCreate"), func(tx *gorm.DB, _ *Hooked) error {
			tx.Create(&Note{Text: "taken back"})
			return errApplication
		})
		r.did(r.db.WithContext(fail).Create(&Hooked{Name: "y"}))
	}},
}

func isolated(options *sql.TxOptions, work func(r *run, tx *gorm.DB) error) func(*run) {
	return func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error { return work(r, tx) }, options))
		nameOf(r, r.db)
		var level string
		r.did(r.db.Raw("SELECT current_setting('transaction_isolation')").Scan(&level), level)
	}
}

func readTwice(r *run, tx *gorm.DB) error {
	var level, only string
	r.did(tx.Raw("SELECT current_setting('transaction_isolation')").Scan(&level), level)
	r.did(tx.Raw("SHOW transaction_read_only").Scan(&only), only)
	nameOf(r, tx)
	var all []User
	r.did(tx.Preload("Pets").Order("id").Find(&all), all)
	return nil
}

func writeAfterRead(r *run, tx *gorm.DB) error {
	nameOf(r, tx)
	return rename(tx, "new").Error
}

var isolationPrograms = []program{
	{"repeatable read", isolated(&sql.TxOptions{Isolation: sql.LevelRepeatableRead}, readTwice)},
	{"serializable", isolated(&sql.TxOptions{Isolation: sql.LevelSerializable}, readTwice)},
	{"read uncommitted", isolated(&sql.TxOptions{Isolation: sql.LevelReadUncommitted}, writeAfterRead)},
	{"repeatable read that writes", isolated(&sql.TxOptions{Isolation: sql.LevelRepeatableRead}, writeAfterRead)},
	{"an isolation that is none", isolated(&sql.TxOptions{Isolation: sql.LevelLinearizable}, readTwice)},
	{"read only", isolated(&sql.TxOptions{ReadOnly: true}, readTwice)},
	{"read only and repeatable read", isolated(&sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}, readTwice)},
	{"read only and serializable", isolated(&sql.TxOptions{ReadOnly: true, Isolation: sql.LevelSerializable}, readTwice)},
	{"read only, fails", isolated(&sql.TxOptions{ReadOnly: true}, func(r *run, tx *gorm.DB) error {
		nameOf(r, tx)
		r.did(tx.Exec("SELEKT"))
		return errApplication
	})},
	{"read only, write first", isolated(&sql.TxOptions{ReadOnly: true}, func(r *run, tx *gorm.DB) error { return rename(tx, "new").Error })},
	{"read only, write after a read", isolated(&sql.TxOptions{ReadOnly: true}, writeAfterRead)},
	{"read only, twice ended", func(r *run) {
		tx := r.db.Begin(&sql.TxOptions{ReadOnly: true})
		nameOf(r, tx)
		r.saw(tx.Commit().Error, tx.Commit().Error, tx.Rollback().Error)
		nameOf(r, tx)
	}},
	{"read only, nothing", func(r *run) {
		tx := r.db.Begin(&sql.TxOptions{ReadOnly: true})
		err := tx.Error
		r.saw(err, tx.Rollback().Error)
	}},
	{"read only, savepoints", isolated(&sql.TxOptions{ReadOnly: true}, func(r *run, tx *gorm.DB) error {
		nameOf(r, tx)
		r.saw(tx.Transaction(func(tx *gorm.DB) error { nameOf(r, tx); return tx.Exec("SELECT 1 / 0").Error }))
		nameOf(r, tx)
		return nil
	})},
	{"read only, a context that is over", func(r *run) {
		ctx, cancel := context.WithCancel(r.ctx)
		cancel()
		tx := r.db.WithContext(ctx).Begin(&sql.TxOptions{ReadOnly: true})
		r.saw(tx.Error)
	}},
	{"read only, half-read rows", isolated(&sql.TxOptions{ReadOnly: true}, func(r *run, tx *gorm.DB) error {
		rows, err := tx.Model(&User{}).Select("id").Order("id").Rows()
		r.saw(err, rows.Next(), rows.Close())
		nameOf(r, tx)
		return nil
	})},
	{"a conflict of serializable transactions", func(r *run) {
		opts := &sql.TxOptions{Isolation: sql.LevelSerializable}
		a, b := r.db.Begin(opts), r.db.Begin(opts)
		var n int64
		r.did(a.Model(&Note{}).Count(&n), n)
		r.did(b.Model(&Note{}).Count(&n), n)
		r.did(a.Create(&Note{Text: "a"}))
		r.did(b.Create(&Note{Text: "b"}))
		r.saw(a.Commit().Error, b.Commit().Error)
	}},
	{"a lost update under repeatable read", func(r *run) {
		tx := r.db.Begin(&sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		nameOf(r, tx)
		r.did(rename(r.db, "other"))
		nameOf(r, tx)
		r.did(rename(tx, "mine"))
		r.saw(tx.Commit().Error)
		nameOf(r, r.db)
	}},
	{"a lock that is not to be had", func(r *run) {
		tx := r.db.Begin()
		r.did(tx.Exec("SELECT * FROM users WHERE id = 1 FOR UPDATE"))
		r.did(r.db.Exec("SELECT * FROM users WHERE id = 1 FOR UPDATE NOWAIT"))
		r.saw(tx.Rollback().Error)
		nameOf(r, r.db)
	}},
}
