package readsplit

import (
	"database/sql"
	"time"
)

// Pool sizes a connection pool that the plugin opens. database/sql's own
// defaults (unlimited open, two idle) reconnect for most reads under load, which
// costs nine tenths of the throughput.
type Pool struct {
	// MaxOpen is the most connections; a pool without a limit is not to be had. Defaults
	// to the primary's limit, or to 64 where the primary has none, or is what is being
	// sized.
	MaxOpen int
	// MaxIdle is how many are kept when idle. Defaults to MaxOpen.
	MaxIdle int
	// MaxLifetime closes a connection this long after it was opened. Defaults to
	// never.
	MaxLifetime time.Duration
	// MaxIdleTime closes a connection that was idle this long. Defaults to 5 min.
	MaxIdleTime time.Duration
}

// or fills in what p leaves open from q.
func (p Pool) or(q Pool) Pool {
	if p.MaxOpen == 0 {
		p.MaxOpen = q.MaxOpen
	}
	if p.MaxIdle == 0 {
		p.MaxIdle = q.MaxIdle
	}
	if p.MaxLifetime == 0 {
		p.MaxLifetime = q.MaxLifetime
	}
	if p.MaxIdleTime == 0 {
		p.MaxIdleTime = q.MaxIdleTime
	}
	return p
}

// sized is p with its defaults, given the primary's limit on open connections
// (0: none).
func (p Pool) sized(primaryMaxOpen int) Pool {
	if p.MaxOpen == 0 {
		p.MaxOpen = primaryMaxOpen
	}
	if p.MaxOpen == 0 {
		p.MaxOpen = defaultMaxOpen
	}
	if p.MaxIdle == 0 || p.MaxIdle > p.MaxOpen {
		p.MaxIdle = p.MaxOpen
	}
	if p.MaxIdleTime == 0 {
		p.MaxIdleTime = defaultMaxIdleTime
	}
	return p
}

// apply sizes a pool.
func (p Pool) apply(db *sql.DB) {
	db.SetMaxOpenConns(p.MaxOpen)
	db.SetMaxIdleConns(p.MaxIdle)
	db.SetConnMaxLifetime(p.MaxLifetime)
	db.SetConnMaxIdleTime(p.MaxIdleTime)
}
