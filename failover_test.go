package readsplit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/internal/heldup"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// The primary is killed and a replica promoted under load. What was acknowledged
// is on that replica (it is synchronous), so every session must go on to see it.
func TestFailoverKilled(t *testing.T) {
	c := testenv.Start(t)
	execOn(t, c.Primary(), "ALTER SYSTEM SET synchronous_standby_names = 'replica1'")
	execOn(t, c.Primary(), "SELECT pg_reload_conf()")
	d := newFollowing(t, c, configured(unhurried))
	counters(t, d, 16)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d.follows(t, c.Primary())
	u, readers, a := load(t, d, 8)
	slow := heldup.Watch(t)
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
	assert.Less(t, took, 2*time.Second+20*slow())
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

// The primary freezes, a replica is promoted, and the old primary comes back as if
// nothing had happened.
func TestFailoverFrozen(t *testing.T) {
	c := breakable(t)
	d := newFollowing(t, c, configured(unhurried))
	counters(t, d, 16)
	require.NoError(t, c.WaitCaughtUp(t.Context())) // or the heir may know no table
	d.follows(t, c.Primary())
	u, readers, a := load(t, d, 8)
	slow := heldup.Watch(t)
	u.during(t, 200, func() bool { return true })
	require.Positive(t, d.pooled(t, c.Primary()))

	thaw := injected(t)(c.Primary().Freeze(t.Context()))
	frozen := time.Now()
	heir := c.Replica(0)
	injected(t)(heir.Promote(t.Context()))
	promoted := time.Now()
	injected(t)(c.Replica(1).Follow(t.Context(), heir))
	d.follows(t, heir)
	eventually(t, "writes to succeed", func() bool { return a.count(heir, frozen) > 20 })
	t.Logf("first write acknowledged %v after the promotion was seen, %v after the freeze",
		a.first(heir).Sub(promoted).Round(time.Millisecond), a.first(heir).Sub(frozen).Round(time.Millisecond))
	assert.Less(t, a.first(heir).Sub(promoted), 2*time.Second+20*slow())

	undone(t, thaw)
	require.False(t, ask[bool](t, c.Primary(), "SELECT pg_is_in_recovery()"))
	eventually(t, "the old primary to be without connections", func() bool { return d.pooled(t, c.Primary()) == 0 })
	before, now := d.sum(t, c.Primary()), time.Now()
	eventually(t, "writes to go on", func() bool { return a.count(heir, now) > 50 })
	assert.Equal(t, before, d.sum(t, c.Primary()), "nothing is written to it")
	assert.Zero(t, d.pooled(t, c.Primary()))
	assert.Zero(t, a.count(c.Primary(), a.first(heir)), "nor does anybody take its word for a write")
	eventually(t, "it to be told of", func() bool { return len(d.log.matching("warn:", hostOf(c.Primary()), "is an old primary")) == 1 })
	u.end()
	readers.end()
	assert.Zero(t, readers.failed.Load(), "%q", readers.first)
	assert.True(t, d.plugin.Status().Failover.Hosts[0].Refused)
}

// A replica is promoted while the old primary goes on: the higher timeline wins.
func TestFailoverBothAlive(t *testing.T) {
	c := breakable(t)
	d := newFollowing(t, c, configured(unhurried))
	counters(t, d, 16)
	require.NoError(t, c.WaitCaughtUp(t.Context())) // or the heir may know no table
	d.follows(t, c.Primary())
	u, readers, a := load(t, d, 8)
	slow := heldup.Watch(t)
	u.during(t, 200, func() bool { return true })

	heir := c.Replica(0)
	injected(t)(heir.Promote(t.Context()))
	promoted := time.Now()
	d.follows(t, heir)
	eventually(t, "writes to succeed", func() bool { return a.count(heir, promoted) > 20 })
	assert.Less(t, a.first(heir).Sub(promoted), 2*time.Second+20*slow())
	assert.True(t, a.last(c.Primary()).Before(a.first(heir)), "no write was acknowledged by the old one after the new one had")
	eventually(t, "the old primary to be without connections", func() bool { return d.pooled(t, c.Primary()) == 0 })
	before, now := d.sum(t, c.Primary()), time.Now()
	eventually(t, "writes to go on", func() bool { return a.count(heir, now) > 50 })
	assert.Equal(t, before, d.sum(t, c.Primary()))
	assert.NotEmpty(t, d.log.matching("warn:", hostOf(c.Primary()), "is an old primary"))
	u.end()
	readers.end()
	assert.Zero(t, readers.failed.Load(), "%q", readers.first)
	t.Logf("first write %v after the promotion was seen", a.first(heir).Sub(promoted).Round(time.Millisecond))
}

// R17: two standbys are promoted to the same timeline. Nobody can know which of them
// stays, so nothing is written to either.
func TestR17Tie(t *testing.T) {
	c := testenv.Start(t, testenv.Replicas(3))
	d := newFollowing(t, c)
	counters(t, d, 16)
	d.follows(t, c.Primary())
	write := func() error { return d.Exec("UPDATE counters SET n = n + 1 WHERE id = 0").Error }
	require.NoError(t, write())
	require.NoError(t, c.WaitCaughtUp(t.Context()))

	first, second, standby := c.Replica(0), c.Replica(1), c.Replica(2)
	injected(t)(c.Primary().Kill(t.Context()))
	injected(t)(first.Promote(t.Context()))
	injected(t)(standby.Follow(t.Context(), first))
	d.follows(t, first)
	require.NoError(t, write())
	eventually(t, "the standby to be proven", func() bool { return served(t, d.WithContext(nobody())) == standby.Name() })
	injected(t)(second.Promote(t.Context()))
	require.Equal(t, "00000002", ask[string](t, second, "SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)"))

	eventually(t, "the tie to be seen", func() bool { return d.plugin.Status().Failover.State == failover.Tied })
	for range 20 {
		err := write()
		require.ErrorIs(t, err, failover.ErrTwoPrimaries)
		assert.ErrorContains(t, err, hostOf(first))
		assert.ErrorContains(t, err, hostOf(second))
		assert.ErrorContains(t, err, "until one of them is stopped, or made a standby of the other")
	}
	require.ErrorIs(t, d.Transaction(func(*gorm.DB) error { return nil }), failover.ErrTwoPrimaries)
	assert.Zero(t, d.pooled(t, first))
	assert.Zero(t, d.pooled(t, second))
	unsure := d.plugin.Status().Unsure
	assert.Zero(t, unsure, "nothing was sent")
	for range 20 {
		assert.Equal(t, standby.Name(), served(t, d.WithContext(nobody())), "reads go on")
	}
	assert.Len(t, d.log.matching("error:", "two primaries", hostOf(first), hostOf(second)), 1)

	injected(t)(second.Stop(t.Context()))
	stopped := time.Now()
	d.follows(t, first)
	require.NoError(t, write())
	t.Logf("writes %v after one was stopped", time.Since(stopped).Round(time.Millisecond))
	assert.NotEmpty(t, d.log.matching("warn:", "the primary is", hostOf(first), "again"))
}

// The primary of a failover is the one that fails next, and comes back as a standby
// of its successor.
func TestFailoverOldPrimaryRejoins(t *testing.T) {
	c := breakable(t)
	first, second := c.Replica(0), c.Replica(1)
	d := newFollowing(t, c)
	counters(t, d, 16)
	require.NoError(t, c.WaitCaughtUp(t.Context())) // or the heir may know no table
	d.follows(t, c.Primary())
	u, readers, a := load(t, d, 4)
	u.during(t, 100, func() bool { return true })
	injected(t)(c.Primary().Kill(t.Context()))
	toFirst := injected(t)(first.Promote(t.Context()))
	follow := injected(t)(second.Follow(t.Context(), first))
	t.Cleanup(func() { undone(t, follow) }) // before the promotion that came later
	d.follows(t, first)
	eventually(t, "writes on the first", func() bool { return a.count(first, time.Time{}) > 20 })
	followed := time.Now()
	eventually(t, "the second to serve", func() bool { return u.servedSince(second, followed) })

	down := injected(t)(first.Kill(t.Context()))
	injected(t)(second.Promote(t.Context()))
	d.follows(t, second)
	eventually(t, "writes on the second", func() bool { return a.count(second, time.Time{}) > 20 })
	assert.EqualValues(t, 2, d.plugin.Status().Failover.Moves)
	assert.EqualValues(t, 3, d.plugin.Status().Primary.Position.Timeline)

	undone(t, toFirst) // built anew, as a standby of whom it is told
	undone(t, down)
	injected(t)(first.Follow(t.Context(), second))
	back := time.Now()
	eventually(t, "the old primary to serve as a replica", func() bool { return u.servedSince(first, back) })
	assert.Equal(t, policy.RoleStandby, d.plugin.Status().Replicas[1].Role)
	now := time.Now()
	eventually(t, "writes to go on", func() bool { return a.count(second, now) > 20 })
	assert.Zero(t, a.count(first, a.first(second)))
	u.end()
	readers.end()
	// While one replica becomes the primary and the other one its standby, there is a
	// moment without any that is proven, and without a primary that is known.
	assert.Less(t, readers.failed.Load(), readers.reads.Load()/20, "%q", readers.first)
	assert.Empty(t, d.log.matching("PRIMARY"))
}
