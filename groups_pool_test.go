package readsplit_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy"
)

// Reports that take every connection of their group leave the site its own, on the very
// same replica; and the other way round.
func TestGroupNeverSharesAPool(t *testing.T) {
	for _, prepared := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "prepared"}[prepared], func(t *testing.T) {
			x := grouped(t, []groups.Group{{Name: "reports", Pool: groups.Pool{MaxOpen: 2}}}, prepareStmt(prepared), configured(func(c *readsplit.Config) {
				c.Replicas = c.Replicas[1:]
				c.Replicas[0].Groups = []string{"reports"}
				c.Pool.MaxOpen = 3
			}))
			site, report := x.WithContext(nobody()), x.WithContext(reports(nobody()))
			held := []*sql.Rows{hog(t, report), hog(t, report)}
			ctx, cancel := context.WithCancel(reports(nobody()))
			defer cancel()
			third := make(chan error, 1)
			go func() { third <- x.WithContext(ctx).Find(&[]book{}).Error }()
			st := func() (site sql.DBStats, group groups.PoolStatus) {
				r := x.plugin.Status().Replicas[0]
				require.Len(t, r.Groups, 1)
				return r.Pool, r.Groups[0]
			}
			eventually(t, "the third report to wait for its pool", func() bool { _, g := st(); return g.Pool.WaitCount == 1 })

			for range 20 {
				require.Equal(t, "replica2", booksFrom(t, site).server, "the site is served there at once")
			}
			pool, group := st()
			assert.Equal(t, 3, pool.MaxOpenConnections)
			assert.Zero(t, pool.InUse)
			assert.Zero(t, pool.WaitCount)
			assert.Equal(t, 2, group.Pool.MaxOpenConnections)
			assert.Equal(t, 2, group.Pool.InUse)
			assert.Equal(t, "reports", group.Group)
			assert.EqualValues(t, 1, group.InFlight)
			assert.EqualValues(t, 2, group.Reads)

			require.NoError(t, held[0].Close())
			require.NoError(t, <-third)

			// And the site's own reads keep no report waiting.
			for range 3 {
				hog(t, site)
			}
			assert.Equal(t, "replica2", booksFrom(t, report).server)
			st2 := x.groupOf(t, "reports")
			assert.EqualValues(t, 4, st2.Served)
			assert.Equal(t, []int{1, 1}, []int{st2.Replicas, st2.Up})
			assert.Zero(t, st2.OnPrimary+st2.Outside+st2.Refused)
		})
	}
}

// A read-only transaction of a group, a query for one row and what GetDBConn gives run
// in the group's pool too.
func TestGroupPoolOfEveryRun(t *testing.T) {
	x := grouped(t, []groups.Group{{Name: "reports", Pool: groups.Pool{MaxOpen: 1}}})
	report := x.WithContext(reports(nobody()))
	inUse := func() int { return x.plugin.Status().Replicas[1].Groups[0].Pool.InUse }
	require.NoError(t, report.Transaction(func(tx *gorm.DB) error {
		require.Equal(t, "replica2", booksFrom(t, tx).server)
		assert.Equal(t, 1, inUse())
		return nil
	}, &sql.TxOptions{ReadOnly: true}))
	row := report.Model(&book{}).Select("server").Row()
	assert.Equal(t, 1, inUse())
	var server string
	require.NoError(t, row.Scan(&server))
	assert.Equal(t, "replica2", server)
	assert.Zero(t, inUse())
	assert.Zero(t, x.plugin.Status().Replicas[1].Pool.InUse)

	seen := map[string]int{}
	x.plugin.Pools(func(_, server string, pool *sql.DB) { seen[server] = pool.Stats().MaxOpenConnections })
	assert.Equal(t, map[string]int{"primary": 0, "replica1": 64, "replica2": 64, "replica2@reports": 1}, seen)
}

