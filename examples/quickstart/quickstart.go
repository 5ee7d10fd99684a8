package main

import (
	"context"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// Note is a model like any other.
type Note struct {
	ID   int64
	Text string
}

// Open is all that an application changes: its reads go to the replica, and it reads what it
// wrote. Close the plugin when the application ends.
func Open(primary, replica string) (*gorm.DB, *readsplit.Plugin, error) {
	db, err := gorm.Open(postgres.Open(primary), &gorm.Config{})
	if err != nil {
		return nil, nil, err
	}
	plugin := readsplit.New(readsplit.Config{
		Replicas: []readsplit.Replica{{Name: "replica", Dialector: postgres.Open(replica)}},
	})
	return db, plugin, db.Use(plugin)
}

// Remember writes a note and reads all of them: the new one is there, whoever is asked.
func Remember(ctx context.Context, db *gorm.DB, text string) (notes []Note, by readsplit.Decision, err error) {
	ctx = readsplit.WithSession(ctx, readsplit.NewSession()) // one for each user or request
	if err := db.WithContext(ctx).Create(&Note{Text: text}).Error; err != nil {
		return nil, by, err
	}
	read := db.WithContext(ctx).Order("id").Find(&notes)
	by, _ = readsplit.DecisionOf(read)
	return notes, by, read.Error
}
