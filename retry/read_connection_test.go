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
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/retry"
)

// safe is an error of which the driver says that nothing had been sent.
type safe struct {
	error
	safe bool
}

func (s safe) SafeToRetry() bool { return s.safe }
func (s safe) Unwrap() error     { return s.error }

// retryable answers errors.Is for driver.ErrBadConn and wraps what it really was, as go-mssqldb's does.
type retryable struct{ error }

func (r retryable) Is(target error) bool { return target == driver.ErrBadConn }

func opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Err: err}
}

// garbage is what pgx makes of a message that no PostgreSQL sends.
func garbage(t *testing.T) error {
	t.Helper()
	_, err := pgproto3.NewFrontend(strings.NewReader("Z\x00\x00\x00\x06ab"), io.Discard).Receive()
	require.Error(t, err)
	return fmt.Errorf("receive message failed: %w", err)
}

func TestOfRead_Connection(t *testing.T) {
	opaque := errors.New("opaque")
	tests := []struct {
		name string
		err  error
		want retry.Verdict
	}{
		{"nil", nil, retry.Verdict{}},
		{"opaque", opaque, surface(retry.CauseStatement)},
		{"EOF", io.EOF, suspect(retry.CauseConnection)},
		{"unexpected EOF", io.ErrUnexpectedEOF, suspect(retry.CauseConnection)},
		{"bad conn", driver.ErrBadConn, suspect(retry.CauseConnection)},
		{"bad conn by Is", retryable{opaque}, suspect(retry.CauseConnection)},
		{"socket closed", net.ErrClosed, suspect(retry.CauseConnection)},
		{"socket deadline", os.ErrDeadlineExceeded, suspect(retry.CauseConnection)},
		{"read EOF", opError("read", io.EOF), suspect(retry.CauseConnection)},
		{"reset", opError("read", os.NewSyscallError("read", syscall.ECONNRESET)), suspect(retry.CauseConnection)},
		{"refused", opError("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)), suspect(retry.CauseConnection)},
		{"net text", opError("read", opaque), suspect(retry.CauseConnection)},
		{"dns", &net.DNSError{Err: "no such host", Name: "replica"}, suspect(retry.CauseConnection)},
		{"nothing sent", safe{opaque, true}, suspect(retry.CauseConnection)},
		{"not said to be unsent", safe{opaque, false}, surface(retry.CauseStatement)},
		{"unsent for a reason", safe{pg("57P03", "starting up"), true}, suspect(retry.CauseStarting)},
		{"unsent because the caller left", safe{context.Canceled, true}, surface(retry.CauseCaller)},
		{"own descriptors", opError("dial", os.NewSyscallError("socket", syscall.EMFILE)), elsewhere(retry.CauseResources)},
		{"no ports left", opError("dial", os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)), elsewhere(retry.CauseResources)},
		{"descriptors of the machine", opError("dial", os.NewSyscallError("socket", syscall.ENFILE)), elsewhere(retry.CauseResources)},
		{"no buffers", opError("write", os.NewSyscallError("write", syscall.ENOBUFS)), elsewhere(retry.CauseResources)},
		{"no memory", opError("dial", syscall.ENOMEM), elsewhere(retry.CauseResources)},
		{"a pipe that is closed", io.ErrClosedPipe, suspect(retry.CauseConnection)},
		{"an errno alone", syscall.EPIPE, suspect(retry.CauseConnection)},
		{"garbage of a proxy", garbage(t), suspect(retry.CauseConnection)},
		{"a foreign server out of reach", &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "08001", Message: "could not connect to server \"x\""}, elsewhere(retry.CauseConnection)},
		{"a pooler that lost its server", &pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "08P01", Message: "server conn crashed?"}, suspect(retry.CauseConnection)},
		{"conn done", sql.ErrConnDone, elsewhere(retry.CauseConnection)},
		{"pool closed", errors.New("sql: database is closed"), elsewhere(retry.CauseConnection)},
		{"closed, found while tidying up", fmt.Errorf("failed to deallocate cached statement(s): %w", errors.New("conn closed")), suspect(retry.CauseConnection)},
		{"no rows", sql.ErrNoRows, surface(retry.CauseStatement)},
		{"tx done", sql.ErrTxDone, surface(retry.CauseStatement)},
		{"canceled", context.Canceled, surface(retry.CauseCaller)},
		{"deadline", context.DeadlineExceeded, surface(retry.CauseCaller)},
		{"canceled wrapped", fmt.Errorf("query: %w", context.Canceled), surface(retry.CauseCaller)},
		{"canceled and EOF", errors.Join(io.EOF, context.Canceled),
			retry.Verdict{Action: retry.Surface, Cause: retry.CauseCaller, ServerSuspect: true}},
		{"refusal and EOF", errors.Join(io.EOF, pg("25006", "cannot execute UPDATE in a read-only transaction")),
			retry.Verdict{Action: retry.Primary, Cause: retry.CauseReadOnlyRefusal, CountsAsWrite: true, ServerSuspect: true}},
		{"canceled statement and EOF", errors.Join(pg("57014", "user request"), io.EOF), suspect(retry.CauseConnection)},
		{"canceled statement and text", errors.Join(opaque, pg("57014", "user request")), surface(retry.CauseCanceled)},
		{"second thoughts of gorm", fmt.Errorf("%v; %w", opaque, io.EOF), suspect(retry.CauseConnection)}, //nolint:errorlint // as GORM does it
		{"held dead", retry.ErrServerDead, suspect(retry.CauseServerDead)},
		{"attempt timeout", fmt.Errorf("x: %w", retry.ErrAttemptTimeout), elsewhere(retry.CauseAttemptTimeout)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, retry.OfRead(tt.err)) })
	}
}

