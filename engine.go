package readsplit

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/sqlclass"
)

// asking sends one question of package lsn on a connection and returns the text that
// is the answer; sql.ErrNoRows where there is none.
type asking func(ctx context.Context, query string) (string, error)

// engine asks one server of one kind of database where it is. What it finds out is told
// in the terms of package lsn, whatever they are called there: the monitor and all
// above it know no engines.
//
// sample, position, capture, conflicts and nudge are called from one goroutine at a
// time; greet from any.
type engine interface {
	sample(ctx context.Context, ask asking) (lsn.Sample, error)
	position(ctx context.Context, ask asking) (replay lsn.LSN, standby bool, err error)
	// capture reports with same whether the answer is of the history of the newest
	// sample. Where it is not, everything is to be asked.
	capture(ctx context.Context, ask asking) (c lsn.Capture, same bool, err error)
	// greet asks a new connection of a replica's pool what it reached.
	greet(ctx context.Context, ask asking) (lsn.Connect, error)
	conflicts(ctx context.Context, ask asking) (lsn.Conflicts, error)
	nudge(ctx context.Context, ask asking) error
	// dials is how long it may take to open a connection, also where the caller waits
	// for ever; 0: as long as the caller waits.
	dials() time.Duration
}

// database is a kind of database, for the servers of one router.
type database interface {
	// primary and replica return what asks a server of the router; nil: what the dialer
	// has by itself.
	primary() engine
	replica(r Replica) engine
	dialect() sqlclass.Dialect
	// sticky says that after a write its session stays on the primary for the window,
	// because a position alone is not trusted.
	sticky() bool
	// nudges says that there is a way to nudge.
	nudges() bool
}

// newDatabase returns the kind of database that a dialector is for; nil where replicas
// are not known.
func (rt *router) newDatabase(d gorm.Dialector) database {
	switch d.Name() {
	case "postgres":
		return postgreSQL{}
	case "sqlserver":
		rt.checkDriver()
		return newSQLServer(rt.cfg, func(format string, args ...any) { rt.plugin.warn(format, args...) })
	}
	return nil
}

// asks returns the engine of a dialer's server.
func (d *dialer) asks() engine {
	if d.engine == nil {
		return &d.plain
	}
	return d.engine
}
