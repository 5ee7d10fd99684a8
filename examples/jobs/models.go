package main

import (
	"context"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
)

// Order is what the shop sells.
type Order struct {
	ID       int64
	Customer string
	Cents    int64
}

// Outbox is a message that the transaction of its order writes, and that a relay publishes.
type Outbox struct {
	ID      int64
	OrderID int64
	SentAt  *time.Time `gorm:"index"`
}

// Confirmation is what a job does, once for each order however often the job runs.
type Confirmation struct {
	OrderID  int64 `gorm:"primaryKey"`
	Customer string
	Cents    int64
}

// process is one process of the application: the shop, or a worker. Nothing is shared
// between two of them but the database and the queue.
type process struct {
	db     *gorm.DB
	plugin *readsplit.Plugin
}

func open(primary string, replicas []readsplit.Replica, more ...func(c *readsplit.Config)) (*process, error) {
	db, err := gorm.Open(postgres.Open(primary), &gorm.Config{Logger: logger.Default.LogMode(logger.Silent)})
	if err != nil {
		return nil, err
	}
	cfg := readsplit.Config{Replicas: replicas}
	for _, change := range more {
		change(&cfg)
	}
	plugin := readsplit.New(cfg)
	return &process{db, plugin}, db.Use(plugin)
}

func (p *process) close() error {
	if err := p.plugin.Close(context.Background()); err != nil {
		return err
	}
	pool, err := p.db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}
