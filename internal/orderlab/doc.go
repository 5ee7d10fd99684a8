// Package orderlab counts who misses an order that they have just placed: the
// experiment that the labs of examples/bookstore and examples/sqlserver make on
// different servers.
//
// A [Trial] is one [Strategy] of routing under one [Fault]: clients place orders in a
// [Shop], and after each order its customer and four others read their lists
// (workload.go). Which orders a list must show is known from outside (oracle.go), who
// made it is told by the list itself and by what the [Servers] have counted, and that
// the fault was in force is asked of the servers meanwhile (watch.go). What came of it is
// an [Outcome].
//
// The clients of a trial, the questions of its watch and its cues are goroutines that
// Trial.Run joins.
package orderlab
