package readsplit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/retry"
)

// What a replica has counted itself is of its database, whoever was cancelled there:
// here somebody who does not use the plugin.
func TestConflictsThatAReplicaHasCounted(t *testing.T) {
	c := breakable(t)
	first := newDB(t, c)
	impatientReplay(t, first)
	first.eligible(t, "replica1", "replica2")
	there, primary := direct(t, c.Replica(0), first.name), direct(t, c.Primary(), first.name)
	ended := make(chan error, 1)
	go func() {
		_, err := there.ExecContext(t.Context(), "SELECT work(30)")
		ended <- err
	}()
	// Whoever looks at the primary for a moment keeps VACUUM from removing a row: it is
	// asked again.
	var cancelled error
	eventually(t, "it to be cancelled", func() bool {
		for _, text := range []string{"UPDATE counters SET n = n", "VACUUM counters"} {
			_, err := primary.ExecContext(limit(t), text)
			require.NoError(t, err)
		}
		select {
		case cancelled = <-ended:
			return true
		default:
			return false
		}
	})
	require.ErrorContains(t, cancelled, "40001")
	count := "SELECT confl_snapshot FROM pg_stat_database_conflicts WHERE datname = '" + first.name + "'"
	// Whoever asks may be cancelled as well, in the same moment.
	eventually(t, "the replica to count it", func() bool { return ask[int](t, c.Replica(0), count) >= 1 })

	d := newDB(t, c, inDatabase(first.name))
	eventually(t, "both to have answered", func() bool {
		st := d.plugin.Status()
		return st.Replicas[0].Conflicts != nil && st.Replicas[1].Conflicts != nil
	})
	st := d.plugin.Status()
	none := map[retry.ConflictKind]uint64{
		retry.ConflictTablespace: 0, retry.ConflictLock: 0, retry.ConflictSnapshot: 0,
		retry.ConflictBufferPin: 0, retry.ConflictDeadlock: 0, retry.ConflictSlot: 0,
	}
	assert.Equal(t, none, st.Replicas[1].Conflicts)
	none[retry.ConflictSnapshot] = uint64(ask[int](t, c.Replica(0), count))
	assert.Equal(t, none, st.Replicas[0].Conflicts)
	assert.Nil(t, st.Primary.Conflicts)
	assert.Empty(t, st.Conflicts, "as the plugin has seen it: not at all")
}
