package readsplit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/discover"
)

// found makes the second replica one that a source finds.
func (f fieldTest) found(c *readsplit.Config) {
	c.Replicas = c.Replicas[:1]
	c.Discover.Source = discover.Static(at(f.c.Replica(1)))
}

func (f fieldTest) discover(t *testing.T) {
	base, changed := f.both(t, f.found)
	require.Empty(t, base.plugin.Status().Discovery)
	require.Equal(t, "static", changed.plugin.Status().Discovery.Source)
	assert.Equal(t, []string{f.c.Replica(1).Addr(), "replica1"}, changed.inUse())
	changed.eligible(t, "replica1", "replica2")
	assert.EqualError(t, used(t, readsplit.Config{Discover: discover.Config{Source: discover.Static(), Most: -1}}),
		"readsplit: Config.Discover: Most is -1: it must be positive (0 means 128)")
}

func (f fieldTest) discovered(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) {
		f.found(c)
		c.Discovered = readsplit.Replica{Groups: []string{"found"}, Zone: "z", Weight: 3, Pool: readsplit.Pool{MaxOpen: 5}}
		c.ConflictGroup = "found"
	})
	assert.Error(t, base.WithContext(readsplit.Group(nobody(), "found")).Raw(whoSQL).Scan(new(string)).Error)
	assert.Equal(t, map[string]int{"replica2": 10}, servers(t, changed, readsplit.Group(nobody(), "found"), 10))
	for _, r := range changed.plugin.Status().Replicas {
		if r.Discovered {
			assert.Equal(t, 5, r.Pool.MaxOpenConnections)
		}
	}
	assert.ErrorContains(t, used(t, readsplit.Config{
		Discover: discover.Config{Source: discover.Static()}, Discovered: readsplit.Replica{Weight: -1},
	}), "Config.Discovered.Weight is -1")
	assert.EqualError(t, used(t, readsplit.Config{Discovered: readsplit.Replica{Zone: "z"}}),
		"readsplit: Config.Discovered is set, but Config.Discover.Source is nil: nothing would be discovered; set it, or leave Discovered out")
}

func (f fieldTest) discoverOpen(t *testing.T) {
	var opened []discover.Server
	_, changed := f.both(t, func(c *readsplit.Config) {
		f.found(c)
		c.DiscoverOpen = func(s discover.Server) gorm.Dialector {
			opened = append(opened, s)
			return postgres.Open(f.c.Replica(1).DSNFor(f.database))
		}
	})
	changed.eligible(t, "replica1", "replica2")
	require.Len(t, opened, 1)
	assert.Equal(t, f.c.Replica(1).Addr(), opened[0].Name)
	assert.True(t, strings.HasPrefix(opened[0].Host, "127."))
	assert.EqualError(t, used(t, readsplit.Config{DiscoverOpen: func(discover.Server) gorm.Dialector { return nil }}),
		"readsplit: Config.DiscoverOpen is set, but Config.Discover.Source is nil: nothing would be discovered; set it, or leave DiscoverOpen out")
}
