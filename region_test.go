package readsplit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// overseas is an application whose primary is far away: each byte takes d, each way. Its
// replicas are beside it.
func overseas(t *testing.T, d time.Duration, options ...dbOption) (*testDB, *testenv.Away) {
	t.Helper()
	c := cluster(t)
	away, err := c.Primary().Away(d)
	require.NoError(t, err)
	t.Cleanup(away.Close) // after the database is closed
	options = append(options, connected(fmt.Sprintf("port=%d", away.Port())))
	return newDB(t, c, options...), away
}

// TestRegionReadsItsWrites: in a region 100 ms from the primary, whose replicas are
// 300 ms behind, every read sees its session's write, and once a replica has it, reads
// have no way to the primary in them: they succeed while nothing that is sent there
// arrives.
func TestRegionReadsItsWrites(t *testing.T) {
	d, away := overseas(t, 50*time.Millisecond, configured(func(c *readsplit.Config) {
		c.MaxLag, c.MaxSampleAge, c.SampleTimeout = time.Minute, 20*time.Second, time.Minute
	}))
	counters(t, d, 1)
	require.NoError(t, d.cluster.WaitCaughtUp(limit(t)))
	for _, r := range d.cluster.Replicas() {
		_, err := r.Delay(limit(t), 300*time.Millisecond)
		require.NoError(t, err)
	}
	t.Cleanup(func() { require.NoError(t, d.cluster.UndoAll()) })
	d.eligible(t, "replica1", "replica2")

	db := d.WithContext(readsplit.WithSession(context.Background(), readsplit.NewSession()))
	read := func(want int64) (tx *gorm.DB, replica bool) {
		var row struct {
			N      int64
			Server string
		}
		tx = db.Raw("SELECT n, current_setting('cluster_name') AS server FROM counters WHERE id = 0").Scan(&row)
		require.NoError(t, tx.Error)
		require.Equal(t, want, row.N, "on %s", row.Server)
		return tx, isReplica(row.Server)
	}
	for n := range int64(2) {
		require.NoError(t, db.Exec("UPDATE counters SET n = ? WHERE id = 0", n+1).Error)
		read(n + 1)
		eventually(t, "a replica serves the session again", func() bool { _, replica := read(n + 1); return replica })
	}
	away.Set(time.Hour)
	for range 50 {
		tx, replica := read(2)
		require.True(t, replica)
		require.Equal(t, policy.ReasonCaughtUp, reason(t, tx))
	}
	away.Set(0)
}

// TestNearApplicationLeavesFarReplicasAlone: beside the primary, a replica in another
// zone serves nothing while one of the application's own does or the primary must.
func TestNearApplicationLeavesFarReplicasAlone(t *testing.T) {
	c := cluster(t)
	away, err := c.Replica(1).Away(50 * time.Millisecond)
	require.NoError(t, err)
	t.Cleanup(away.Close)
	name := newDatabaseName(t)
	require.NoError(t, c.CreateDatabase(limit(t), name))
	t.Cleanup(func() { unused(c, name) })
	d := newDB(t, c, inDatabase(name), configured(func(c *readsplit.Config) {
		c.MaxLag, c.MaxSampleAge, c.SampleTimeout = time.Minute, 20*time.Second, 10*time.Second
		c.Zone, c.Spill = "here", policy.Spill{InFlight: -1, Latency: -1}
		c.Replicas[0].Zone, c.Replicas[1].Zone = "here", "there"
		c.Replicas[1].Dialector = postgres.Open(away.DSNFor(name))
	}))
	counters(t, d, 1)
	far := func() uint64 { return d.plugin.Status().Replicas[1].Reads }
	eventually(t, "the near replica serves", func() bool { return served(t, d.WithContext(readsplit.Stale(context.Background()))) == "replica1" })
	before, late := far(), uint64(0)
	for n := range 100 {
		db := d.WithContext(readsplit.WithSession(context.Background(), readsplit.NewSession()))
		if n%4 == 0 {
			require.NoError(t, db.Exec("UPDATE counters SET n = n + 1 WHERE id = 0").Error)
		}
		var server string
		tx := db.Raw(whoSQL).Scan(&server)
		require.NoError(t, tx.Error)
		why := reason(t, tx)
		if n%4 == 0 && server == "replica2" && (why == policy.ReasonCaughtUp || why == policy.ReasonWaited) {
			late++ // on a busy machine: it was asked later than the near one, and had the write
			continue
		}
		require.NotEqual(t, "replica2", server, "%v", why)
	}
	require.Less(t, late, uint64(5), "of 25 reads after a write")
	require.Equal(t, before+late, far())
	require.True(t, d.plugin.Status().Replicas[1].Up, "it is known, and far away")
}

// TestPrimaryFartherThanATimeout: to connect takes several ways there and back, longer
// than one question may take. The primary is found all the same.
func TestPrimaryFartherThanATimeout(t *testing.T) {
	d, _ := overseas(t, 100*time.Millisecond, configured(func(c *readsplit.Config) {
		c.SampleTimeout = 300 * time.Millisecond
	}))
	eventually(t, "the primary is known", func() bool {
		st := d.plugin.Status()
		return st.Primary.Up && st.Primary.Position.LSN != 0
	})
}
