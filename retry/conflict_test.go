package retry_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/retry"
)

func TestConflictOf(t *testing.T) {
	conflict := func(code, detail, routine string) error {
		return &pgconn.PgError{Code: code, Message: "canceling statement due to conflict with recovery", Detail: detail, Routine: routine}
	}
	for want, details := range map[retry.ConflictKind][]string{
		retry.ConflictSnapshot:   {"User query might have needed to see row versions that must be removed."},
		retry.ConflictLock:       {"User was holding a relation lock for too long."},
		retry.ConflictBufferPin:  {"User was holding shared buffer pin for too long."},
		retry.ConflictTablespace: {"User was or might have been using tablespace that must be dropped."},
		retry.ConflictDatabase:   {"User was connected to a database that must be dropped."},
		retry.ConflictDeadlock:   {"User transaction caused buffer deadlock with recovery."},
		retry.ConflictSlot:       {"User was using a logical replication slot that must be invalidated."},
		retry.ConflictUnknown:    {"", "Der Benutzer hat eine Relationssperre zu lange gehalten."},
	} {
		for _, detail := range details {
			for _, code := range []string{"40001", "57014"} {
				err := conflict(code, detail, "ProcessInterrupts")
				assert.Equal(t, want, retry.ConflictOf(err), "%s %s", code, detail)
				assert.Equal(t, want, retry.ConflictOf(fmt.Errorf("list: %w", errors.Join(io.EOF, err))), "wrapped")
			}
		}
	}
	assert.Equal(t, retry.ConflictDatabase, retry.ConflictOf(conflict("57P04", "", "")))
	assert.Equal(t, retry.ConflictDeadlock, retry.ConflictOf(conflict("40P01", "translated", "")))
	assert.Equal(t, retry.ConflictDeadlock, retry.ConflictOf(conflict("40001", "translated", "CheckRecoveryConflictDeadlock")))
	assert.Equal(t, retry.ConflictUnknown, retry.ConflictOf(mssqlError{number: 3947}))
	for _, err := range []error{nil, io.EOF, pg("57014", "canceling statement due to user request"), pg("23505", "duplicate"), mssqlError{number: 207}} {
		assert.Equal(t, retry.ConflictNone, retry.ConflictOf(err), "%v", err)
	}
}

func TestConflictKinds(t *testing.T) {
	seen := map[string]bool{}
	for i, k := range retry.ConflictKinds() {
		assert.Equal(t, retry.ConflictKind(i), k)
		assert.Regexp(t, `^[a-z]+(_[a-z]+)*$`, k.String())
		seen[k.String()] = true
	}
	assert.Len(t, seen, 9)
	assert.Equal(t, "invalid", retry.ConflictKind(9).String())
}