// How long reports take says nothing of the replica's other reads, of which there are
// none here.
func TestGroupLatencyIsItsOwn(t *testing.T) {
	x := grouped(t, nil, saidToRead("nap"), configured(func(c *readsplit.Config) { c.Replicas[1].Reserved = true }))
	x.past(t, napSchema)
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
	for range 3 {
		require.NoError(t, x.WithContext(reports(nobody())).Raw("SELECT nap(0.05)").Scan(new(string)).Error)
	}
	r := x.plugin.Status().Replicas[1]
	require.Len(t, r.Groups, 1)
	assert.GreaterOrEqual(t, r.Groups[0].Latency, 30*time.Millisecond)
	assert.Zero(t, r.Latency)
}

// A reserved replica serves its groups alone, also while nobody else can.
func TestReservedReplica(t *testing.T) {
	x := grouped(t, nil, configured(func(c *readsplit.Config) { c.Replicas[1].Reserved = true }))
	site, report := x.WithContext(nobody()), x.WithContext(reports(nobody()))
	assert.Equal(t, "replica1", booksFrom(t, site).server)
	assert.Equal(t, "replica2", booksFrom(t, report).server)
	require.NoError(t, x.plugin.Drain(limit(t), "replica1"))
	assert.Equal(t, answer{"primary", policy.ReasonDrained}, booksFrom(t, site))
	assert.Equal(t, "replica2", booksFrom(t, report).server)
	require.NoError(t, x.plugin.RemoveReplica(limit(t), "replica1"))
	assert.Equal(t, "primary", booksFrom(t, site).server)

	seen := map[string]bool{}
	x.plugin.Pools(func(_, server string, _ *sql.DB) { seen[server] = true })
	assert.Equal(t, map[string]bool{"primary": true, "replica2@reports": true}, seen, "no pool for reads that never come")
	r := x.plugin.Status().Replicas[0]
	assert.True(t, r.Reserved)
	assert.Zero(t, r.Pool.OpenConnections)
	require.NoError(t, x.plugin.Drain(limit(t), "replica2"))
	assert.Zero(t, x.plugin.Status().Replicas[0].Groups[0].Pool.OpenConnections, "draining closes the group's pool")
}

// The check of connection limits counts the pools of groups, and not the one of a
// replica that the site does not use.
func TestConnectionsOfGroups(t *testing.T) {
	c := cluster(t)
	replica := func(change func(*readsplit.Replica)) []readsplit.Replica {
		r := replicaOf(c.Replica(0), "pg2", 20)
		r.Groups = []string{"reports", "search"}
		change(&r)
		return []readsplit.Replica{r}
	}
	described := []groups.Group{{Name: "reports", Pool: groups.Pool{MaxOpen: 300}}}
	of := func(p *readsplit.Plugin) (sum int, names []string) {
		for _, s := range p.Status().Connections {
			if s.Servers[0] == "pg2" {
				for _, l := range s.Pools {
					names = append(names, l.Name)
				}
				return s.Needed, names
			}
		}
		return 0, nil
	}
	p, log := sized(t, c, 10, readsplit.Config{Groups: described, Replicas: replica(func(*readsplit.Replica) {})})
	sum, names := of(p)
	assert.Equal(t, 20+300+20+1, sum)
	assert.Equal(t, []string{
		"Config.Replicas[0].Pool.MaxOpen", `Config.Groups[0].Pool.MaxOpen for group "reports" on pg2`, `Config.Replicas[0].Pool.MaxOpen for group "search" on pg2`,
	}, names)
	assert.Len(t, log.matching("too many connections", "Config.Groups[0].Pool.MaxOpen"), 1)

	p, _ = sized(t, c, 10, readsplit.Config{Groups: described, Replicas: replica(func(r *readsplit.Replica) { r.Reserved = true })})
	sum, _ = of(p)
	assert.Equal(t, 300+20+1, sum)

	p, _ = sized(t, c, 10, readsplit.Config{Groups: described, Replicas: replica(func(r *readsplit.Replica) { r.Logical = true })})
	sum, _ = of(p)
	assert.Equal(t, 300+20+1, sum, "no read of the site ever goes there")
	var pools []string
	p.Pools(func(_, server string, _ *sql.DB) { pools = append(pools, server) })
	assert.NotContains(t, pools, "pg2")
	assert.Subset(t, pools, []string{"pg2@reports", "pg2@search"})
}
