package workload

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/verify/history"
)

// What is not certain is unknown: a write that is taken for failed and is there
// would be an accusation, and one that is taken for done and is gone another.
func TestOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want history.Result
	}{
		"done":                          {nil, history.OK},
		"refused by the server":         {&pgconn.PgError{Code: "40P01"}, history.Failed},
		"refused, in a wrapper":         {fmt.Errorf("create: %w", &pgconn.PgError{Code: "23505"}), history.Failed},
		"the server goes down":          {&pgconn.PgError{Code: "57P01"}, history.Unknown},
		"it crashed":                    {&pgconn.PgError{Code: "57P02"}, history.Unknown},
		"it says it was the connection": {&pgconn.PgError{Code: "08006"}, history.Unknown},
		"never connected":               {&pgconn.ConnectError{}, history.Failed},
		"connection lost":               {io.ErrUnexpectedEOF, history.Unknown},
		"bad connection":                {driver.ErrBadConn, history.Unknown},
		"given up":                      {context.Canceled, history.Unknown},
		"too late":                      {context.DeadlineExceeded, history.Unknown},
		"rolled back":                   {fmt.Errorf("%w: %w", errRolledBack, io.ErrUnexpectedEOF), history.Failed},
		"rolled back as it went down":   {fmt.Errorf("%w: %w", errRolledBack, &pgconn.PgError{Code: "57P01"}), history.Failed},
		"not sent":                      {fmt.Errorf("%w: %w", errNotSent, io.EOF), history.Failed},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, outcome(c.err)) })
	}
}

func TestToldHasNoDSN(t *testing.T) {
	_, err := pgconn.Connect(t.Context(), "host=127.0.0.1 port=1 user=somebody password=secret dbname=shop connect_timeout=1")
	text := told(errors.Join(errors.New("first"), err))
	assert.NotContains(t, text, "somebody")
	assert.NotContains(t, text, "secret")
	assert.Contains(t, text, "cannot connect")
	assert.Equal(t, "SQLSTATE 40001: conflict", told(&pgconn.PgError{Code: "40001", Message: "conflict"}))
	assert.Empty(t, told(nil))
}
