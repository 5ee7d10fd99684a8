package policy

import (
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// Statement is what a statement is known to be.
type Statement uint8

// Kinds of statements. Anything that is not provably a Read belongs on the
// primary; the kinds differ only in the reason that is given.
const (
	Unknown Statement = iota
	Read
	LockingRead
	Write
)

// Mode is what the caller's context asks of a read.
type Mode uint8

// Modes, from the least to the most that a caller gives up.
const (
	// Normal reads follow the configured preference, MaxLag and the session.
	Normal Mode = iota
	// Fresh reads go to the primary.
	Fresh
	// UseReplica reads may use a replica although the primary is preferred.
	UseReplica
	// Stale reads do without MaxLag, never without their session's own writes.
	Stale
	// AnyReplica reads give up everything but the role of the server.
	AnyReplica
)

// Query is everything that one decision depends on besides the servers.
// The zero Query is an unknown statement and goes to the primary.
type Query struct {
	Statement Statement
	Mode      Mode
	// PreferPrimary is the configuration's default for Normal reads.
	PreferPrimary bool
	// AtMost tightens MaxLag for this read; 0 leaves it as configured.
	AtMost time.Duration
	// Group restricts the read to replicas of this group; "" is every replica.
	Group string
	// Monotonic says that the reads of the session may not go back in time, which a
	// server without positions cannot promise.
	Monotonic bool
	// Zone is the caller's own zone, for a balancer that prefers it.
	Zone string

	// Withheld is why an operator keeps this read on the primary ([Traffic]);
	// ReasonNone: nobody does.
	Withheld Reason
	// TryEjected offers replicas that are ejected too: this read is their trial.
	TryEjected bool

	// Need is the position that the read's session must see; zero: none.
	Need lsn.Position
	// Pending says that the session wrote and that no position covering the
	// write is known yet: no replica can be proven to show it.
	Pending bool
	// Unsure says that an outcome is unknown or that a token was refused.
	Unsure bool
	// Foreign says that the session's position belongs to another history.
	Foreign bool
	// Sticky says that the session wrote a moment ago, on a database whose positions
	// alone are not trusted.
	Sticky bool
	// LastWrite is when the session last wrote; zero: never.
	LastWrite time.Time
	// Wrote says that this request has written.
	Wrote bool
	// Held is the server that this request is held on, as index+1 into
	// Snapshot.Replicas, -1 for the primary, 0 for none yet.
	Held int
	// KeepServer holds this request there, as [OneServer] holds every request.
	KeepServer bool
	// Affinity, unless 0, is the hash of whose read this is: reads of the same
	// Affinity prefer the same replica (see [Affinity]).
	Affinity uint64

	// Exclude is a bit per replica (index modulo 64) that failed this very read.
	Exclude uint64
	// Failed are the places of the first of those that did, as index+1: with more than 64
	// replicas a bit of Exclude is that of several, of which only these have failed. With
	// none of them, and where they are full, Exclude alone counts.
	Failed [8]int32
	// Only, unless 0, is the one replica that may serve this read, as index+1: it
	// belongs to another that was served there. The others count as excluded.
	Only int
	// Waited is how long this read has waited already.
	Waited time.Duration
	// Random and Ticket are the only sources of chance and turn: the caller
	// passes a random number and a counter that grows by one per decision.
	Random, Ticket uint64
}

// Excludes reports whether the replica at this place of Snapshot.Replicas has failed
// this very read, by Exclude and Failed.
func (q *Query) Excludes(index int) bool {
	if q.Exclude>>(uint(index)%64)&1 == 0 {
		return false
	}
	return q.Failed[0] == 0 || q.Failed[len(q.Failed)-1] != 0 || slices.Contains(q.Failed[:], int32(index+1))
}
