package readsplit

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/retry"
)

// neverTaken reports whether err, of a statement on the primary, came before the
// statement had a connection: a caller whose deadline ends while it waits for a
// full pool has written nothing. pgx never returns the bare error of a deadline
// for what it had begun, so that this one is database/sql's own; other drivers may.
func (rt *router) neverTaken(err error) bool {
	if err != context.DeadlineExceeded { //nolint:errorlint // the very error
		return false
	}
	pool, err := rt.primaryDB()
	return err == nil && reflect.TypeOf(pool.Driver()).String() == "*stdlib.Driver"
}

// endedBefore reports whether ctx has ended, as everybody sees it who was given
// it: its error is there a moment earlier.
func endedBefore(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// unknownRows tells the caller of a builder's write without a transaction that
// its outcome is unknown: GORM has closed the rows of RETURNING, and with them the
// write was to commit.
func unknownRows(db *gorm.DB, err error) {
	unknown := retry.WithOutcome(err)
	if db.Error == nil || !errors.Is(unknown, retry.ErrOutcomeUnknown) {
		return
	}
	if !strings.HasPrefix(db.Error.Error(), err.Error()) {
		unknown = errors.Join(db.Error, unknown)
	}
	db.Error = unknown // GORM has put the error of Close behind that of the row, of which only a text is left
	if db.Statement.Result != nil {
		db.Statement.Result.Error = unknown
	}
}
