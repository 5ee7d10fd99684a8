package readsplit_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/discover"
)

// An operator who has drained a server restarts it. The name loses it for longer than
// Grace and has it again before the work is done: it is out of service until Resume.
func TestDiscoverKeepsWhatIsDrained(t *testing.T) {
	c := cluster(t)
	one, two := c.Replica(0), c.Replica(1)
	source := listed(one, two)
	d := newDB(t, c, discovering(source))
	d.eligible(t, "replica1", "replica2")
	drained := func() bool {
		all := d.plugin.Status().Replicas
		i := slices.IndexFunc(all, func(r readsplit.ServerStatus) bool { return r.Name == one.Addr() })
		return i >= 0 && all[i].Drained
	}
	leaves := func() {
		source.set(two)
		d.uses(t, two)
		source.set(one, two)
	}

	require.NoError(t, d.plugin.Drain(limit(t), one.Addr()))
	leaves()
	eventually(t, "it to be found again, out of service", drained)
	for range 20 {
		require.Equal(t, "replica2", served(t, d.DB))
	}
	leaves()
	eventually(t, "that to be so once more", drained)
	require.NoError(t, d.plugin.Resume(one.Addr()))
	d.eligible(t, "replica1", "replica2")
	leaves()
	d.eligible(t, "replica1", "replica2")

	// While it is away, too.
	require.NoError(t, d.plugin.Drain(limit(t), one.Addr()))
	source.set(two)
	d.uses(t, two)
	require.NoError(t, d.plugin.Resume("/"+one.Addr()))
	require.ErrorContains(t, d.plugin.Resume(one.Addr()), "there is no replica")
	source.set(one, two)
	d.eligible(t, "replica1", "replica2")
}

// What opens the servers that are found is the application's, and a mistake in it ends
// neither db.Use nor, later, the process.
func TestDiscoverOpenThatPanics(t *testing.T) {
	c := cluster(t)
	source := listed(c.Replica(0))
	d := newDB(t, c, discovering(source), configured(func(c *readsplit.Config) {
		c.DiscoverOpen = func(discover.Server) gorm.Dialector { panic("oh") }
	}))
	source.set(c.Replica(0), c.Replica(1))
	eventually(t, "both to be refused", func() bool {
		found := d.plugin.Status().Discovery.Servers
		return len(found) == 2 && found[0].Why != nil && found[1].Why != nil
	})
	for _, f := range d.plugin.Status().Discovery.Servers {
		assert.EqualError(t, f.Why, "readsplit: Config.DiscoverOpen panicked: oh")
	}
	assert.Equal(t, "primary", served(t, d.DB))
}
