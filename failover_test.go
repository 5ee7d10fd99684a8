package readsplit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// The primary is killed and a replica promoted under load. What was acknowledged
// is on that replica (it is synchronous), so every session must go on to see it.
func TestFailoverKilled(t *testing.T) {
	c := testenv.Start(t)
	execOn(t, c.Primary(), "ALTER SYSTEM SET synchronous_standby_names = 'replica1'")
	execOn(t, c.Primary(), "SELECT pg_reload_conf()")
	d := newFollowing(t, c)
	counters(t, d, 16)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d.follows(t, c.Primary())
	u, readers, a := load(t, d, 8)
	u.during(t, 200, func() bool { return true })

	heir := c.Replica(0)
	injected(t)(c.Primary().Kill(t.Context()))
	killed := time.Now()
	injected(t)(heir.Promote(t.Context()))
	promoted := time.Now()
	injected(t)(c.Replica(1).Follow(t.Context(), heir))
	d.follows(t, heir)
	eventually(t, "writes to succeed", func() bool { return a.count(heir, killed) > 100 })
	took := a.first(heir).Sub(promoted)
	t.Logf("first write acknowledged %v after the promotion was seen, %v after the kill", took.Round(time.Millisecond), a.first(heir).Sub(killed).Round(time.Millisecond))
	assert.Less(t, took, 2*time.Second)
	assert.Zero(t, a.count(c.Primary(), killed))

	// The other replica serves again, and the new primary does not as a replica.
	noticed := time.Now()
	eventually(t, "the other replica to serve", func() bool { return u.servedSince(c.Replica(1), noticed) })
	u.end()
	readers.end()
	assert.Zero(t, u.stale.Load(), "%q", u.first)
	assert.Zero(t, readers.failed.Load(), "%q", readers.first)
	st := d.plugin.Status()
	assert.EqualValues(t, 2, st.Primary.Position.Timeline)
	assert.Equal(t, policy.RolePrimary, st.Replicas[1].Role)
	assert.NotEmpty(t, d.log.matching("warn:", "the primary has moved from", hostOf(c.Primary()), hostOf(heir)))
	assert.Empty(t, d.log.matching("PRIMARY"), "that it is a primary is as it should be")
	t.Logf("%d reads %v, %d failed, %d of %d writes failed: %q", u.reads.Load(), u.by, u.failed.Load(), u.lost.Load(), u.writes.Load(), u.first)
}
