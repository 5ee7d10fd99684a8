package policy

import (
	"fmt"
	"slices"
)

// labels is the closed list. A label never changes its meaning and is never
// given to another reason: dashboards and alerts are built on it.
var labels = [...]string{
	ReasonNone: "none",

	ReasonCaughtUp:     "caught_up",
	ReasonWithinLag:    "within_lag",
	ReasonWaited:       "waited",
	ReasonStatedLag:    "stated_lag",
	ReasonStale:        "stale",
	ReasonAnyReplica:   "any_replica",
	ReasonServedStale:  "served_stale",
	ReasonPrimaryLost:  "primary_lost",
	ReasonOutsideGroup: "outside_group",

	ReasonWrite:               "write",
	ReasonLockingRead:         "locking_read",
	ReasonUnknownStatement:    "unknown_statement",
	ReasonFresh:               "fresh",
	ReasonNoReplicas:          "no_replicas",
	ReasonGroupEmpty:          "group_empty",
	ReasonGroupOnPrimary:      "group_on_primary",
	ReasonPreferPrimary:       "prefer_primary",
	ReasonKillSwitch:          "kill_switch",
	ReasonPercent:             "percent",
	ReasonShadow:              "shadow",
	ReasonInTransaction:       "in_transaction",
	ReasonPinned:              "pinned",
	ReasonReadToWrite:         "read_to_write",
	ReasonParent:              "parent",
	ReasonReadOnlyTransaction: "read_only_transaction",

	ReasonUnsure:          "unsure",
	ReasonOtherHistory:    "other_history",
	ReasonPositionPending: "position_pending",
	ReasonStickyWindow:    "sticky_window",
	ReasonRestOfRequest:   "rest_of_request",
	ReasonHeldElsewhere:   "held_elsewhere",
	ReasonObjected:        "objected",

	ReasonNotInGroup:      "not_in_group",
	ReasonReserved:        "reserved",
	ReasonLogical:         "logical",
	ReasonDrained:         "drained",
	ReasonFailedThisRead:  "failed_this_read",
	ReasonNotAStandby:     "not_a_standby",
	ReasonDown:            "down",
	ReasonNoNews:          "no_news",
	ReasonOldNews:         "old_news",
	ReasonEjected:         "ejected",
	ReasonBalanced:        "balanced",
	ReasonUnprovenHistory: "unproven_history",
	ReasonLagUnknown:      "lag_unknown",
	ReasonNoPosition:      "no_position",
	ReasonBehindBytes:     "behind_bytes",
	ReasonLagging:         "lagging",
	ReasonSlowStart:       "slow_start",
	ReasonBehindSession:   "behind_session",
	ReasonWaitExpired:     "wait_expired",

	ReasonPrimaryLostRefused: "primary_lost_refused",
	ReasonAtMostUnproven:     "at_most_unproven",
	ReasonGroupRefused:       "group_refused",

	ReasonReplicaFailed:    "replica_failed",
	ReasonRefusedByReplica: "refused_by_replica",
	ReasonNotFoundRecheck:  "not_found_recheck",
	ReasonSchemaBehind:     "schema_behind",
	ReasonKeepsConflicting: "keeps_conflicting",
}

// String returns the reason's label in snake_case: stable, at most 24
// characters, fit for a metric. A value outside the list is "invalid".
func (r Reason) String() string {
	if int(r) < len(labels) {
		return labels[r]
	}
	return "invalid"
}

// Reasons returns every reason but [ReasonNone], in ascending order; for
// whoever registers a metric per reason.
func Reasons() []Reason {
	all := make([]Reason, 0, len(labels))
	for i := 1; i < len(labels); i++ {
		all = append(all, Reason(i))
	}
	return all
}

// MarshalText returns the label; a value outside the list is an error.
func (r Reason) MarshalText() ([]byte, error) {
	if int(r) >= len(labels) {
		return nil, fmt.Errorf("readsplit: reason %d: want one of the list that policy.Reasons returns", uint8(r))
	}
	return []byte(labels[r]), nil
}

// UnmarshalText reads a label.
func (r *Reason) UnmarshalText(text []byte) error {
	i := slices.Index(labels[:], string(text))
	if i < 0 {
		return fmt.Errorf("readsplit: reason %q: want a label of the list that policy.Reasons returns", text)
	}
	*r = Reason(i)
	return nil
}

// telling orders the objections against replicas for a decision that must name
// one of them: the objection of the replica that came nearest to serving the
// read. Nothing else may be the answer of a policy; 0 is not an objection.
var telling = [len(labels)]uint8{
	ReasonNotInGroup:      1,
	ReasonReserved:        2,
	ReasonHeldElsewhere:   3,
	ReasonFailedThisRead:  4,
	ReasonDrained:         5,
	ReasonNotAStandby:     6,
	ReasonLogical:         7,
	ReasonDown:            8,
	ReasonNoNews:          9,
	ReasonOldNews:         10,
	ReasonEjected:         11,
	ReasonBalanced:        12,
	ReasonObjected:        13,
	ReasonRestOfRequest:   14,
	ReasonStickyWindow:    15,
	ReasonPositionPending: 16,
	ReasonUnsure:          17,
	ReasonOtherHistory:    18,
	ReasonUnprovenHistory: 19,
	ReasonLagUnknown:      20,
	ReasonNoPosition:      21,
	ReasonBehindBytes:     22,
	ReasonLagging:         23,
	ReasonSlowStart:       24,
	ReasonBehindSession:   25,
}

// Objection reports whether r can be said against one replica, and so be the
// answer of a [Policy].
func (r Reason) Objection() bool { return int(r) < len(telling) && telling[r] > 0 }

// objection turns the answer of a policy into one of the objections, because a
// policy that answers with a reason for a replica, or with a number outside the
// list, would put a wrong label on the decision.
func objection(r Reason) Reason {
	if r == ReasonNone || r.Objection() {
		return r
	}
	return ReasonObjected
}
