package sqlclass

import "strings"

// Flags are properties of a text beside its class.
type Flags uint8

const (
	// SetsSession marks a statement that changes the state of its connection
	// beyond the transaction: SET, RESET, DISCARD, set_config, setseed, LISTEN,
	// PREPARE, LOAD, session advisory locks, CREATE TEMP TABLE, USE. SET LOCAL
	// and SET TRANSACTION do not carry it.
	SetsSession Flags = 1 << iota
	// AsyncCommit marks a statement that is not a read and may turn synchronous
	// commit off (or on): it mentions synchronous_commit, or calls set_config
	// with a setting whose name cannot be read from the text. A commit after it
	// may be acknowledged before its WAL is flushed. On SQL Server it stands for
	// delayed durability.
	AsyncCommit
	// Multi marks a text with more than one statement.
	Multi
	// DDL marks CREATE, ALTER, DROP, TRUNCATE, COMMENT, GRANT, SELECT INTO and their like:
	// after it, prepared statements and catalogue caches may be out of date.
	DDL
	// TxControl marks BEGIN, COMMIT, ROLLBACK, savepoints, SET TRANSACTION and
	// two-phase commit.
	TxControl
	// UnlistedCalls marks a text whose class is Unknown for one reason alone: it
	// calls functions that are not on the built-in list. If every name that
	// Functions reports is stable, immutable or Harmless, the text is a Read.
	UnlistedCalls
	// SetsLocal marks a text whose class is Unknown for one reason alone: it sets
	// parameters until the end of its transaction, by SET LOCAL or by set_config
	// with TRUE as its last argument in a query that names no relation. Outside a
	// transaction it does nothing.
	SetsLocal
	// Redefines marks DDL that may change what functions, views and names of the
	// database do: everything but the likes of CREATE TABLE, TRUNCATE and COMMENT,
	// by the words in its text.
	Redefines
)

// Has reports whether all of want is set.
func (f Flags) Has(want Flags) bool { return f&want == want }

var flagNames = [...]string{"sets_session", "async_commit", "multi", "ddl", "tx_control", "unlisted_calls", "sets_local", "redefines"}

// String lists the set flags in a fixed order, separated by "|". No flag is "".
func (f Flags) String() string {
	var parts []string
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			parts = append(parts, name)
		}
	}
	return strings.Join(parts, "|")
}
