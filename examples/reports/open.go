package main

import (
	"context"
	"errors"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/groups"
)

// servers are the DSNs of the primary, of a replica for everybody, and of one for reports.
type servers struct{ primary, site, reports string }

// office is the application.
type office struct {
	db     *gorm.DB
	plugin *readsplit.Plugin
}

// open is an application that wants one thing of its replicas: the heavy reads. Whatever is
// not marked stays on the primary, as it was.
func open(s servers, more ...func(c *readsplit.Config)) (*office, error) {
	db, err := gorm.Open(postgres.Open(s.primary), &gorm.Config{Logger: logger.Default.LogMode(logger.Silent)})
	if err != nil {
		return nil, err
	}
	cfg := readsplit.Config{
		Default: readsplit.PreferPrimary,
		Replicas: []readsplit.Replica{
			{Name: "site", Dialector: postgres.Open(s.site)},
			// Whatever a report does, the server ends it after ten minutes.
			{Name: "reports", Dialector: postgres.Open(s.reports + " statement_timeout=600000"), Groups: []string{"reports"}, Reserved: true},
		},
		Groups: []groups.Group{{
			Name:      "reports",
			Otherwise: groups.Refuse,                    // a report never runs on the primary: it fails, and is tried later
			Pool:      groups.Pool{MaxOpen: 4},          // and no more than four at a time run at all
			From:      groups.Estimate{Rows: 1_000_000}, // also what says that it will look at so many rows
			Tables:    []any{"audit_log"},               // and what nobody reads but reports
		}},
		ConflictGroup: "reports", // what replay cancels on the other replica starts here
		GuardErrors:   true,      // a write in a report is an error, not a panic
	}
	for _, change := range more {
		change(&cfg)
	}
	plugin := readsplit.New(cfg)
	return &office{db, plugin}, db.Use(plugin)
}

func (o *office) close() error {
	err := o.plugin.Close(context.Background())
	if pool, perr := o.db.DB(); perr == nil {
		err = errors.Join(err, pool.Close())
	}
	return err
}
