package compare

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
)

// mistakes runs one statement through every way that GORM has, so that each
// tells about the mistake in its own words.
func mistakes(text string) func(*run) {
	return func(r *run) {
		r.did(r.db.Exec(text))
		var m []map[string]any
		r.did(r.db.Raw(text).Scan(&m), m)
		r.did(r.db.Raw(text).Find(&m), m)
		rows, err := r.db.Raw(text).Rows()
		all(r, rows, err)
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			err := tx.Raw(text).Scan(&m).Error
			var server *pgconn.PgError
			r.saw(errors.As(err, &server))
			return err
		}))
		var n int
		r.did(r.db.Raw("SELECT 1").Scan(&n), n)
	}
}

var errorPrograms = []program{
	{"a syntax error", mistakes("SELECT FROM WHERE")},
	{"an empty statement", mistakes("")},
	{"a comment", mistakes("-- nothing")},
	{"a table that is none", mistakes("SELECT * FROM nothing")},
	{"a schema that is none", mistakes("SELECT * FROM nothing.users")},
	{"a column that is none", mistakes("SELECT nothing FROM users")},
	{"a function that is none", mistakes("SELECT nothing(1)")},
	{"a division by zero", mistakes("SELECT 1 / 0")},
	{"a division by zero after rows", mistakes("SELECT 5 / (4 - g) FROM generate_series(1, 9) g")},
	{"a cast that fails", mistakes("SELECT 'x'::int")},
	{"a cast that fails after rows", mistakes("SELECT (CASE WHEN g > 300 THEN 'x' ELSE '1' END)::int FROM generate_series(1, 400) g")},
	{"an overflow", mistakes("SELECT 2147483647 + 1")},
	{"too many rows of a subquery", mistakes("SELECT (SELECT id FROM users)")},
	{"an aggregate in the wrong place", mistakes("SELECT name FROM users GROUP BY age")},
	{"a parameter that is missing", mistakes("SELECT $1::int")},
	{"a duplicate", mistakes("INSERT INTO languages VALUES ('de', 'x')")},
	{"a null", mistakes("INSERT INTO users (name) VALUES (NULL)")},
	{"a raise", mistakes("DO $$ BEGIN RAISE EXCEPTION 'no way' USING ERRCODE = 'ZZ002', DETAIL = 'a detail', HINT = 'a hint'; END $$")},
	{"a privilege", mistakes("SET SESSION AUTHORIZATION nobody_of_that_name")},
	{"a write in a read-only function", mistakes("SELECT * FROM (SELECT note('x')) q, nothing")},
	{"two statements", mistakes("SELECT 1; SELECT 2")},
	{"a vacuum", mistakes("VACUUM notes")},
	{"a value that the driver refuses", func(r *run) {
		var m []map[string]any
		r.did(r.db.Raw("SELECT ?::int AS n", make(chan int)).Scan(&m), m)
		r.did(r.db.Where("age = ?", struct{ A int }{1}).Find(&[]User{}))
		r.did(r.db.Exec("SELECT ?::int", "x"))
	}},
	{"too few values", func(r *run) {
		var u []User
		r.did(r.db.Where("age = ? AND name = ?", 1).Find(&u))
		r.did(r.db.Where("age = ?", 1, 2).Find(&u))
		r.did(r.db.Exec("SELECT ?, ?", 1))
	}},
	{"a value that fails", func(r *run) {
		r.did(r.db.Where("money = ?", Money{-1}).Find(&[]Account{}))
		r.did(r.db.Model(&Account{}).Where("id = 1").Update("money", Money{-1}))
	}},
	{"a scan that fails", func(r *run) {
		var a []struct{ Name Money }
		r.did(r.db.Table("users").Select("name").Find(&a), a)
	}},
	{"an error that was there before", func(r *run) {
		db := r.db.Where("id > 0")
		r.saw(db.AddError(errApplication))
		var u []User
		r.did(db.Find(&u), u)
		r.did(db.Create(&Note{Text: "x"}))
		r.did(db.Exec("DELETE FROM notes"))
		r.saw(db.Transaction(func(tx *gorm.DB) error { return tx.Create(&Note{Text: "y"}).Error }))
	}},
	{"errors one after another on one handle", func(r *run) {
		tx := r.db.Session(&gorm.Session{})
		r.did(tx.Exec("SELEKT"))
		r.did(tx.Exec("DELETE FROM notes WHERE text = 'first'"))
		broken := tx.Exec("SELEKT")
		r.did(broken.Exec("DELETE FROM notes"))
		var u User
		r.did(broken.First(&u))
	}},
	{"an error in two places", func(r *run) {
		var u User
		tx := r.db.Where("id = 99").First(&u)
		r.saw(tx.AddError(errApplication))
		r.did(tx)
		r.saw(errors.Is(tx.Error, gorm.ErrRecordNotFound), errors.Is(tx.Error, errApplication))
	}},
	{"not found, translated by the application", func(r *run) {
		err := r.db.First(&User{}, 99).Error
		r.saw(errors.Is(err, gorm.ErrRecordNotFound), err == gorm.ErrRecordNotFound) //nolint:errorlint // applications compare so
		var found []User
		r.did(r.db.Limit(1).Find(&found, 99), found)
	}},
	{"a duplicate, told apart by applications", func(r *run) {
		err := r.db.Create(&Language{Code: "de"}).Error
		var server *pgconn.PgError
		r.saw(errors.As(err, &server), errors.Is(err, gorm.ErrDuplicatedKey))
		_, direct := err.(*pgconn.PgError) //nolint:errorlint // applications ask so
		r.saw(direct)
	}},
}

