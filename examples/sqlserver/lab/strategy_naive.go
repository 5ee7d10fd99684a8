package main

import (
	"context"
	"math/rand/v2"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/examples/sqlserver/database"
	"github.com/readsplit/readsplit/lsn"
)

// naive is a router that asks before every read whether a secondary is current, and
// trusts a column that seems to say so. Where none is, it reads the primary.
type naive struct {
	resolved
	name string
	// current says whether a secondary has all that is committed now.
	current func(primary, secondary gorm.ConnPool) bool
	primary gorm.ConnPool
}

func newNaive(name string, current func(primary, secondary gorm.ConnPool) bool) *naive {
	s := &naive{name: name, current: current}
	s.policy = s
	return s
}

func (s *naive) Name() string { return s.name }

func (s *naive) open(ctx context.Context, servers *database.Servers) (*gorm.DB, error) {
	db, err := s.resolved.open(ctx, servers)
	if err == nil {
		s.primary, err = db.DB()
	}
	return db, err
}

// Resolve is dbresolver's policy.
func (s *naive) Resolve(pools []gorm.ConnPool) gorm.ConnPool {
	for _, i := range rand.Perm(len(pools)) {
		if s.current(s.primary, pools[i]) {
			return pools[i]
		}
	}
	return s.primary
}

// ownRow is where a server's row of the view is read.
const ownRow = " FROM sys.dm_hadr_database_replica_states WHERE database_id = DB_ID() AND is_local = 1"

// trustLagSeconds trusts secondary_lag_seconds when it says 0.
func trustLagSeconds() strategy {
	return newNaive("lag_seconds", func(_, secondary gorm.ConnPool) bool {
		var seconds int
		err := secondary.QueryRowContext(context.Background(), "SELECT secondary_lag_seconds"+ownRow).Scan(&seconds)
		return err == nil && seconds == 0
	})
}

// trustHardened trusts a secondary that has hardened what the primary has committed: the
// log is on its disk, and what readers see is another matter.
func trustHardened() strategy { return newNaive("hardened", hasReached("last_hardened_lsn")) }

// trustCommitted trusts last_commit_lsn, which says what was redone: the position that
// readsplit goes by, without the window that it keeps besides.
func trustCommitted() strategy { return newNaive("position", hasReached("last_commit_lsn")) }

// hasReached asks whether a column of the secondary has reached the primary's newest commit.
func hasReached(column string) func(primary, secondary gorm.ConnPool) bool {
	return func(primary, secondary gorm.ConnPool) bool {
		committed, ok := position(primary, "last_commit_lsn")
		if !ok {
			return false
		}
		reached, ok := position(secondary, column)
		return ok && reached >= committed
	}
}

func position(on gorm.ConnPool, column string) (at lsn.LSN, ok bool) {
	var text string
	err := on.QueryRowContext(context.Background(), "SELECT CONVERT(varchar(30), "+column+")"+ownRow).Scan(&text)
	if err == nil {
		at, err = lsn.ParseSQLServerLSN(text)
	}
	return at, err == nil
}
