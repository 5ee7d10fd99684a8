// Package failover finds out which of several hosts is the primary now.
//
// [Election] is pure: what the hosts said and when, and the time now, give an
// [Outcome]. The highest timeline wins, because a promotion begins a new one; a
// server with a lower one than has ever been seen is an old primary and is refused.
// Two servers that both write the highest timeline are a tie, in which nobody is
// the primary: writing to either could be writing to the one that the cluster
// manager is about to throw away.
//
// [Watch] asks the hosts, each from a goroutine of its own, so that one that is
// frozen delays nobody. What one process sees is all that it can promise: to keep
// an old primary from being written to by others is the cluster manager's work.
package failover
