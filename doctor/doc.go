// Package doctor examines a primary and its replicas as an experienced
// administrator would, and says what is wrong, why it matters, and what to do.
//
// [Examine] asks every server at the same time and gives a [Report] of findings.
// A server that does not answer is a finding, and no reason to stop. It writes
// nothing: lag is seen by watching the positions of the primary and of the
// replicas for a while. It runs the very statements that readsplit will run, as the
// user of the DSN, so that a missing privilege shows before an application starts.
//
// SQL Server is asked over database/sql, where a driver named sqlserver is in the
// program; where there is none, connection strings alone are read. [Topology.Status] is the address of a running application's status page
// (package status), which is judged too: which share of the reads replicas serve,
// and why not more.
//
// Facts are gathered first and judged afterwards, by functions that do no I/O.
// A report holds names of hosts, users, roles and databases, never a password and
// never the text of a statement. Examine joins every goroutine that it starts.
//
// The command readsplit doctor is this package for a terminal and for scripts.
package doctor
