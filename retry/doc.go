// Package retry answers one question: after a statement failed, what may be done about it?
//
// It is pure. It looks at an error value and, in [OfAttempt], at two contexts; it runs nothing, waits for
// nothing, draws no random number and imports no database driver. Errors are read by what they can do:
//
//	interface{ SQLState() string }       PostgreSQL (pgx, lib/pq): the five characters of a SQLSTATE
//	interface{ SQLErrorNumber() int32 }  SQL Server (go-mssqldb): the error number
//	interface{ SQLErrorClass() uint8 }   SQL Server: the severity
//	interface{ SafeToRetry() bool }      pgx: nothing had been sent
//	net.Error, io.EOF, driver.ErrBadConn and their kin
//
// and through every wrapped and joined error, so that a translated or decorated error is judged by what is in it.
//
// # Reads and writes are judged apart
//
// A read that failed on a replica may be run again: [OfRead] says where. A write is never run
// again: [OfWrite] says only whether it can have been committed, because a session that cannot know it must not
// read from a replica that may lack it.
//
// # Give it the error as the driver returned it
//
// gorm joins a second error to the first as text, and translates some into its own. Both lose the code. So the
// place to ask is where the statement ran (a connection pool, a transaction's Commit), not gorm's DB.Error.
//
// # When not to ask
//
// A read inside a transaction or on a *sql.Conn belongs to that connection and is never run elsewhere. Nor is
// a read that ran on the primary.
package retry
