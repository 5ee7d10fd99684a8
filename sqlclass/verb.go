package sqlclass

// Verb is the kind of a statement, as far as a router or a guard has to tell
// kinds apart. A statement that starts with WITH has the verb of the statement
// that follows its common table expressions.
type Verb uint8

const (
	// Other is everything without a verb of its own, and an empty text.
	Other Verb = iota

	Select
	Values
	Table // TABLE name, short for SELECT * FROM name
	Show
	Explain

	Insert
	Update
	Delete
	Merge

	Set            // SET name, SET LOCAL, SET ROLE, T-SQL SET
	SetTransaction // SET TRANSACTION, SET SESSION CHARACTERISTICS
	Reset          // RESET
	Discard        // DISCARD

	Begin              // BEGIN, START TRANSACTION, BEGIN TRANSACTION
	Commit             // COMMIT, END
	Rollback           // ROLLBACK, ABORT
	Savepoint          // SAVEPOINT, SAVE TRANSACTION
	Release            // RELEASE SAVEPOINT
	RollbackTo         // ROLLBACK TO SAVEPOINT, ROLLBACK TRANSACTION name
	PrepareTransaction // first phase of a two-phase commit
	CommitPrepared     // second phase: makes another transaction's work visible
	RollbackPrepared   // second phase, undone

	Prepare    // PREPARE name AS
	Execute    // EXECUTE of a prepared statement; T-SQL EXEC is Call
	Deallocate // DEALLOCATE

	Define      // CREATE, ALTER, DROP, TRUNCATE, COMMENT, GRANT, ...
	Maintenance // VACUUM, ANALYZE, REINDEX, CLUSTER, REFRESH, CHECKPOINT
	Copy        // COPY, BULK INSERT
	Call        // CALL, EXEC
	Do          // DO
	Listen      // LISTEN, UNLISTEN
	Notify      // NOTIFY
	Lock        // LOCK TABLE
	Cursor      // DECLARE, FETCH, MOVE, CLOSE

	verbEnd
)

var verbNames = [verbEnd]string{
	Other: "other", Select: "select", Values: "values", Table: "table", Show: "show", Explain: "explain",
	Insert: "insert", Update: "update", Delete: "delete", Merge: "merge",
	Set: "set", SetTransaction: "set_transaction", Reset: "reset", Discard: "discard",
	Begin: "begin", Commit: "commit", Rollback: "rollback", Savepoint: "savepoint", Release: "release",
	RollbackTo: "rollback_to", PrepareTransaction: "prepare_transaction",
	CommitPrepared: "commit_prepared", RollbackPrepared: "rollback_prepared",
	Prepare: "prepare", Execute: "execute", Deallocate: "deallocate",
	Define: "define", Maintenance: "maintenance", Copy: "copy", Call: "call", Do: "do",
	Listen: "listen", Notify: "notify", Lock: "lock", Cursor: "cursor",
}

// String returns the name in snake_case: "select", "rollback_to".
func (v Verb) String() string {
	if v < verbEnd {
		return verbNames[v]
	}
	return "invalid"
}
