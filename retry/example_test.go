package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/readsplit/readsplit/retry"
)

func ExampleOfRead() {
	for _, err := range []error{
		io.ErrUnexpectedEOF,
		&pgconn.PgError{Code: "40001", Message: "canceling statement due to conflict with recovery"},
		&pgconn.PgError{Code: "25006", Message: "cannot execute INSERT in a read-only transaction"},
		&pgconn.PgError{Code: "42601", Message: "syntax error"},
	} {
		v := retry.OfRead(err)
		fmt.Println(v.Action, v.Cause, v.CountsAsWrite, v.ServerSuspect)
	}
	// Output:
	// elsewhere connection false true
	// elsewhere recovery_conflict false false
	// primary read_only_refusal true false
	// surface statement false false
}

// A server that is held dead has its reads broken off. Their callers still wait, so the reads go elsewhere.
func ExampleOfAttempt() {
	caller := context.Background()
	attempt, breakOff := context.WithCancelCause(caller)
	breakOff(retry.ErrServerDead)

	fmt.Println(retry.OfAttempt(caller, attempt, context.Canceled).Action)
	fmt.Println(retry.OfRead(context.Canceled).Action)
	// Output:
	// elsewhere
	// surface
}

func ExampleOfWrite() {
	fmt.Println(retry.OfWrite(nil))
	fmt.Println(retry.OfWrite(&pgconn.PgError{Code: "23505", Message: "duplicate key"}))
	fmt.Println(retry.OfWrite(errors.New("unexpected EOF")))
	fmt.Println(retry.OfWrite(context.Canceled))
	// Output:
	// committed
	// rolled_back
	// unknown
	// unknown
}

func ExampleConflictOf() {
	err := &pgconn.PgError{
		Code: "40001", Message: "canceling statement due to conflict with recovery",
		Detail: "User query might have needed to see row versions that must be removed.",
	}
	fmt.Println(retry.ConflictOf(err), retry.ConflictOf(io.EOF))
	// Output: snapshot none
}

func ExampleWithOutcome() {
	err := retry.WithOutcome(io.ErrUnexpectedEOF) // as a COMMIT ends whose answer is lost
	fmt.Println(errors.Is(err, retry.ErrOutcomeUnknown), errors.Is(err, io.ErrUnexpectedEOF))
	fmt.Println(retry.WithOutcome(&pgconn.PgError{Severity: "ERROR", Code: "23505", Message: "duplicate key"}))
	// Output:
	// true true
	// ERROR: duplicate key (SQLSTATE 23505)
}
