package policy

import "time"

// Target is what a decision says to do.
type Target uint8

// Targets. The zero value is the primary: when in doubt, the primary.
const (
	ToPrimary Target = iota
	ToReplica
	// Wait asks the caller to wait for news, at most Decision.Wait, and to
	// decide again.
	Wait
	// Refuse asks the caller to return a typed error: the primary is lost, and
	// the configuration says to refuse rather than to serve without a bound, or
	// the read itself asked for a bound that nobody can prove.
	Refuse
)

// Decision is where one statement goes, and why. The zero Decision is the
// primary.
type Decision struct {
	Target  Target
	Replica int // index into Snapshot.Replicas when Target is ToReplica
	Reason  Reason
	Wait    time.Duration // the most that may be waited when Target is Wait
	// Check says that Replica is a name that answers as several servers. Whether the
	// one behind the connection shows what the query asks for is not known: ask it on
	// that connection, and decide once more by a Snapshot that holds what it said in
	// the place of the replica, and every other replica as Gone.
	Check bool `json:",omitempty"`
}

// Limits are the configured bounds; all are positive. A bound that is zero or
// negative lets no replica through: there is no value for "off", the longest
// Duration serves.
type Limits struct {
	MaxLag       time.Duration
	MaxSampleAge time.Duration
	MaxWait      time.Duration // 0: never wait
	// SlowStart is how long a replica that came back takes to get its whole share of
	// reads; 0: none.
	SlowStart time.Duration
	// RefuseWhenLost is PrimaryLost: Refuse.
	RefuseWhenLost bool
}

// Load is the number of reads in flight per replica, by index into
// Snapshot.Replicas. It is an input of a decision like the clock.
type Load interface{ InFlight(replica int) int64 }

// LatencyLoad is a [Load] that also knows how long a read is expected to take on a
// replica, the way there and back included; 0: not known yet. It is asked for the
// candidates that the balancers of this package look at, and for all of any other
// balancer. See package policy/latency.
type LatencyLoad interface {
	Load
	Latency(replica int, now time.Time) time.Duration
}
