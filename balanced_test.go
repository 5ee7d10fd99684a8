package readsplit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit"
)

// The name leads each connection to the next of two replicas, one of which does not
// replay. Nobody misses their own write, and the other one serves what it can.
func TestBalancedNameOneOfTwoBehind(t *testing.T) {
	c := breakable(t)
	database, in := onDatabase(t, c)
	name := newName(t, c.Replicas()...)
	d := newDB(t, c, in, configured(patient), oneReplica(c.Replica(0), database, name.port(), "", declared))
	counters(t, d, 8)
	spread(t, d, "replica1", "replica2")
	undo := injected(t)(c.Replica(0).PauseReplay(t.Context()))
	defer undone(t, undo)
	by, missing := ownReads(t, d, 8, 1000, nil)
	t.Logf("%v", by)
	assert.Zero(t, missing)
	assert.Zero(t, by["replica1"], "it had none of the writes")
	assert.GreaterOrEqual(t, by["replica2"], 500)
	_ = readsplit.Off
}
