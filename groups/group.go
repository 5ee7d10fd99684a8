package groups

import (
	"errors"
	"fmt"
	"time"
)

// Group is one named set of replicas and the rules for the reads that are meant for
// it. The zero value of every field but Name is right.
type Group struct {
	// Name is what Replica.Groups and readsplit.Group call it. Required.
	Name string
	// Tables are tables whose reads are meant for this group, each by its name or as a
	// model of it. A read of several tables is meant for the group of the first one that
	// has a group. It is the name that a statement says: a view by its own. Statements in
	// transactions are never moved by it. Defaults to none.
	Tables []any
	// From is the estimate from which on a read is meant for this group: one that
	// reaches either of its bounds, see [WithEstimate]. Of several groups the first one
	// in Config.Groups counts, so the largest bounds come first. Defaults to none.
	From Estimate
	// Otherwise is what becomes of a read when no replica of the group is right for it.
	// Defaults to [Primary].
	Otherwise Otherwise
	// Pool sizes the connection pool that the group has on each of its replicas, apart
	// from those of the site and of other groups. Defaults to the replica's own.
	Pool Pool
}

// Otherwise is what becomes of a read whose group has no replica that is right for it:
// none is there, up, recent enough, or has what the read's session wrote.
type Otherwise uint8

// What may become of such a read.
const (
	// Primary lets the primary serve it, within readsplit.Config.PrimaryBudget.
	Primary Otherwise = iota
	// AnyReplica lets any other replica serve it that is right for it and not reserved
	// for groups of its own, over a pool of the group's there; where there is none, the
	// primary.
	AnyReplica
	// Refuse fails it with [ErrRefused]: the primary never gets it.
	Refuse
)

// String returns "primary", "any_replica" or "refuse".
func (o Otherwise) String() string {
	switch o {
	case Primary:
		return "primary"
	case AnyReplica:
		return "any_replica"
	case Refuse:
		return "refuse"
	}
	return "invalid"
}

// ErrRefused says that no replica of its group was right for a read, and that
// Group.Otherwise is to refuse it. Test with errors.Is. Try again later, or mark the read with Stale.
var ErrRefused = errors.New("readsplit: no replica of its group is right for the read, and Group.Otherwise refuses it")

// Pool sizes a connection pool, field by field as readsplit.Pool does; what is 0 is as
// for the replica.
type Pool struct {
	MaxOpen, MaxIdle         int
	MaxLifetime, MaxIdleTime time.Duration
}

// Validate returns an error that names every field whose value has no meaning, or nil.
// Names, tables and pools are for whoever knows the others.
func (g Group) Validate() error {
	var errs []error
	if g.Name == "" {
		errs = append(errs, errors.New("Name is empty: name the group as Replica.Groups does")) //nolint:staticcheck // the caller puts the path of the field before it
	}
	if g.Otherwise > Refuse {
		errs = append(errs, fmt.Errorf("Otherwise is %d: it must be groups.Primary, groups.AnyReplica or groups.Refuse", g.Otherwise))
	}
	if g.From.Takes < 0 {
		errs = append(errs, fmt.Errorf("From.Takes is %v: it must be positive (0 means no such bound)", g.From.Takes))
	}
	if g.From.Rows < 0 {
		errs = append(errs, fmt.Errorf("From.Rows is %d: it must be positive (0 means no such bound)", g.From.Rows))
	}
	return errors.Join(errs...)
}
