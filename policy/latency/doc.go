// Package latency measures how long reads take on one server: what the balancer
// [github.com/readsplit/readsplit/policy.Latency] compares.
//
// A [Meter] is told when a read begins and ends and how it ended, and gives an
// estimate at any moment. It knows the mistakes of simpler averages:
//
//   - A server that fails at once must not look fast: a failure counts as a slow read,
//     never as the short one that it was.
//   - A server that nobody asks must not look slow for ever: its estimate fades, it is
//     tried again, and one read that is still slow brings the estimate back whole.
//   - A server whose queue has drained must not look as slow as its last reads were,
//     which waited in that queue: how many reads are in flight is part of the estimate.
//   - A server that answers nobody gives no measurements: how long the reads in flight
//     have been waiting counts as well.
//   - One report of ten seconds says nothing about lookups of a millisecond: the
//     average is over the logarithms.
//   - A caller that gives up after a second has not measured a second's read, but a
//     read of a second at least.
//
// It reads no clock: moments are durations since a start that is the caller's to
// choose. It allocates nothing and holds no lock.
package latency
