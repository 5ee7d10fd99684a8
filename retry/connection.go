package retry

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"syscall"
)

// Texts of errors that their packages neither export nor type.
const (
	textPoolClosed     = "sql: database is closed"
	textStmtClosed     = "sql: statement is closed"
	textConnClosed     = "conn closed"
	textCommitRollback = "commit unexpectedly resulted in rollback"                 // pgx: COMMIT answered with ROLLBACK
	textCommitFailedTx = "pq: Could not complete operation in a failed transaction" // lib/pq: the same
)

// connectErrorType is the name of pgx's error for a connection that was never established. It has no method to know
// it by, and without it a server that dies during the handshake looks like one that dies during a statement.
const connectErrorType = "*pgconn.ConnectError"

// protocolErrors begins the names of pgx's errors for messages that cannot be read; they have nothing else in common.
const protocolErrors = "*pgproto3."

// connectionRead judges errors of sockets, drivers and database/sql.
func connectionRead(err error) (Verdict, bool) {
	switch {
	case is(err, driver.ErrBadConn),
		is(err, io.EOF), is(err, io.ErrUnexpectedEOF),
		is(err, net.ErrClosed), is(err, io.ErrClosedPipe), is(err, os.ErrDeadlineExceeded),
		err.Error() == textConnClosed: // found out while the driver tidied up before the statement
		return suspect(CauseConnection), true
	case is(err, sql.ErrConnDone), err.Error() == textPoolClosed:
		// This process closed the connection or the pool: no news of the server.
		return elsewhere(CauseConnection), true
	case is(err, syscall.EMFILE), is(err, syscall.ENFILE), is(err, syscall.ENOBUFS), is(err, syscall.ENOMEM), is(err, syscall.EADDRNOTAVAIL):
		// This process, or its machine, has no descriptor, memory or port left; the server that it could not dial is
		// innocent.
		return elsewhere(CauseResources), true
	case strings.HasPrefix(reflect.TypeOf(err).String(), protocolErrors):
		// What came is no message of PostgreSQL: a proxy that broke, another protocol at this address.
		return suspect(CauseConnection), true
	}
	return Verdict{}, false
}

// is compares one layer: the value itself and its own Is method, never what it wraps.
func is(err, target error) bool {
	if err == target { //nolint:errorlint // one layer at a time
		return true
	}
	if x, ok := err.(interface{ Is(error) bool }); ok && x.Is(target) {
		return true
	}
	return false
}

// isNetwork reports whether this layer is an error of the network, or of a connection being made.
func isNetwork(err error) bool {
	switch err.(type) { //nolint:errorlint // this layer alone: the caller descends
	case *net.OpError, net.Error:
		return true
	}
	return isConnectError(err)
}

func isConnectError(err error) bool { return reflect.TypeOf(err).String() == connectErrorType }

// safeToRetry reports whether the driver says of this layer that nothing had been sent.
func safeToRetry(err error) bool {
	x, ok := err.(interface{ SafeToRetry() bool })
	return ok && x.SafeToRetry()
}

// neverSent reports whether this layer proves that the server cannot have run the statement.
//
// driver.ErrBadConn is no such proof, whatever its contract says: pgx before v5.13 returns it, and says that it is
// safe to retry, for a connection that was closed while it waited for the answer, to a COMMIT also. What its errors
// then end in is "conn closed", which is all that is left of the broken connection.
func neverSent(err error) bool {
	if safeToRetry(err) {
		return !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !endsInClosedConn(err)
	}
	if op, ok := err.(*net.OpError); ok && op.Op == "dial" { //nolint:errorlint // one layer at a time
		return true
	}
	switch {
	case is(err, sql.ErrConnDone), is(err, sql.ErrTxDone),
		err.Error() == textPoolClosed, err.Error() == textStmtClosed:
		return true
	}
	return isConnectError(err)
}

func endsInClosedConn(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if err.Error() == textConnClosed {
			return true
		}
	}
	return false
}

// sqlState returns the SQLSTATE of this layer.
func sqlState(err error) (string, bool) {
	if x, ok := err.(interface{ SQLState() string }); ok {
		if code := x.SQLState(); code != "" {
			return code, true
		}
	}
	return "", false
}

// sqlErrorNumber returns the SQL Server error number of this layer.
func sqlErrorNumber(err error) (int32, bool) {
	if x, ok := err.(interface{ SQLErrorNumber() int32 }); ok {
		return x.SQLErrorNumber(), true
	}
	return 0, false
}

// sqlErrorClass returns the SQL Server severity of this layer, 0 where it has none.
func sqlErrorClass(err error) uint8 {
	if x, ok := err.(interface{ SQLErrorClass() uint8 }); ok {
		return x.SQLErrorClass()
	}
	return 0
}
