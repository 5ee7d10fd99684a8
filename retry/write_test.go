package retry_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/retry"
)

func TestOfWrite_PostgreSQL(t *testing.T) {
	tests := []struct {
		codes []string
		want  retry.Outcome
	}{
		{[]string{"23505", "23503", "23514", "23502", "23P01", "42601", "42703", "42P01", "42501", "22001", "22P02", "25006",
			"25P02", "40001", "40002", "40P01", "55P03", "57014", "0A000", "55000", "P0001", "3D000", "28P01", "54001", "72000"},
			retry.RolledBack},
		{[]string{"53300", "57P03"}, retry.NeverSent},
		{[]string{"08000", "08003", "08006", "08007", "08P01", "40003", "57000", "57P01", "57P02", "57P04", "57P05", "25P03", "25P04",
			"53000", "53100", "53200", "53400", "58000", "58030", "58P01", "F0000", "XX000", "XX001", "00000", "01000", "02000"},
			retry.Unknown},
	}
	for _, tt := range tests {
		for _, code := range tt.codes {
			assert.Equal(t, tt.want, retry.OfWrite(pg(code, "m")), code)
			assert.Equal(t, tt.want, retry.OfWrite(fmt.Errorf("commit: %w", pg(code, "m"))), "wrapped %s", code)
		}
	}
	for _, malformed := range []string{"", "2350", "235051"} {
		assert.Equal(t, retry.Unknown, retry.OfWrite(pg(malformed, "m")), "%q", malformed)
	}
}

func TestOfWrite_Connection(t *testing.T) {
	opaque := errors.New("opaque")
	tests := []struct {
		name string
		err  error
		want retry.Outcome
	}{
		{"acknowledged", nil, retry.Committed},
		{"opaque", opaque, retry.Unknown},
		{"EOF", io.EOF, retry.Unknown},
		{"unexpected EOF", io.ErrUnexpectedEOF, retry.Unknown},
		{"reset", opError("read", os.NewSyscallError("read", syscall.ECONNRESET)), retry.Unknown},
		{"write failed half way", opError("write", syscall.EPIPE), retry.Unknown},
		{"canceled", context.Canceled, retry.Unknown},
		{"deadline", context.DeadlineExceeded, retry.Unknown},
		{"canceled before anything was sent", safe{context.Canceled, true}, retry.NeverSent},
		{"the driver does not say", safe{io.EOF, false}, retry.Unknown},
		{"the driver does not say, the server does", safe{pg("23505", "duplicate key"), false}, retry.RolledBack},
		{"refused", opError("dial", syscall.ECONNREFUSED), retry.NeverSent},
		{"dns only", &net.DNSError{Err: "no such host", Name: "pg1"}, retry.Unknown},
		{"bad conn, which pgx also says of a COMMIT that was sent", driver.ErrBadConn, retry.Unknown},
		{"bad conn by Is", retryable{opaque}, retry.Unknown},
		{"closed, which pgx says is safe, also of a COMMIT that was sent", safe{errors.New("conn closed"), true}, retry.Unknown},
		{"closed, decorated", safe{fmt.Errorf("exec: %w", errors.New("conn closed")), true}, retry.Unknown},
		{"an answer that did not come is not safe", safe{io.ErrUnexpectedEOF, true}, retry.Unknown},
		{"busy", safe{errors.New("conn busy"), true}, retry.NeverSent},
		{"conn done", sql.ErrConnDone, retry.NeverSent},
		{"tx done", sql.ErrTxDone, retry.NeverSent},
		{"COMMIT answered with ROLLBACK", pgx.ErrTxCommitRollback, retry.RolledBack},
		{"the same, wrapped", fmt.Errorf("pay: %w", pgx.ErrTxCommitRollback), retry.RolledBack},
		{"the same from lib/pq", errors.New("pq: Could not complete operation in a failed transaction"), retry.RolledBack},
		{"scan of a returned row", errors.New("sql: Scan error on column index 0"), retry.Unknown},
		{"rolled back, and unsent afterwards", errors.Join(pg("23505", "duplicate key"), sql.ErrConnDone), retry.RolledBack},
		{"unsent, and unsent again", errors.Join(sql.ErrConnDone, sql.ErrTxDone), retry.NeverSent},
		{"lost, and unsent afterwards", errors.Join(io.ErrUnexpectedEOF, sql.ErrTxDone), retry.Unknown},
		{"lost, and unsent afterwards, by gorm", fmt.Errorf("%v; %w", io.ErrUnexpectedEOF, sql.ErrTxDone), retry.Unknown}, //nolint:errorlint // as GORM does it
		{"translated by gorm", fmt.Errorf("%w: %w", gorm.ErrDuplicatedKey, pg("23505", "duplicate key")), retry.Unknown},
		{"an empty join", emptyJoin{}, retry.Unknown},
		{"wraps nothing", emptyWrap{}, retry.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, retry.OfWrite(tt.err)) })
	}
}

// gorm's own AddError, not a copy of its format: when gorm changes how it joins errors, this must be looked at again.
func TestOfWrite_SeesThatGormHidesAnError(t *testing.T) {
	db := &gorm.DB{Config: &gorm.Config{}}
	_ = db.AddError(io.ErrUnexpectedEOF)
	_ = db.AddError(sql.ErrTxDone)
	assert.Equal(t, retry.Unknown, retry.OfWrite(db.Error), db.Error.Error())
}

type emptyJoin struct{}

func (emptyJoin) Error() string   { return "nothing joined" }
func (emptyJoin) Unwrap() []error { return []error{nil} }

type emptyWrap struct{}

func (emptyWrap) Error() string { return "wraps nothing" }
func (emptyWrap) Unwrap() error { return nil }

func TestOutcome_Happened(t *testing.T) {
	assert.True(t, retry.Unknown.Happened())
	assert.True(t, retry.Committed.Happened())
	assert.False(t, retry.RolledBack.Happened())
	assert.False(t, retry.NeverSent.Happened())
	assert.Equal(t, retry.Unknown, retry.Outcome(0), "an outcome that nobody set must be the careful one")
}

func TestNames(t *testing.T) {
	assert.Equal(t, []string{"unknown", "committed", "rolled_back", "never_sent", "invalid"},
		[]string{retry.Unknown.String(), retry.Committed.String(), retry.RolledBack.String(), retry.NeverSent.String(), retry.Outcome(9).String()})
	assert.Equal(t, []string{"surface", "elsewhere", "primary", "invalid"},
		[]string{retry.Surface.String(), retry.Elsewhere.String(), retry.Primary.String(), retry.Action(9).String()})

	seen := map[string]bool{}
	for i, c := range retry.Causes() {
		assert.Equal(t, retry.Cause(i), c)
		assert.Regexp(t, `^[a-z]+(_[a-z]+)*$`, c.String())
		assert.NotEqual(t, "invalid", c.String())
		assert.False(t, seen[c.String()], "%s twice", c)
		seen[c.String()] = true
	}
	assert.Len(t, seen, 19)
	assert.Equal(t, "invalid", retry.Cause(200).String())
}
