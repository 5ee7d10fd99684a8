// Package monitor knows, at any moment, what each server has reached.
//
// A [Monitor] samples the primary and every replica at a regular interval, each
// in a goroutine of its own, and publishes what it learns as an immutable
// [policy.Snapshot]. It numbers the captures of the primary's position, so that
// a write costs no round trip: a commit points at the next capture that starts,
// and whoever needs the position asks for that capture, together with everybody
// else who waits for it. A replica that somebody waits for is asked more often,
// once for all who wait.
//
// What is published errs towards "not known". A sample from before a crash, a
// restart or a broken connection is void; a replica is compared with the
// primary only while it is proven to follow the primary's history; lag is the
// age of the newest primary sample that the replica is proven to have replayed,
// which grows by itself when a replica is cut off.
//
// Goroutines: one per server, started by [Monitor.Start] and joined by
// [Monitor.Close], and one more for a replica whose server can say by itself when it
// has replayed a position, from the first wait on. Nothing else is started, whatever the
// load.
package monitor
