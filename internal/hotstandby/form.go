package main

import (
	"context"
	"time"

	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/groups"
)

// form is one way to have reports on replicas.
type form struct {
	name string
	// place is where the report begins.
	place string
	// patience is max_standby_streaming_delay there; negative: without end.
	patience time.Duration
	feedback bool
	// cancels: replay is expected to cancel the report, which then runs on the primary.
	cancels bool
	// kept: the place serves reports alone, as a group.
	kept, logical bool
}

const (
	site      = "replica1" // the replica of everybody
	spare     = "replica2"
	reporting = "reporting"
	never     = time.Duration(-1)
)

func forms(o options) []form {
	return []form{
		{name: "replay cancels", place: site, patience: o.patience, cancels: true},
		{name: "the primary keeps rows", place: site, patience: o.patience, feedback: true},
		{name: "replay waits", place: site, patience: never},
		{name: "a replica for reports", place: spare, patience: never, kept: true},
		{name: "a database for reports", place: reporting, patience: o.patience, kept: true, logical: true},
	}
}

// config is the application's. Two processors that others use answer late now and then:
// that would look like servers that are down.
func (f form) config(l *lab) readsplit.Config {
	c := readsplit.Config{
		SampleTimeout: 10 * time.Second,
		MaxSampleAge:  5 * time.Second,
		Replicas:      []readsplit.Replica{{Name: site, Dialector: postgres.Open(l.server(site).DSNFor(l.database))}},
	}
	if f.kept {
		c.Replicas = append(c.Replicas, readsplit.Replica{
			Name: f.place, Dialector: postgres.Open(l.server(f.place).DSNFor(l.database)),
			Groups: []string{"reports"}, Reserved: true, Logical: f.logical,
		})
		c.Groups = []groups.Group{{Name: "reports", Otherwise: groups.Refuse, Pool: groups.Pool{MaxOpen: 4}}}
		c.ConflictGroup = "reports"
	}
	return c
}

// marks are the report's. It may be as old as it likes: it takes longer than MaxLag.
func (f form) marks(ctx context.Context) context.Context {
	ctx = readsplit.Stale(readsplit.ReadOnly(readsplit.WithSession(ctx, readsplit.NewSession())))
	if f.kept {
		ctx = readsplit.Group(ctx, "reports")
	}
	return ctx
}
