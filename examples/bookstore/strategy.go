package main

import (
	"fmt"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/internal/orderlab"
	"github.com/readsplit/readsplit/testenv"
)

// database is the name of the shop's database on every server.
const database = "bookstore"

// poolSize is how many connections each pool may open and keep: the same for
// every strategy, so that none of them is measured reconnecting.
const poolSize = 32

// strategy is a way of routing the statements of the shop, which is the same under all
// of them.
type strategy interface {
	orderlab.Strategy
	// open connects to the primary and installs the router. It is called once.
	open(c *testenv.Cluster) (*gorm.DB, error)
}

// openPrimary opens the shop's database as any application does.
func openPrimary(c *testenv.Cluster) (*gorm.DB, error) {
	db, err := gorm.Open(postgres.Open(c.Primary().DSNFor(database)), &gorm.Config{
		// A slow statement is a number of this lab, not a line in its output.
		Logger: logger.Default.LogMode(logger.Silent),
	})
	if err != nil {
		return nil, fmt.Errorf("bookstore: open the primary: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(poolSize)
	pool.SetMaxIdleConns(poolSize)
	return db, nil
}

// closePrimary closes what openPrimary opened.
func closePrimary(db *gorm.DB) error {
	if db == nil {
		return nil
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// closeTimeout bounds how long a strategy may take to end.
const closeTimeout = 10 * time.Second
