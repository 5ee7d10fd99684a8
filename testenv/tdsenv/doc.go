// Package tdsenv is a double of SQL Server: it speaks TDS 7.4 to real drivers, runs the T-SQL that
// GORM sends on tables in memory, and behaves as an Always On availability group, with a listener,
// read-only routing and secondaries that lag, hang, die and fail over. It is no SQL Server: what it
// shows is what the protocol and the documentation say, and docs/sqlserver-double.md lists what it
// models and what it does not.
//
//	func TestOrderIsInTheList(t *testing.T) {
//		group := tdsenv.Start(t, tdsenv.Config{})              // SQL1, and the secondaries SQL2 and SQL3
//		app := newApp(group.Primary().DSN(), group.Replica(0).ReadOnlyDSN())
//		undo, err := group.Replica(0).PauseRedo(t.Context()) // it stays in the past
//		...
//	}
//
// [Start] is for tests and [New] for programs and TestMain, as in package testenv, whose names and
// manners this package has where the two databases are alike.
//
// # Faults
//
// A fault is a method of [Server]. It returns when it is in force, and its [Undo] returns when it
// no longer is. Faults may be combined, and undone in any order.
//
//	PauseRedo    log arrives and is hardened; readers see a state that no longer moves
//	Delay        every commit is redone so much later
//	Suspend      data movement is suspended: nothing arrives
//	Cut          no connection to the group; a primary loses its quorum
//	HideCommits  commits are redone, and counted, and not shown
//	HoldView     the view of the group keeps saying what it says now
//	DenyView     VIEW SERVER STATE is missing
//	Allow        which connections the server takes as a secondary
//	Route        the server's READ_ONLY_ROUTING_URL
//	Freeze       no answer, no error
//	Kill         all connections break, and new ones are refused, until Undo starts it again
//	FailNext     an error, or a broken connection, in place of an answer
//
// [Server.Sever] breaks connections once. [Cluster.Failover] and [Cluster.ForceFailover] make
// another server the primary, and [Server.Resume] brings back what a forced one has suspended.
//
// # What it does not do
//
// It does not encrypt, so that DSNs say encrypt=disable. A statement that it does not understand
// is error 102 (a function 195, a procedure 2812) with the text in it, never a silent success.
//
// # Goroutines
//
// One for each server and listener, one that carries the log, and two for each connection.
// [Cluster.Close] ends and joins them all. Nothing is written to disk.
package tdsenv
