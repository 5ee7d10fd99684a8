package catalog

import (
	"database/sql"
	"errors"
	"time"
)

// Config says which database is asked and what the application knows better.
type Config struct {
	// DB is where to ask: the primary, in the database that the statements are for.
	// A connection is taken for the time of a query. Any role will do. Defaults to
	// nil: nothing is asked, and only ReadFunctions and WriteFunctions count.
	DB *sql.DB

	// Timeout is the most that one query may take. Defaults to 10 s.
	Timeout time.Duration

	// Every is how often to look whether something changed; -1: only after Refresh.
	// Defaults to 2 s.
	Every time.Duration

	// ReadFunctions are functions that read and change nothing, whatever the catalogue says
	// of them, as names are written in SQL: total, app.total, "My Schema"."Total".
	// A name without a schema stands for the function in every schema. A built-in
	// function that must not run on a replica is an error. Defaults to none.
	ReadFunctions []string

	// WriteFunctions are functions that do more than reading, whatever the catalogue says of
	// them; written like ReadFunctions, over which they win. Built-in ones may be among them.
	// Defaults to none.
	WriteFunctions []string

	// OnError is told of the first query that fails, and of the next one that fails
	// after one has succeeded. It is called from the goroutine of Start and must
	// neither block nor call Close. Defaults to none; Status has the error too.
	OnError func(error)
}

const (
	defaultTimeout = 10 * time.Second
	defaultEvery   = 2 * time.Second
	defaultRetry   = 2 * time.Second // where Every is off
	// A huge catalogue is looked at less often, so that looking takes at most a
	// fiftieth of one of the primary's cores.
	looksApart   = 50
	longestApart = time.Minute
)

func (c Config) complete() (Config, *declared, error) {
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.Every == 0 {
		c.Every = defaultEvery
	}
	if c.OnError == nil {
		c.OnError = func(error) {}
	}
	reads, readsErr := parseDeclared("Config.ReadFunctions", c.ReadFunctions)
	writes, writesErr := parseDeclared("Config.WriteFunctions", c.WriteFunctions)
	d := &declared{reads: reads, writes: writes}
	return c, d, errors.Join(readsErr, writesErr, d.refuseNeedless())
}
