package retry_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/retry"
)

func pg(code, message string) *pgconn.PgError {
	return &pgconn.PgError{Severity: "ERROR", Code: code, Message: message}
}

// Verdicts, spelled out once: the tables below read as sentences.
func surface(c retry.Cause) retry.Verdict { return retry.Verdict{Action: retry.Surface, Cause: c} }
func elsewhere(c retry.Cause) retry.Verdict {
	return retry.Verdict{Action: retry.Elsewhere, Cause: c}
}
func primary(c retry.Cause) retry.Verdict { return retry.Verdict{Action: retry.Primary, Cause: c} }
func suspect(c retry.Cause) retry.Verdict {
	return retry.Verdict{Action: retry.Elsewhere, Cause: c, ServerSuspect: true}
}

func asWrite(c retry.Cause) retry.Verdict {
	return retry.Verdict{Action: retry.Primary, Cause: c, CountsAsWrite: true}
}

var postgresReads = []struct {
	code, message string
	want          retry.Verdict
}{
	{"25006", "cannot execute INSERT in a read-only transaction", asWrite(retry.CauseReadOnlyRefusal)},
	{"25006", "cannot execute nextval() in a read-only transaction", asWrite(retry.CauseReadOnlyRefusal)},
	{"25006", "cannot execute pg_current_xact_id() during recovery", asWrite(retry.CauseReadOnlyRefusal)},
	{"0A000", "cannot use serializable mode in a hot standby", primary(retry.CauseUnsupportedOnStandby)},
	{"0A000", "cannot access temporary or unlogged relations during recovery", primary(retry.CauseUnsupportedOnStandby)},
	{"0A000", "cached plan must not change result type", elsewhere(retry.CauseStalePlan)},
	{"0A000", "something else is not supported", asWrite(retry.CauseUnsupportedOnStandby)},
	{"55000", "recovery is in progress", asWrite(retry.CauseUnsupportedOnStandby)},
	{"55000", "la restauration est en cours", asWrite(retry.CauseUnsupportedOnStandby)}, //nolint:misspell // a server that speaks French
	{"55000", `currval of sequence "s" is not yet defined in this session`, primary(retry.CauseUnsupportedOnStandby)},
	{"XX000", "cannot assign TransactionIds during recovery", asWrite(retry.CauseReadOnlyRefusal)},
	{"XX000", "cannot make new WAL entries while recovery is in progress", asWrite(retry.CauseReadOnlyRefusal)},
	{"XX000", "server is in read-only mode", asWrite(retry.CauseReadOnlyRefusal)},
	{"XX000", "cache lookup failed for type 16409", primary(retry.CauseSchemaBehind)},
	{"XX000", "could not open relation with OID 16409", primary(retry.CauseSchemaBehind)},
	{"XX000", "unrecognized node type: 42", surface(retry.CauseStatement)},
	{"XX001", "invalid page in block 7 of relation base/1/2", elsewhere(retry.CauseStorage)},
	{"XX002", "index \"i\" contains unexpected zero page", elsewhere(retry.CauseStorage)},

	{"40001", "canceling statement due to conflict with recovery", elsewhere(retry.CauseRecoveryConflict)},
	{"40P01", "deadlock detected", elsewhere(retry.CauseRecoveryConflict)},
	{"40000", "transaction rollback", elsewhere(retry.CauseRecoveryConflict)},
	{"40003", "statement completion unknown", suspect(retry.CauseConnection)},
	{"40002", "integrity constraint violation", surface(retry.CauseStatement)},
	{"55P03", "canceling statement due to lock timeout", elsewhere(retry.CauseLockTimeout)},
	{"55006", "object in use", surface(retry.CauseStatement)},

	{"57000", "operator intervention", suspect(retry.CauseTerminated)},
	{"57014", "canceling statement due to statement timeout", surface(retry.CauseCanceled)},
	{"57014", "canceling statement due to user request", surface(retry.CauseCanceled)},
	{"57014", "canceling statement due to conflict with recovery", elsewhere(retry.CauseRecoveryConflict)},
	{"57P01", "terminating connection due to administrator command", suspect(retry.CauseTerminated)},
	{"57P02", "terminating connection because of crash of another server process", suspect(retry.CauseTerminated)},
	{"57P03", "the database system is starting up", suspect(retry.CauseStarting)},
	{"57P04", "terminating connection due to conflict with recovery", primary(retry.CauseTerminated)},
	{"57P05", "terminating connection due to idle-session timeout", elsewhere(retry.CauseTerminated)},
	{"25P03", "terminating connection due to idle-in-transaction timeout", elsewhere(retry.CauseTerminated)},
	{"25P04", "terminating connection due to transaction timeout", surface(retry.CauseCanceled)},
	{"25P02", "current transaction is aborted", surface(retry.CauseStatement)},

	{"08000", "connection exception", suspect(retry.CauseConnection)},
	{"08001", "could not connect", suspect(retry.CauseConnection)},
	{"08003", "connection does not exist", suspect(retry.CauseConnection)},
	{"08006", "connection failure", suspect(retry.CauseConnection)},
	{"08P01", "server conn crashed?", suspect(retry.CauseConnection)},

	{"53000", "insufficient resources", elsewhere(retry.CauseResources)},
	{"53100", "could not write to file: No space left on device", elsewhere(retry.CauseResources)},
	{"53200", "out of memory", elsewhere(retry.CauseResources)},
	{"53300", "sorry, too many clients already", elsewhere(retry.CauseTooManyConnections)},
	{"53400", "temporary file size exceeds \"temp_file_limit\"", surface(retry.CauseCanceled)},
	{"58000", "system error", elsewhere(retry.CauseStorage)},
	{"58030", "could not read block 0", elsewhere(retry.CauseStorage)},
	{"58P01", "could not open file", elsewhere(retry.CauseStorage)},

	{"26000", "prepared statement \"s1\" does not exist", elsewhere(retry.CauseStalePlan)},
	{"42P05", "prepared statement \"s1\" already exists", elsewhere(retry.CauseStalePlan)},

	{"42703", "column \"note\" does not exist", primary(retry.CauseSchemaBehind)},
	{"42P01", "relation \"invoices\" does not exist", primary(retry.CauseSchemaBehind)},
	{"42883", "function f() does not exist", primary(retry.CauseSchemaBehind)},
	{"42704", "type \"mood\" does not exist", primary(retry.CauseSchemaBehind)},
	{"42702", "column reference \"id\" is ambiguous", primary(retry.CauseSchemaBehind)},
	{"42725", "function f(unknown) is not unique", primary(retry.CauseSchemaBehind)},
	{"42803", "column \"t.name\" must appear in the GROUP BY clause", primary(retry.CauseSchemaBehind)},
	{"42804", "argument of WHERE must be type boolean, not type integer", primary(retry.CauseSchemaBehind)},
	{"42809", "\"x\" is an index", primary(retry.CauseSchemaBehind)},
	{"42846", "cannot cast type mood to cheer", primary(retry.CauseSchemaBehind)},
	{"55000", `materialized view "sums" has not been populated`, primary(retry.CauseSchemaBehind)},
	{"HV00N", "could not connect to foreign server", elsewhere(retry.CauseConnection)},
	{"3F000", "schema \"s\" does not exist", primary(retry.CauseSchemaBehind)},
	{"3D000", "database \"d\" does not exist", primary(retry.CauseSchemaBehind)},
	{"22P02", `invalid input value for enum mood: "glad"`, primary(retry.CauseSchemaBehind)},
	{"22P02", `invalid input syntax for type integer: "x"`, surface(retry.CauseStatement)},

	{"28000", "no pg_hba.conf entry", elsewhere(retry.CauseConfiguration)},
	{"28P01", "password authentication failed", elsewhere(retry.CauseConfiguration)},

	{"42501", "permission denied for table salaries", surface(retry.CauseStatement)},
	{"42601", "syntax error", surface(retry.CauseStatement)},
	{"22012", "division by zero", surface(retry.CauseStatement)},
	{"23505", "duplicate key", surface(retry.CauseStatement)},
	{"54001", "stack depth limit exceeded", surface(retry.CauseStatement)},
	{"P0001", "raised by a function", surface(retry.CauseStatement)},
}

func TestOfRead_PostgreSQL(t *testing.T) {
	for _, tt := range postgresReads {
		t.Run(tt.code+" "+tt.message, func(t *testing.T) {
			err := pg(tt.code, tt.message)
			assert.Equal(t, tt.want, retry.OfRead(err))
			assert.Equal(t, tt.want, retry.OfRead(fmt.Errorf("list orders: %w", err)), "wrapped")
			assert.Equal(t, tt.want, retry.OfRead(errors.Join(errors.New("more"), err)), "joined")
			assert.Equal(t, tt.want, retry.OfRead(fmt.Errorf("%w: %w", gorm.ErrInvalidField, err)), "translated")
		})
	}
}

// A code that a future server adds must neither loop nor be hidden.
func TestOfRead_PostgreSQLUnknownCode(t *testing.T) {
	assert.Equal(t, surface(retry.CauseStatement), retry.OfRead(pg("99999", "news")))
	assert.Equal(t, surface(retry.CauseStatement), retry.OfRead(pg("", "no code at all")))
}
