package readsplit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/testenv"
)

// sized opens a plugin over an application's pool of a size.
func sized(t *testing.T, c *testenv.Cluster, open int, cfg readsplit.Config) (*readsplit.Plugin, *logRecorder) {
	t.Helper()
	log := &logRecorder{}
	db, err := gorm.Open(postgres.Open(c.Primary().DSN()), &gorm.Config{Logger: log})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	pool.SetMaxOpenConns(open)
	cfg.SampleTimeout = 10 * time.Second // the first question is asked on a busy machine too
	p := readsplit.New(cfg)
	require.NoError(t, db.Use(p))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(t, p.Close(ctx))
		require.NoError(t, pool.Close())
	})
	return p, log
}

func replicaOf(s *testenv.Server, name string, open int) readsplit.Replica {
	return readsplit.Replica{Name: name, Dialector: postgres.Open(s.DSN()), Pool: readsplit.Pool{MaxOpen: open}}
}

// need is what a test looks at.
type need struct {
	servers           []string
	needed, available int
}

func needs(p *readsplit.Plugin) (all []need) {
	for _, c := range p.Status().Connections {
		all = append(all, need{c.Servers, c.Needed, c.Available})
	}
	return all
}

// What may be opened on each server is compared with what it takes, whatever names
// and roles it has.
func TestConnections(t *testing.T) {
	c, err := testenv.New(t.Context(), testenv.Config{
		// A standby refuses to start with a lower max_connections than its primary had.
		Replicas: 1, Settings: map[string]string{"max_connections": "200", "superuser_reserved_connections": "165"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	primary, replica := c.Primary(), c.Replica(0)

	t.Run("a set-up that fits says nothing", func(t *testing.T) {
		p, log := sized(t, c, 33, readsplit.Config{Replicas: []readsplit.Replica{replicaOf(replica, "pg2", 34)}})
		assert.Equal(t, []need{{[]string{"primary"}, 35, 35}, {[]string{"pg2"}, 35, 35}}, needs(p))
		assert.Empty(t, log.matching("connections"))
	})
	t.Run("too many", func(t *testing.T) {
		p, log := sized(t, c, 10, readsplit.Config{Replicas: []readsplit.Replica{replicaOf(replica, "pg2", 64)}})
		assert.Equal(t, []need{{[]string{"primary"}, 12, 35}, {[]string{"pg2"}, 65, 35}}, needs(p))
		assert.Equal(t, []string{"warn: readsplit: too many connections: pg2 takes 35 connections (max_connections 200 less 165 reserved), and 65 may be opened there: " +
			"65 by this process (Config.Replicas[0].Pool.MaxOpen 64; 1 of the plugin's own), times Config.Instances, 1" +
			"; set Config.Replicas[0].Pool.MaxOpen to at most 34, or max_connections to at least 230"}, log.matching("connections"))
	})
	t.Run("several instances", func(t *testing.T) {
		p, log := sized(t, c, 10, readsplit.Config{Instances: 3, Replicas: []readsplit.Replica{replicaOf(replica, "pg2", 10)}})
		assert.Equal(t, []need{{[]string{"primary"}, 36, 35}, {[]string{"pg2"}, 33, 35}}, needs(p))
		assert.Len(t, log.matching("connections"), 1)
		assert.Len(t, log.matching("warn: ", "primary takes 35", "set SetMaxOpenConns of db.DB() to at most 9"), 1)
	})
	t.Run("one server in several roles", func(t *testing.T) {
		dev := replicaOf(primary, "dev", 20)
		dev.AllowPrimaryAsReplica = true
		p, log := sized(t, c, 20, readsplit.Config{
			Replicas: []readsplit.Replica{dev},
			Resolvers: []readsplit.Resolver{
				{Name: "same", Replicas: []readsplit.Replica{replicaOf(replica, "pg2", 10)}},
				{Name: "own", Primary: postgres.Open(primary.DSN()), PrimaryPool: readsplit.Pool{MaxOpen: 5}, Replicas: []readsplit.Replica{replicaOf(replica, "pg2", 10)}},
			},
		})
		// 20 + 20 + 5, the monitor and the catalogue twice, the monitor twice more.
		assert.Equal(t, []need{{[]string{"primary", "dev", "same/primary", "own/primary"}, 51, 35}, {[]string{"same/pg2", "own/pg2"}, 22, 35}}, needs(p))
		assert.Len(t, log.matching("connections"), 1, "not one for each name")
		assert.Len(t, log.matching("warn: ", "primary, dev, same/primary, own/primary takes 35", "Config.Resolvers[1].PrimaryPool.MaxOpen to at most 3"), 1)

		require.NoError(t, p.AddResolver(readsplit.Resolver{Name: "more", Replicas: []readsplit.Replica{replicaOf(replica, "pg2", 13)}}))
		assert.Equal(t, need{[]string{"same/pg2", "own/pg2", "more/pg2"}, 36, 35}, needs(p)[1])
		assert.Len(t, log.matching("warn: ", "same/pg2, own/pg2, more/pg2 takes 35"), 1)
	})
	t.Run("a pool without a limit", func(t *testing.T) {
		p, log := sized(t, c, 0, readsplit.Config{Replicas: []readsplit.Replica{replicaOf(replica, "pg2", 10)}})
		assert.Equal(t, []string{"SetMaxOpenConns of db.DB()"}, p.Status().Connections[0].Unlimited())
		assert.Empty(t, log.matching("warn: ", "connections"))
		assert.Len(t, log.matching("info: readsplit: connections without a limit: primary takes 35", "set SetMaxOpenConns of db.DB() to at most 33"), 1)
	})
	t.Run("a server that is seen later", func(t *testing.T) {
		undo := injected(t)(replica.Kill(t.Context()))
		p, log := sized(t, c, 10, readsplit.Config{SampleEvery: 20 * time.Millisecond, Replicas: []readsplit.Replica{replicaOf(replica, "pg2", 64)}})
		assert.Len(t, needs(p), 1)
		assert.Empty(t, log.matching("connections"))
		undone(t, undo)
		eventually(t, "the warning", func() bool { return len(log.matching("warn: ", "pg2 takes 35")) == 1 })
		assert.Equal(t, need{[]string{"pg2"}, 65, 35}, needs(p)[1])
	})
	if c.Major() >= 16 {
		t.Run("reserved connections", func(t *testing.T) {
			execOn(t, primary, "ALTER SYSTEM SET reserved_connections = 4")
			undo := injected(t)(primary.Stop(t.Context()))
			undone(t, undo)
			p, _ := sized(t, c, 10, readsplit.Config{})
			assert.Equal(t, []need{{[]string{"primary"}, 11, 31}}, needs(p))
		})
	}
}

// A primary that takes few connections, and stands in for its replica.
func TestConnectionsOfASmallServer(t *testing.T) {
	c, err := testenv.New(t.Context(), testenv.Config{Replicas: -1, Settings: map[string]string{"max_connections": "20"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	dev := replicaOf(c.Primary(), "dev", 8)
	dev.AllowPrimaryAsReplica = true
	p, log := sized(t, c, 7, readsplit.Config{Replicas: []readsplit.Replica{dev}})
	assert.Equal(t, []need{{[]string{"primary", "dev"}, 18, 17}}, needs(p))
	assert.Len(t, log.matching("warn: ", "primary, dev takes 17 connections (max_connections 20 less 3 reserved), and 18 may be opened there",
		"set SetMaxOpenConns of db.DB() to at most 6 and Config.Replicas[0].Pool.MaxOpen to at most 7"), 1)
	dev.Pool.MaxOpen = 7
	p, log = sized(t, c, 7, readsplit.Config{Replicas: []readsplit.Replica{dev}})
	assert.Equal(t, []need{{[]string{"primary", "dev"}, 17, 17}}, needs(p))
	assert.Empty(t, log.matching("connections"))
}

// The field of the configuration has an effect of its own.
func testInstances(t *testing.T) {
	many := newDB(t, cluster(t), configured(func(c *readsplit.Config) { c.Instances = 7 })).plugin.Status().Connections
	require.Len(t, many, 3)
	alone := newDB(t, cluster(t)).plugin.Status().Connections
	for i, c := range many {
		assert.Equal(t, 7*alone[i].Needed, c.Needed)
	}
	assert.Equal(t, overload.PoolLimit{Name: "Config.Replicas[0].Pool.MaxOpen", MaxOpen: 64}, alone[1].Pools[0])
}
