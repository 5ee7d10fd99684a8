package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/verify/history"
)

// Event is what a client records.
type Event = history.Event

// outcome says what a client can know of a write that ended with err. It is decided
// here and not by the code that is being judged. What is not certain is unknown.
func outcome(err error) history.Result {
	if err == nil {
		return history.OK
	}
	if errors.Is(err, errRolledBack) || errors.Is(err, errNotSent) {
		return history.Failed
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch {
		case pg.Code == "57P01", pg.Code == "57P02", strings.HasPrefix(pg.Code, "08"), strings.HasPrefix(pg.Code, "XX"):
			return history.Unknown // the server went down, perhaps after the commit
		}
		return history.Failed
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return history.Failed
	}
	return history.Unknown
}

// says is what the error of a write says of the outcome. Rows that the application
// holds, and connections of its own, return the driver's errors as they are.
func (c *client) says(way string, err error) history.Result {
	switch {
	case err == nil || c.p.cfg.Plugin != "readsplit" || way == "open_rows" || way == "connection" || errors.Is(err, errRolledBack) || errors.Is(err, errNotSent):
		return ""
	case errors.Is(err, retry.ErrOutcomeUnknown):
		return history.Unknown
	}
	return history.Failed
}

var (
	// errRolledBack ends a transaction whose COMMIT is never sent.
	errRolledBack = errors.New("verify: rolled back")
	// errNotSent says that a write was given up before it was sent.
	errNotSent = errors.New("verify: not sent")
)

// told is an error for a history: what it is, and never a DSN.
func told(err error) string {
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &pg):
		return fmt.Sprintf("SQLSTATE %s: %s", pg.Code, pg.Message)
	case errors.As(err, &connect):
		return fmt.Sprintf("cannot connect: %T", errors.Unwrap(connect))
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return fmt.Sprintf("%T: %s", err, err)
}
