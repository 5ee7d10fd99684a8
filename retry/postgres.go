package retry

import "strings"

// postgresRead judges a read on a standby by the SQLSTATE that it failed with. The message is looked at only where
// one SQLSTATE has several meanings, and only to be more precise: servers translate their messages.
func postgresRead(code, message string) Verdict {
	if v, ok := postgresReadCodes[code]; ok {
		return v
	}
	switch code {
	case "0A000":
		return notSupported(message)
	case "55000":
		return wrongState(message)
	case "57014":
		// A person, or statement_timeout, wants this statement gone: run elsewhere it would only cost again. Old
		// servers report a recovery conflict under this code too.
		if strings.Contains(message, "conflict with recovery") {
			return elsewhere(CauseRecoveryConflict)
		}
		return surface(CauseCanceled)
	case "22P02":
		// A value of an enumeration that ALTER TYPE ... ADD VALUE has added on the primary a moment ago. Other bad
		// input is bad everywhere, and must not be a way to send load to the primary.
		if strings.Contains(message, "for enum ") {
			return primary(CauseSchemaBehind)
		}
	case "XX000":
		return internalError(message)
	}
	switch {
	case strings.HasPrefix(code, "08"): // connection exceptions; poolers report their own troubles as 08P01
		return suspect(CauseConnection)
	case strings.HasPrefix(code, "28"): // login refused: a password that was changed on one side
		return elsewhere(CauseConfiguration)
	case strings.HasPrefix(code, "53"):
		return elsewhere(CauseResources)
	case strings.HasPrefix(code, "58"):
		return elsewhere(CauseStorage)
	}
	return surface(CauseStatement)
}

var postgresReadCodes = map[string]Verdict{
	"25006": asWrite(CauseReadOnlyRefusal), // read_only_sql_transaction: "cannot execute INSERT in a read-only transaction"

	"25P03": elsewhere(CauseTerminated), // idle_in_transaction_session_timeout
	"25P04": surface(CauseCanceled),     // transaction_timeout: a limit that someone set, as statement_timeout is

	"26000": elsewhere(CauseStalePlan), // prepared statement does not exist: deallocated, or behind a pooler
	"42P05": elsewhere(CauseStalePlan), // prepared statement exists already: behind a pooler

	"3D000": primary(CauseSchemaBehind), // database does not exist: created a moment ago
	"3F000": primary(CauseSchemaBehind), // schema
	"42703": primary(CauseSchemaBehind), // column
	"42704": primary(CauseSchemaBehind), // type, and other objects
	"42883": primary(CauseSchemaBehind), // function, operator
	"42P01": primary(CauseSchemaBehind), // table, view
	// What else a planner says of a statement by the catalogue that it has: it costs the primary a parse.
	"42702": primary(CauseSchemaBehind), // ambiguous column: one of them is dropped by now
	"42725": primary(CauseSchemaBehind), // ambiguous function
	"42803": primary(CauseSchemaBehind), // grouping: by a primary key that is not there yet
	"42804": primary(CauseSchemaBehind), // datatype mismatch: a column that has changed its type
	"42809": primary(CauseSchemaBehind), // wrong object type: a view that is a table by now
	"42846": primary(CauseSchemaBehind), // a cast that is not there yet

	"40000": elsewhere(CauseRecoveryConflict),
	"40001": elsewhere(CauseRecoveryConflict), // "canceling statement due to conflict with recovery"
	"40003": suspect(CauseConnection),         // statement_completion_unknown
	"40P01": elsewhere(CauseRecoveryConflict), // deadlock: "User transaction caused buffer deadlock with recovery"

	"53300": elsewhere(CauseTooManyConnections),
	"53400": surface(CauseCanceled), // temp_file_limit and the like: a statement too big for one server is so for all

	"55P03": elsewhere(CauseLockTimeout), // lock_timeout: replay holds an ACCESS EXCLUSIVE lock

	"57000": suspect(CauseTerminated),
	"57P01": suspect(CauseTerminated),   // admin_shutdown
	"57P02": suspect(CauseTerminated),   // crash_shutdown: another backend died
	"57P03": suspect(CauseStarting),     // cannot_connect_now: starting up, shutting down, not yet consistent
	"57P04": primary(CauseTerminated),   // database_dropped: what replay did here it does on every replica
	"57P05": elsewhere(CauseTerminated), // idle_session_timeout

	"HV00N": elsewhere(CauseConnection), // a foreign server that this one cannot reach; another may

	"XX001": elsewhere(CauseStorage), // data_corrupted
	"XX002": elsewhere(CauseStorage), // index_corrupted
}

// notSupported judges 0A000. Refused by a standby, a statement is no longer proven to be a read, unless what it
// wanted is known to be harmless.
func notSupported(message string) Verdict {
	switch {
	case strings.Contains(message, "cached plan must not change result type"):
		return elsewhere(CauseStalePlan)
	case strings.Contains(message, "serializable mode in a hot standby"),
		strings.Contains(message, "temporary or unlogged relations during recovery"):
		return primary(CauseUnsupportedOnStandby)
	}
	return asWrite(CauseUnsupportedOnStandby)
}

// wrongState judges 55000: functions that work on the write-ahead log are refused with it during recovery, those
// that only look as well as those that write.
func wrongState(message string) Verdict {
	switch {
	case strings.Contains(message, "is not yet defined in this session"): // currval, lastval
		return primary(CauseUnsupportedOnStandby)
	case strings.Contains(message, "has not been populated"): // a materialized view whose REFRESH is not replayed yet
		return primary(CauseSchemaBehind)
	}
	return asWrite(CauseUnsupportedOnStandby)
}

// internalError judges XX000, under which a server reports what its authors thought impossible.
func internalError(message string) Verdict {
	switch {
	case strings.Contains(message, "during recovery"), strings.Contains(message, "read-only"),
		strings.Contains(message, "recovery is in progress"):
		return asWrite(CauseReadOnlyRefusal) // "cannot assign TransactionIds during recovery"
	case strings.Contains(message, "cache lookup failed"),
		strings.Contains(message, "could not open relation with OID"):
		return primary(CauseSchemaBehind) // the statement was planned while replay dropped what it names
	}
	return surface(CauseStatement)
}
