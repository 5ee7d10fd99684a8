package readonlyguard_test

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/readonlyguard"
)

// A report that happens to write is found out by the first test that runs it, not by a replica.
func Example() {
	db, err := gorm.Open(postgres.Open(dsn))
	if err != nil {
		panic(err)
	}
	if err := db.Use(readonlyguard.New()); err != nil {
		panic(err)
	}
	defer closeExample(db)

	report := db.WithContext(readonlyguard.ReadOnly(context.Background()))
	var answer int
	fmt.Println(report.Raw("SELECT 6 * 7").Scan(&answer).Error, answer)

	defer func() { fmt.Println(recover()) }()
	report.Table("orders").Where("id = ?", 7).Update("seen", true)
	// Output:
	// <nil> 42
	// readsplit: Update on table "orders" refused in a read session before anything was sent: it writes; use a context that is not marked read-only
}

func ExampleReturnErrors() {
	db, err := gorm.Open(postgres.Open(dsn))
	if err != nil {
		panic(err)
	}
	if err := db.Use(readonlyguard.New(readonlyguard.ReturnErrors())); err != nil {
		panic(err)
	}
	defer closeExample(db)

	err = db.WithContext(readonlyguard.ReadOnly(context.Background())).Exec("TRUNCATE orders").Error
	var refusal *readonlyguard.Error
	fmt.Println(errors.Is(err, readonlyguard.ErrReadOnly), errors.As(err, &refusal), refusal.Operation, refusal.Reason)
	// Output:
	// true true Exec writes
}

// Code that takes a Reader cannot write: r.Create does not compile.
func ExampleReader() {
	db, err := gorm.Open(postgres.Open(dsn))
	if err != nil {
		panic(err)
	}
	if err := db.Use(readonlyguard.New()); err != nil {
		panic(err)
	}
	defer closeExample(db)

	count := func(r readonlyguard.Reader) (n int64, err error) {
		err = r.Table("pg_database").Where("datname = ?", "postgres").Count(&n).Error
		return n, err
	}
	fmt.Println(count(readonlyguard.NewReader(db)))
	// Output:
	// 1 <nil>
}

func closeExample(db *gorm.DB) {
	if pool, err := db.DB(); err == nil {
		_ = pool.Close()
	}
}
