package retry

import (
	"reflect"
	"strings"
)

// ConflictKind is what of a read stood in the way of replay, so that the standby cancelled it: one closed list, fit
// for a metric label.
type ConflictKind uint8

const (
	// ConflictNone: it was no conflict with recovery.
	ConflictNone ConflictKind = iota
	// ConflictUnknown: a conflict of which the server does not say the kind in words that are known here (lc_messages).
	ConflictUnknown
	// ConflictSnapshot: the read might have needed rows that VACUUM removed. Raise max_standby_streaming_delay, set
	// hot_standby_feedback, or keep the read away (Config.ConflictGroup).
	ConflictSnapshot
	// ConflictLock: the read held a table that the primary locked exclusively: ALTER TABLE, DROP, TRUNCATE, LOCK, or a
	// VACUUM that gives pages back (vacuum_truncate).
	ConflictLock
	// ConflictBufferPin: the read stood on a page that replay had to clean.
	ConflictBufferPin
	// ConflictTablespace: a tablespace was dropped in which the read may have had temporary files.
	ConflictTablespace
	// ConflictDatabase: the database was dropped.
	ConflictDatabase
	// ConflictDeadlock: the read and replay waited for each other.
	ConflictDeadlock
	// ConflictSlot: a logical replication slot on the standby was invalidated.
	ConflictSlot

	conflictEnd
)

var conflictNames = [conflictEnd]string{
	ConflictNone:       "none",
	ConflictUnknown:    "unknown",
	ConflictSnapshot:   "snapshot",
	ConflictLock:       "lock",
	ConflictBufferPin:  "buffer_pin",
	ConflictTablespace: "tablespace",
	ConflictDatabase:   "database",
	ConflictDeadlock:   "deadlock",
	ConflictSlot:       "slot",
}

// String returns the kind as it appears in logs and metrics; the words are those of pg_stat_database_conflicts.
func (k ConflictKind) String() string {
	if k >= conflictEnd {
		return "invalid"
	}
	return conflictNames[k]
}

// ConflictKinds returns the whole list, in the order of its values: what a metric with this label can show.
func ConflictKinds() []ConflictKind {
	all := make([]ConflictKind, conflictEnd)
	for i := range all {
		all[i] = ConflictKind(i)
	}
	return all
}

// ConflictOf tells with what of replay a read on a standby was in conflict, from the error that the driver returned.
// The SQLSTATE says that it was a conflict; the kind stands in the error's DETAIL alone, which a server may translate:
// then it is [ConflictUnknown].
func ConflictOf(err error) ConflictKind {
	for _, e := range layers(err, nil) {
		if code, ok := sqlState(e); ok {
			return postgresConflict(code, e)
		}
		if number, ok := sqlErrorNumber(e); ok && sqlServerRead(number).Cause == CauseRecoveryConflict {
			return ConflictUnknown
		}
	}
	return ConflictNone
}

func postgresConflict(code string, err error) ConflictKind {
	switch code {
	case "57P04":
		return ConflictDatabase
	case "40P01":
		return ConflictDeadlock // a standby's own readers take no locks that could deadlock among themselves
	case "40000", "40001":
	case "57014":
		if postgresRead(code, err.Error()).Cause != CauseRecoveryConflict {
			return ConflictNone
		}
	default:
		return ConflictNone
	}
	detail := textField(err, "Detail")
	for _, d := range conflictDetails {
		if strings.Contains(detail, d.words) {
			return d.kind
		}
	}
	if textField(err, "Routine") == "CheckRecoveryConflictDeadlock" {
		return ConflictDeadlock
	}
	return ConflictUnknown
}

// conflictDetails are the words of PostgreSQL's errdetail_recovery_conflict.
var conflictDetails = []struct {
	words string
	kind  ConflictKind
}{
	{"row versions that must be removed", ConflictSnapshot},
	{"holding a relation lock", ConflictLock},
	{"holding shared buffer pin", ConflictBufferPin},
	{"tablespace that must be dropped", ConflictTablespace},
	{"database that must be dropped", ConflictDatabase},
	{"deadlock with recovery", ConflictDeadlock},
	{"logical replication slot", ConflictSlot},
}

// layers returns err and everything that it wraps.
func layers(err error, all []error) []error {
	if err == nil {
		return all
	}
	all = append(all, err)
	switch x := err.(type) { //nolint:errorlint // this is the descent itself
	case interface{ Unwrap() error }:
		return layers(x.Unwrap(), all)
	case interface{ Unwrap() []error }:
		for _, inner := range x.Unwrap() {
			all = layers(inner, all)
		}
	}
	return all
}

// textField returns a field of a driver's error, whose type is not imported here: pgconn.PgError and pq.Error both
// keep what the server said in fields of these names.
func textField(err error, name string) string {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return ""
	}
	f := v.FieldByName(name)
	if !f.IsValid() || f.Kind() != reflect.String {
		return ""
	}
	return f.String()
}

// severityError is the severity, untranslated, after which the session goes on.
const severityError = "ERROR"

// sessionGoesOn reports whether the server reported an error and kept the session: whatever the SQLSTATE says of a
// connection, it is not about this one.
func sessionGoesOn(err error) bool { return textField(err, "SeverityUnlocalized") == severityError }
