package readsplit

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/policy"
)

// A reason that is in no class would not be bounded, and one in the wrong class
// would make a write wait or serve stale what must be seen. The list is written
// out a second time, so that a new reason is decided about by somebody.
func TestEveryReasonHasItsPlaceInTheBudget(t *testing.T) {
	want := map[kind][]policy.Reason{
		elsewhere: {
			policy.ReasonCaughtUp, policy.ReasonWithinLag, policy.ReasonWaited, policy.ReasonStale, policy.ReasonAnyReplica,
			policy.ReasonPrimaryLost, policy.ReasonServedStale, policy.ReasonPrimaryLostRefused, policy.ReasonAtMostUnproven, policy.ReasonOutsideGroup, policy.ReasonGroupRefused, policy.ReasonStatedLag,
		},
		belongs: {
			policy.ReasonWrite, policy.ReasonLockingRead, policy.ReasonUnknownStatement, policy.ReasonFresh, policy.ReasonNoReplicas,
			policy.ReasonGroupEmpty, policy.ReasonReserved, policy.ReasonPreferPrimary, policy.ReasonInTransaction, policy.ReasonPinned, policy.ReasonReadToWrite,
			policy.ReasonKillSwitch, policy.ReasonPercent, policy.ReasonShadow,
			policy.ReasonReadOnlyTransaction, policy.ReasonRefusedByReplica, policy.ReasonSchemaBehind, policy.ReasonNotFoundRecheck,
		},
		fallback: {
			policy.ReasonNotInGroup, policy.ReasonFailedThisRead, policy.ReasonNotAStandby, policy.ReasonDown, policy.ReasonNoNews,
			policy.ReasonOldNews, policy.ReasonDrained, policy.ReasonEjected, policy.ReasonSlowStart, policy.ReasonBalanced, policy.ReasonUnprovenHistory, policy.ReasonLagUnknown, policy.ReasonBehindBytes,
			policy.ReasonLagging, policy.ReasonBehindSession, policy.ReasonWaitExpired, policy.ReasonReplicaFailed,
			policy.ReasonKeepsConflicting, policy.ReasonGroupOnPrimary, policy.ReasonLogical, policy.ReasonNoPosition,
		},
		owing: {
			policy.ReasonUnsure, policy.ReasonOtherHistory, policy.ReasonPositionPending, policy.ReasonStickyWindow,
			policy.ReasonRestOfRequest, policy.ReasonHeldElsewhere, policy.ReasonObjected,
		},
		following: {policy.ReasonParent},
	}
	var all []policy.Reason
	for k, reasons := range want {
		for _, r := range reasons {
			assert.Equal(t, k, kindOf(r), r)
		}
		all = append(all, reasons...)
	}
	assert.ElementsMatch(t, policy.Reasons(), all, "each reason is in exactly one class")
	assert.Zero(t, kindOf(policy.ReasonNone))
}