// quicker has a deadline that has passed, and its timer has not fired.
type quicker struct{ context.Context }

func (quicker) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

func TestOfAttempt(t *testing.T) {
	live := context.Background()
	gone, cancel := context.WithCancel(live)
	cancel()
	dead, cancelDead := context.WithCancelCause(live)
	cancelDead(fmt.Errorf("pg2: %w", retry.ErrServerDead))
	late, cancelLate := context.WithTimeoutCause(live, 0, retry.ErrAttemptTimeout)
	defer cancelLate()
	plain, cancelPlain := context.WithTimeout(live, 0)
	defer cancelPlain()
	other, cancelOther := context.WithCancel(live)
	cancelOther()
	refused := pg("25006", "cannot execute INSERT in a read-only transaction")

	tests := []struct {
		name            string
		caller, attempt context.Context
		err             error
		want            retry.Verdict
	}{
		{"no error", live, dead, nil, retry.Verdict{}},
		{"the socket was quicker than the caller's timer", quicker{live}, quicker{live}, context.DeadlineExceeded, surface(retry.CauseCaller)},
		{"the socket was quicker than the attempt's timer", live, quicker{live}, context.DeadlineExceeded, elsewhere(retry.CauseAttemptTimeout)},
		{"nobody ended", live, live, io.EOF, suspect(retry.CauseConnection)},
		{"caller left, connection broke", gone, gone, io.EOF, surface(retry.CauseCaller)},
		{"caller left, server dead", gone, dead, context.Canceled, surface(retry.CauseCaller)},
		{"server dead", live, dead, context.Canceled, suspect(retry.CauseServerDead)},
		{"server dead, seen as a broken connection", live, dead, io.ErrUnexpectedEOF, suspect(retry.CauseServerDead)},
		{"server dead, but it had refused a write", live, dead, refused, asWrite(retry.CauseReadOnlyRefusal)},
		{"deadline of the attempt", live, late, context.DeadlineExceeded, elsewhere(retry.CauseAttemptTimeout)},
		{"deadline of the attempt without a cause", live, plain, context.DeadlineExceeded, elsewhere(retry.CauseAttemptTimeout)},
		{"deadline of the driver", live, live, fmt.Errorf("connect: %w", context.DeadlineExceeded), suspect(retry.CauseConnection)},
		{"canceled by nobody known", live, other, context.Canceled, surface(retry.CauseCaller)},
		{"own fault", live, live, pg("42601", "syntax error"), surface(retry.CauseStatement)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, retry.OfAttempt(tt.caller, tt.attempt, tt.err))
		})
	}
}

// What pgx makes of servers that are not there, through database/sql, as an application sees it.
func TestErrorsOfPgxWithoutAServer(t *testing.T) {
	open := func(t *testing.T, addr net.Addr, timeout time.Duration) *sql.DB {
		t.Helper()
		tcp := addr.(*net.TCPAddr)
		cfg, err := pgx.ParseConfig(fmt.Sprintf("host=127.0.0.1 port=%d user=u dbname=d sslmode=disable", tcp.Port))
		require.NoError(t, err)
		cfg.ConnectTimeout = timeout
		db := stdlib.OpenDB(*cfg)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	listen := func(t *testing.T) net.Listener {
		t.Helper()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	ctx := context.Background()

	t.Run("nobody listens", func(t *testing.T) {
		l := listen(t)
		require.NoError(t, l.Close())
		_, err := open(t, l.Addr(), time.Minute).ExecContext(ctx, "SELECT 1")
		require.Error(t, err)
		assert.Equal(t, suspect(retry.CauseConnection), retry.OfRead(err), err.Error())
		assert.Equal(t, retry.NeverSent, retry.OfWrite(err), err.Error())
	})

	t.Run("hangs up during the handshake", func(t *testing.T) {
		l := listen(t)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_ = c.Close()
			}
		}()
		_, err := open(t, l.Addr(), time.Minute).ExecContext(ctx, "SELECT 1")
		require.Error(t, err)
		assert.Equal(t, suspect(retry.CauseConnection), retry.OfRead(err), err.Error())
		assert.Equal(t, retry.NeverSent, retry.OfWrite(err), err.Error())
	})

	t.Run("accepts and says nothing", func(t *testing.T) {
		l := listen(t) // the kernel accepts, nobody reads
		_, err := open(t, l.Addr(), 20*time.Millisecond).ExecContext(ctx, "SELECT 1")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, suspect(retry.CauseConnection), retry.OfAttempt(ctx, ctx, err), err.Error())
		assert.Equal(t, retry.NeverSent, retry.OfWrite(err), err.Error())
	})

	t.Run("pool closed", func(t *testing.T) {
		db := open(t, listen(t).Addr(), time.Minute)
		require.NoError(t, db.Close())
		_, err := db.ExecContext(ctx, "SELECT 1")
		require.Error(t, err)
		assert.Equal(t, elsewhere(retry.CauseConnection), retry.OfRead(err), err.Error())
		assert.Equal(t, retry.NeverSent, retry.OfWrite(err), err.Error())
	})
}
