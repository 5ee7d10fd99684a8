package retry_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/retry"
)

func severe(severity, code string) *pgconn.PgError {
	return &pgconn.PgError{Severity: severity, SeverityUnlocalized: severity, Code: code, Message: "m"}
}

func TestWithOutcome(t *testing.T) {
	for _, definite := range []error{
		nil, pg("23505", "duplicate key"), pg("40001", "could not serialize"), pg("40P01", "deadlock detected"),
		errors.New("failed to encode args[2]: unable to encode"), // by the driver: nothing was sent
		sql.ErrTxDone, sql.ErrConnDone, severe("FATAL", "53300"), severe("ERROR", "53100"), severe("ERROR", "XX000"),
	} {
		assert.Equal(t, definite, retry.WithOutcome(definite), "as it is")
		assert.NotErrorIs(t, retry.WithOutcome(definite), retry.ErrOutcomeUnknown)
	}
	for _, unknown := range []error{
		io.ErrUnexpectedEOF, context.Canceled, context.DeadlineExceeded, severe("FATAL", "57P01"), severe("FATAL", "53100"), severe("ERROR", "08006"),
	} {
		err := retry.WithOutcome(unknown)
		require.ErrorIs(t, err, retry.ErrOutcomeUnknown)
		require.ErrorIs(t, err, unknown, "the driver's own is behind it")
		assert.Equal(t, retry.Unknown, retry.OfWrite(err), "judged again it is the same")
		assert.Equal(t, err, retry.WithOutcome(err), "once is enough")
		assert.Equal(t, "readsplit: the outcome of the write is unknown, it may have been committed: read the row again through the same session, do not blindly repeat the write ("+unknown.Error()+")", err.Error())
	}
	var pgErr *pgconn.PgError
	require.ErrorAs(t, retry.WithOutcome(severe("FATAL", "57P01")), &pgErr)
	assert.Equal(t, "57P01", pgErr.Code)
	assert.NotErrorIs(t, retry.WithOutcome(io.EOF), sql.ErrTxDone)
}

// What gorm does to errors leaves the kind to be found: it translates them, and keeps the first of two as text.
func TestUnknownOutcomeThroughGORM(t *testing.T) {
	db := &gorm.DB{Config: &gorm.Config{TranslateError: true, Dialector: postgres.Dialector{}}}
	committed := retry.WithOutcome(severe("FATAL", "57P01"))
	_ = db.AddError(committed)
	require.ErrorIs(t, db.Error, retry.ErrOutcomeUnknown)

	_ = db.AddError(retry.AfterUnknown(committed, sql.ErrTxDone)) // the deferred Rollback
	require.ErrorIs(t, db.Error, retry.ErrOutcomeUnknown)
	require.ErrorIs(t, db.Error, sql.ErrTxDone)
	var pgErr *pgconn.PgError
	require.ErrorAs(t, db.Error, &pgErr)
	assert.Equal(t, retry.Unknown, retry.OfWrite(db.Error))
}

func TestAfterUnknown(t *testing.T) {
	before := retry.WithOutcome(io.ErrUnexpectedEOF)
	require.NoError(t, retry.AfterUnknown(before, nil))
	after := retry.AfterUnknown(before, sql.ErrTxDone)
	assert.Equal(t, sql.ErrTxDone.Error(), after.Error())
	assert.True(t, errors.Is(after, sql.ErrTxDone) && errors.Is(after, io.ErrUnexpectedEOF))
	for _, definite := range []error{nil, pg("23505", "duplicate key")} {
		assert.Equal(t, sql.ErrTxDone, retry.AfterUnknown(definite, sql.ErrTxDone))
	}
}
