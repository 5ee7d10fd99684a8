package readsplit_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/failover"
)

// Without hosts to follow a single address can move, as ever; what a change of primary
// looks like has it asked at once.
func TestTopologyIsLookedAtAtOnce(t *testing.T) {
	c := breakable(t)
	a := newAddress(t, c.Primary())
	_, port, err := net.SplitHostPort(a.listener.Addr().String())
	require.NoError(t, err)
	never := configured(func(c *readsplit.Config) {
		c.SampleEvery, c.MaxSampleAge, c.StickyWindow = time.Hour, 2*time.Hour, 3*time.Hour
	})
	d := newDB(t, c, connected("port="+port), never)
	counters(t, d, 2)
	require.NoError(t, c.WaitCaughtUp(t.Context())) // or the heir may know no table
	require.EqualValues(t, 1, d.plugin.Status().Primary.Position.Timeline)

	t.Run("a write that is refused as read-only", func(t *testing.T) {
		a.moveTo(c.Replica(1))
		eventually(t, "it to be refused", func() bool {
			err := d.Exec("UPDATE counters SET n = n + 1").Error
			return err != nil && strings.Contains(err.Error(), "25006")
		})
		eventually(t, "the primary to be lost", func() bool { return len(d.log.matching("error:", "in recovery")) > 0 })
	})
	t.Run("a connection that breaks", func(t *testing.T) {
		a.moveTo(c.Primary())
		var tx *gorm.DB
		eventually(t, "a transaction to begin", func() bool { tx = d.Begin(); return tx.Error == nil })
		require.NoError(t, tx.Exec("UPDATE counters SET n = n + 1").Error)
		heir := c.Replica(0)
		injected(t)(heir.Promote(t.Context()))
		a.moveTo(heir)
		require.Error(t, tx.Exec("UPDATE counters SET n = n + 1").Error)
		_ = tx.Rollback()
		eventually(t, "writes to succeed", func() bool { return d.Exec("UPDATE counters SET n = n + 1").Error == nil })
		eventually(t, "the new primary to be known", func() bool { return d.plugin.Status().Primary.Position.Timeline == 2 })
	})
	a.moveTo(nil)
}

// A host's name leads to another server (a moved address): what was connected through
// it before is broken off.
func TestFailoverOfAName(t *testing.T) {
	c := breakable(t)
	a := newAddress(t, c.Primary())
	_, port, err := net.SplitHostPort(a.listener.Addr().String())
	require.NoError(t, err)
	d := newDB(t, c, connected(fmt.Sprintf("host=127.0.0.1,127.0.0.1 port=%s,%d", port, c.Replica(1).Port())), unopened(), configured(quick))
	counters(t, d, 2)
	require.NoError(t, c.WaitCaughtUp(t.Context())) // or the heir may know no table
	assert.Equal(t, "primary", d.writer(t))
	require.Positive(t, d.pooled(t, c.Primary()))
	heir := c.Replica(0)
	injected(t)(heir.Promote(t.Context()))
	// Connections to the old one stay open: only new ones lead elsewhere.
	a.mu.Lock()
	a.target = heir
	a.mu.Unlock()
	execOn(t, c.Primary(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND query LIKE 'SELECT concat_ws(%'", d.name)
	eventually(t, "the new one to be elected", func() bool { return d.plugin.Status().Failover.Timeline == 2 })
	eventually(t, "the old one to be without connections", func() bool { return d.pooled(t, c.Primary()) == 0 })
	assert.Equal(t, heir.Name(), d.writer(t))
	assert.NotEmpty(t, d.log.matching("warn:", "another run of a server answers as primary"))
	a.moveTo(nil)
}

// A replica that is none of the hosts is promoted. That it is a primary is warned
// about; that a standby among the hosts follows it proves that the primary of the
// hosts is an old one.
func TestFailoverToAStranger(t *testing.T) {
	c := breakable(t)
	stranger, host := c.Replica(0), c.Replica(1)
	d := newDB(t, c, connected(hostsOf(c.Primary(), host)), unopened(), configured(quick))
	counters(t, d, 2)
	require.NoError(t, c.WaitCaughtUp(t.Context())) // or the heir may know no table
	assert.Equal(t, "primary", d.writer(t))
	injected(t)(stranger.Promote(t.Context()))
	eventually(t, "the warning", func() bool { return len(d.log.matching("warn:", `replica "replica1"`, "PRIMARY")) == 1 })
	assert.Equal(t, "primary", d.writer(t), "nobody has seen the other timeline")

	injected(t)(host.Follow(t.Context(), stranger))
	eventually(t, "the primary to be an old one", func() bool { return d.plugin.Status().Failover.State == failover.Superseded })
	err := d.Exec("UPDATE counters SET n = 0").Error
	require.ErrorIs(t, err, failover.ErrOldPrimary)
	assert.ErrorContains(t, err, `timeline 2 has been seen, which "`+c.Primary().Addr()+`" does not write`)
	assert.Zero(t, d.plugin.Status().Unsure, "nothing was sent")
	eventually(t, "the old primary's connections to be gone", func() bool { return d.pooled(t, c.Primary()) == 0 })
	assert.Len(t, d.log.matching("error:", "only an old primary is known"), 1)
}
