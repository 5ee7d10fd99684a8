package policy

import (
	"math"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// Role is what a server said it is.
type Role uint8

// Roles. A server whose role is unknown is not read from.
const (
	RoleUnknown Role = iota
	RoleStandby
	RolePrimary
	// RoleForeign is a standby that is known to follow another history than the
	// primary's: another cluster, another timeline. What it shows may never have
	// been true here, however little the read asks for.
	RoleForeign
	// RoleLogical is a server of another database cluster that is fed by logical
	// replication and declared as such. It is read from by reads of its groups alone
	// that ask for nothing it cannot prove, see [ReasonLogical].
	RoleLogical
)

// Snapshot is what is known of all servers at one moment. It is immutable:
// whoever learns something publishes a new one.
type Snapshot struct {
	Primary  Primary
	Replicas []Replica

	columns *columns // of Replicas; nil until Prepare
}

// Primary is what is known of the primary.
type Primary struct {
	Name string
	// Lost says that the primary cannot be reached from here, so that no bound
	// on anybody's staleness can be proven.
	Lost bool
	// Position is the newest flush position, in the primary's current history.
	Position lsn.Position
	// Sampled is the start of the newest sample; zero: never.
	Sampled time.Time
}

// Replica is what is known of one replica.
type Replica struct {
	Name   string
	Zone   string
	Weight int // 0 counts as 1
	Groups []string
	// Reserved keeps the replica for the reads of its groups.
	Reserved bool

	// Role as the server itself reported it. A configured replica that is not a
	// standby is not read from, unless AllowPrimary.
	Role         Role
	AllowPrimary bool
	// Gone says that the replica was removed from the configuration while reads
	// ran: the place in the list stays, so that the others keep theirs.
	Gone bool
	// Drained says that an operator has taken the replica out of service.
	Drained bool
	// EjectedUntil is until when the replica is left alone because reads failed on
	// it one after the other; zero: it is not.
	EjectedUntil time.Time
	// Since is when the replica came back after it was away, for a slow start; zero:
	// it never was.
	Since time.Time
	// Up says that the newest probe succeeded and that nothing has made it void
	// since (a crash, a restart, a broken connection).
	Up bool
	// Balanced says that this name answers as several servers, so that a sample
	// taken on one connection proves nothing for the next (see Decision.Check).
	Balanced bool
	// Paused says that replay was paused by an administrator.
	Paused bool
	// CutOff says that it has received nothing for some time, although the primary
	// has more. For people: its lag decides.
	CutOff bool
	// Generation counts the events that make earlier approvals void; it is
	// carried for the router and decides nothing here.
	Generation uint64
	// Sampled is the start of the newest sample; zero: never.
	Sampled time.Time
	// Applied is the replay position in the primary's history; zero while the
	// replica is not proven to follow that history.
	Applied lsn.Position
	// ReplayedAt is the start of the newest primary sample that this replica is
	// proven to have replayed; zero: none. Its lag is at most now - ReplayedAt.
	ReplayedAt time.Time
	// Margin is added to the lag: how far what the primary shows may run ahead
	// of what it has flushed (three times wal_writer_delay where commits may be
	// asynchronous).
	Margin time.Duration
	// NoPosition says that the server does not tell its replay position. Applied and
	// ReplayedAt then follow from StatedLag and from time alone, see ReasonStatedLag.
	NoPosition bool
	// StatedLag is how far behind its configuration says that such a server is at most;
	// 0: nothing is said, and nothing proven.
	StatedLag time.Duration
	// BehindBytes is the primary's newest flush position minus Applied.
	BehindBytes uint64
	// CatchUp is how long this replica recently took to reach a position that
	// the primary already had; it decides whether a wait can succeed.
	CatchUp time.Duration
}

// Lag returns the upper bound of r's staleness at now; ok is false when no
// bound is proven. A sum that does not fit is the longest Duration: wrapped
// around it would be negative, and the stalest replica the freshest.
func (r *Replica) Lag(now time.Time) (lag time.Duration, ok bool) {
	if r.ReplayedAt.IsZero() || r.Applied.Zero() {
		return 0, false
	}
	lag = now.Sub(r.ReplayedAt)
	if margin := max(r.Margin, 0); lag <= math.MaxInt64-margin {
		return lag + margin, true
	}
	return math.MaxInt64, true
}
