package readonlyguard_test

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

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

// The same with types: ReaderOf is GORM's generics API without what writes.
func ExampleOf() {
	db, err := gorm.Open(postgres.Open(dsn))
	if err != nil {
		panic(err)
	}
	if err := db.Use(readonlyguard.New()); err != nil {
		panic(err)
	}
	defer closeExample(db)
	type database struct{ Datname string }
	ctx, r := context.Background(), readonlyguard.NewReader(db)

	found, err := readonlyguard.Of[database](r).Table("pg_database").Where("datname = ?", "postgres").Find(ctx)
	fmt.Println(found, err)

	found, err = readonlyguard.RawOf[database](r, "SELECT datname FROM pg_database WHERE datname = ?", "postgres").Find(ctx)
	fmt.Println(found, err)
	// Output:
	// [{postgres}] <nil>
	// [{postgres}] <nil>
}

// A function of the application's own is refused until it is said that it only reads.
func ExampleAllowFunctions() {
	for _, options := range [][]readonlyguard.Option{
		{readonlyguard.ReturnErrors()},
		{readonlyguard.ReturnErrors(), readonlyguard.AllowFunctions("total")},
	} {
		db, err := gorm.Open(postgres.Open(dsn), &gorm.Config{Logger: logger.Discard})
		if err != nil {
			panic(err)
		}
		if err := db.Use(readonlyguard.New(options...)); err != nil {
			panic(err)
		}
		ctx := readonlyguard.ReadOnly(context.Background())
		err = db.WithContext(ctx).Raw("SELECT total(7)").Scan(new(int)).Error // sent, it may fail for other reasons
		fmt.Println(errors.Is(err, readonlyguard.ErrReadOnly))
		closeExample(db)
	}
	// Output:
	// true
	// false
}

func closeExample(db *gorm.DB) {
	if pool, err := db.DB(); err == nil {
		_ = pool.Close()
	}
}
