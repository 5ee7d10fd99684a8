package readsplit

import "github.com/readsplit/readsplit/policy"

// kind is what the reason of a decision says about the budget of the primary.
type kind uint8

const (
	// elsewhere: the statement runs on a replica, or not at all.
	elsewhere kind = iota + 1
	// belongs: the statement belongs on the primary, whatever state the replicas are
	// in. It is never bounded and never shed.
	belongs
	// fallback: the read wanted a replica, and would be on one if the replicas were
	// well.
	fallback
	// owing: the read wanted a replica, and what its session wrote or what a policy of
	// the application says keeps it away from all of them. It may be made to wait,
	// and is never served stale.
	owing
	// following: the read is where the read is that it belongs to, and is of the same
	// kind.
	following
)

// kindOf sorts the reasons. One that is not here would be unbounded: a test sees
// to it that each is.
func kindOf(reason policy.Reason) kind {
	switch reason {
	case policy.ReasonCaughtUp, policy.ReasonWithinLag, policy.ReasonWaited, policy.ReasonStatedLag, policy.ReasonStale, policy.ReasonAnyReplica,
		policy.ReasonPrimaryLost, policy.ReasonServedStale, policy.ReasonOutsideGroup:
		return elsewhere // a replica serves it
	case policy.ReasonPrimaryLostRefused, policy.ReasonAtMostUnproven, policy.ReasonGroupRefused:
		return elsewhere // it has its error already

	case policy.ReasonWrite, policy.ReasonLockingRead, policy.ReasonUnknownStatement:
		return belongs // only the primary can run it, or perhaps can
	case policy.ReasonFresh, policy.ReasonPreferPrimary:
		return belongs // it was asked for
	case policy.ReasonInTransaction, policy.ReasonPinned, policy.ReasonReadToWrite, policy.ReasonReadOnlyTransaction:
		return belongs // it is a part of something that is there
	case policy.ReasonRefusedByReplica, policy.ReasonSchemaBehind, policy.ReasonNotFoundRecheck:
		return belongs // a replica was asked, and cannot know
	case policy.ReasonKillSwitch, policy.ReasonPercent, policy.ReasonShadow:
		return belongs // an operator wants it there
	case policy.ReasonNoReplicas, policy.ReasonGroupEmpty, policy.ReasonReserved:
		return belongs // the configuration says so: nothing has fallen back

	case policy.ReasonFailedThisRead, policy.ReasonReplicaFailed:
		return fallback // replicas failed while they ran it
	case policy.ReasonNotInGroup, policy.ReasonNotAStandby, policy.ReasonDown, policy.ReasonNoNews, policy.ReasonOldNews,
		policy.ReasonBalanced, policy.ReasonUnprovenHistory, policy.ReasonDrained, policy.ReasonEjected, policy.ReasonSlowStart:
		return fallback // there is no replica to serve it
	case policy.ReasonGroupOnPrimary, policy.ReasonLogical:
		return fallback // no replica of its group is right for it
	case policy.ReasonKeepsConflicting:
		return fallback // replay would cancel it there
	case policy.ReasonLagUnknown, policy.ReasonNoPosition, policy.ReasonBehindBytes, policy.ReasonLagging:
		return fallback // replicas are too old
	case policy.ReasonBehindSession, policy.ReasonWaitExpired:
		return fallback // replicas do not have what the session wrote

	case policy.ReasonUnsure, policy.ReasonOtherHistory, policy.ReasonPositionPending:
		return owing // what the session must see is not known, or cannot be compared
	case policy.ReasonStickyWindow, policy.ReasonRestOfRequest, policy.ReasonHeldElsewhere, policy.ReasonObjected:
		return owing // a policy keeps it away

	case policy.ReasonParent:
		return following
	}
	return 0
}
