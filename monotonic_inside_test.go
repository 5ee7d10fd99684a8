package readsplit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/policy"
)

// A replica joins between the moment at which a read takes the snapshot and the one at
// which it looks at what its session has been shown, and another read of the session is
// served there meanwhile: the read knows nothing of that replica, and decides as if it
// had been shown nothing there.
func TestShownByAReplicaThatJoinedMeanwhile(t *testing.T) {
	seen := &sight{server: &server{name: "replica3", index: 2}, generation: 1}
	snap := &policy.Snapshot{Replicas: make([]policy.Replica, 2)}
	_, ok := seen.again(&router{}, &query{}, snap, time.Now())
	assert.False(t, ok)
}