// ended is a context that is over before the statement.
func ended(r *run) context.Context {
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	return ctx
}

var cancelPrograms = []program{
	{"cancelled before a read", func(r *run) {
		db := r.db.WithContext(ended(r))
		var u []User
		r.did(db.Find(&u), u)
		r.did(db.First(&User{}))
		var n int64
		r.did(db.Model(&User{}).Count(&n), n)
		rows, err := db.Model(&User{}).Rows()
		r.saw(rows == nil, err)
		r.did(db.Preload("Pets").Find(&u))
	}},
	{"cancelled before a row", func(r *run) {
		r.guard(func() { var n int; r.saw(r.db.WithContext(ended(r)).Raw("SELECT 1").Row().Scan(&n), n) })
	}},
	{"cancelled before a write", func(r *run) {
		db := r.db.WithContext(ended(r))
		r.did(db.Create(&Note{Text: "x"}))
		r.did(rename(db, "new"))
		r.did(db.Where("1 = 1").Delete(&Note{}))
		r.did(db.Exec("DELETE FROM notes"))
		r.did(db.Create(&Hooked{Name: "x"}))
		names(r)
	}},
	{"a deadline that is over", func(r *run) {
		ctx, cancel := context.WithDeadline(r.ctx, time.Now().Add(-time.Hour))
		defer cancel()
		var u []User
		r.did(r.db.WithContext(ctx).Find(&u))
		r.did(rename(r.db.WithContext(ctx), "new"))
	}},
	{"a deadline during a read", func(r *run) {
		ctx, cancel := soon(r)
		defer cancel()
		var n int64
		r.did(r.db.WithContext(ctx).Raw(slowly).Scan(&n), n)
		nameOf(r, r.db)
	}},
	{"a deadline during Find", func(r *run) {
		ctx, cancel := soon(r)
		defer cancel()
		var m []map[string]any
		r.did(r.db.WithContext(ctx).Table("generate_series(1, 30000000) g").Select("count(*)").Find(&m), m)
		nameOf(r, r.db)
	}},
	{"a deadline during a row", func(r *run) {
		ctx, cancel := soon(r)
		defer cancel()
		r.guard(func() { var n int64; r.saw(r.db.WithContext(ctx).Raw(slowly).Row().Scan(&n), n) })
	}},
	{"a deadline during an Exec", func(r *run) {
		ctx, cancel := soon(r)
		defer cancel()
		r.did(r.db.WithContext(ctx).Exec("SELECT pg_sleep(10)"))
		nameOf(r, r.db)
	}},
	{"a deadline during an update", func(r *run) {
		ctx, cancel := soon(r)
		defer cancel()
		r.did(r.db.WithContext(ctx).Model(&User{}).Where("id = 1 AND pg_sleep(10) IS NOT NULL").Update("name", "late"))
		nameOf(r, r.db)
	}},
	{"a deadline during a preload", func(r *run) {
		r.raced = true
		ctx, cancel := context.WithTimeout(r.ctx, 150*time.Millisecond)
		defer cancel()
		var u []User
		r.did(r.db.WithContext(ctx).Order("id").Preload("Pets", "(SELECT count(*) FROM generate_series(1, 30000000)) > 0").Find(&u), u)
	}},
	{"a read cancelled by the caller", func(r *run) {
		ctx, cancel := context.WithCancelCause(r.ctx)
		r.raced = true
		timer := time.AfterFunc(50*time.Millisecond, func() { cancel(errApplication) })
		defer timer.Stop()
		var n int64
		r.did(r.db.WithContext(ctx).Raw(slowly).Scan(&n), n)
		r.saw(context.Cause(ctx))
	}},
	{"cancelled between rows", func(r *run) {
		ctx, cancel := context.WithCancel(r.ctx)
		defer cancel()
		rows, err := r.db.WithContext(ctx).Raw("SELECT g FROM generate_series(1, 3) g").Rows()
		r.saw(err, rows.Next())
		var n int
		r.saw(rows.Scan(&n), n)
		r.raced = true
		cancel()
		r.saw(rows.Close())
	}},
	{"a server's own time limit", func(r *run) {
		connected(r, func(tx *gorm.DB) {
			r.did(tx.Exec("SET statement_timeout = '30ms'"))
			var n int64
			r.did(tx.Raw(slowly).Scan(&n), n)
			r.did(tx.Exec("SET statement_timeout = 0"))
		})
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			r.did(tx.Exec("SET LOCAL statement_timeout = '30ms'"))
			var n int64
			return tx.Raw(slowly).Scan(&n).Error
		}))
	}},
	{"no context", func(r *run) {
		r.guard(func() {
			var n int64
			r.did(r.db.WithContext(context.TODO()).Model(&User{}).Count(&n), n)
		})
		r.guard(func() {
			var n int64
			//nolint:staticcheck // what happens then is what is asked here
			r.did(r.db.WithContext(nil).Model(&User{}).Count(&n), n)
		})
	}},
	{"a value in the context", func(r *run) {
		type key struct{}
		ctx := context.WithValue(r.ctx, key{}, "value")
		tx := r.db.WithContext(ctx).First(&User{}, 1)
		r.saw(tx.Statement.Context.Value(key{}))
		ctx = context.WithValue(r.ctx, hookKey("AfterFind"), func(tx *gorm.DB, _ *Hooked) error {
			r.saw(tx.Statement.Context.Value(hookKey("AfterFind")) != nil)
			return nil
		})
		r.did(r.db.WithContext(ctx).Find(&[]Hooked{}))
	}},
}
