package readsplit_test

import (
	"context"
	"database/sql"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/policy/latency"
)

// sluggish makes reads by slow() take 200 ms on replica1, and nothing elsewhere.
func sluggish(t *testing.T, options ...dbOption) *testDB {
	t.Helper()
	d := newDB(t, cluster(t), append(options, saidToRead("slow"), configured(func(c *readsplit.Config) { c.MaxLag, c.MaxSampleAge = readsplit.Off, 5*time.Second }))...)
	require.NoError(t, d.Exec(`CREATE FUNCTION slow() RETURNS text LANGUAGE plpgsql STABLE AS $$ BEGIN
		IF current_setting('cluster_name') = 'replica1' THEN PERFORM pg_sleep(0.2); END IF;
		RETURN current_setting('cluster_name'); END $$`).Error)
	require.NoError(t, d.cluster.WaitCaughtUp(limit(t)))
	eventually(t, "the replicas to be known", func() bool { // reads would be measured
		for _, r := range d.plugin.Status().Replicas {
			if !r.Up || r.Role != policy.RoleStandby {
				return false
			}
		}
		return true
	})
	d.serveBoth(t)
	return d
}

// serveBoth waits until both replicas have what was written, which binds all reads. It is
// asked of nobody, so that nothing is measured.
func (d *testDB) serveBoth(t *testing.T) {
	t.Helper()
	eventually(t, "both to have what was written", func() bool {
		s := explained(t, nobody(), d.DB, func(tx *gorm.DB) *gorm.DB { return tx.Raw(whoSQL).Scan(new(string)) })
		return len(s) == 1 && len(s[0].Servers) == 2 && s[0].Replica() && len(s[0].Before) == 0
	})
}

// slow reads by slow() and returns who served it: the primary, where a busy machine
// has kept the news of the replicas away.
func (d *testDB) slow(t *testing.T) (name string) {
	t.Helper()
	require.NoError(t, d.WithContext(nobody()).Raw("SELECT slow()").Scan(&name).Error)
	return name
}

// A replica that has become slow gets few reads, although one read at a time shows
// nothing by the number in flight.
func TestBalanceByLatency(t *testing.T) {
	d := sluggish(t, configured(func(c *readsplit.Config) { c.Balancer = policy.Latency() }))
	by := map[string]int{}
	for range 100 {
		by[d.slow(t)]++
	}
	assert.Positive(t, by["replica1"], "it was measured")
	assert.Less(t, by["replica1"], 25, "of 100")
	st := d.plugin.Status()
	assert.Positive(t, st.Replicas[0].Latency)
	assert.Positive(t, st.Replicas[1].Latency)
	assert.Zero(t, st.Primary.Latency)
}

// A server that refuses at once is not the fastest.
func TestFailingFastIsNotFast(t *testing.T) {
	d, all := ailing(t, cluster(t), monitor.Health{Strikes: -1, SlowStart: -1})
	d.serveBoth(t)
	fallIll(t, d, all[0], "replica1")
	eventually(t, "reads to fail", func() bool {
		require.Equal(t, "replica2", served(t, d.WithContext(nobody())))
		return all[0].asked.Load() >= 40 // a read may ask several times
	})
	assert.GreaterOrEqual(t, d.plugin.Status().Replicas[0].Latency, latency.FailureLeast/5)
}

// A caller that gives up has not measured a short read; a wrong statement neither.
func TestWhatIsNoMeasurement(t *testing.T) {
	var d *testDB
	eventually(t, "a machine that has time", func() bool {
		d = sluggish(t, configured(func(c *readsplit.Config) { c.Balancer = always("replica1") }))
		require.Error(t, d.WithContext(nobody()).Raw("SELECT 1/0").Scan(new(int)).Error)
		assert.Zero(t, d.plugin.Status().Replicas[0].Latency)
		var longest time.Duration
		for range 3 {
			ctx, cancel := context.WithTimeout(nobody(), time.Millisecond)
			began := time.Now()
			require.Error(t, d.WithContext(ctx).Raw("SELECT slow()").Scan(new(string)).Error)
			longest = max(longest, time.Since(began))
			cancel()
		}
		if longest > latency.FailureLeast {
			return false // what has taken as long as that when it is given up is a measurement
		}
		assert.Zero(t, d.plugin.Status().Replicas[0].Latency)
		return true
	})
	eventually(t, "a read that is measured", func() bool { return d.slow(t) == "replica1" })
	assert.GreaterOrEqual(t, d.plugin.Status().Replicas[0].Latency, 190*time.Millisecond)
}

// A slow server begins transactions as quickly as any other.
func TestBeginningIsNoMeasurement(t *testing.T) {
	d := sluggish(t, configured(func(c *readsplit.Config) { c.Balancer = always("replica1") }))
	begin := func() {
		tx := d.WithContext(nobody()).Begin(&sql.TxOptions{ReadOnly: true})
		require.NoError(t, tx.Raw("SELECT 1").Scan(new(int)).Error)
		require.NoError(t, tx.Commit().Error)
	}
	begin()
	assert.Zero(t, d.plugin.Status().Replicas[0].Latency)
	eventually(t, "a read that is measured", func() bool { return d.slow(t) == "replica1" })
	for range 60 {
		begin()
	}
	assert.GreaterOrEqual(t, d.plugin.Status().Replicas[0].Latency, 20*time.Millisecond, "faded a little")
}

// Reads leave a zone that is slow, and only then.
func (f fieldTest) spill(t *testing.T) {
	near := func(c *readsplit.Config) {
		c.Zone, c.Replicas[0].Zone, c.Replicas[1].Zone = "a", "a", "b"
	}
	stays := sluggish(t, configured(near), configured(func(c *readsplit.Config) { c.Spill = policy.Spill{Latency: -1} }))
	leaves := sluggish(t, configured(near), configured(func(c *readsplit.Config) { c.Spill = policy.Spill{Latency: time.Millisecond} }))
	eventually(t, "reads of the zone", func() bool { return stays.slow(t) == "replica1" && leaves.slow(t) == "replica1" })
	for range 10 {
		require.NotEqual(t, "replica2", stays.slow(t))
	}
	eventually(t, "a read to leave", func() bool { return leaves.slow(t) == "replica2" })
}

// The primary serves reads with a weight where it stands among the replicas.
func TestPrimaryServesReadsByWeight(t *testing.T) {
	c := cluster(t)
	name := newDatabaseName(t)
	require.NoError(t, c.CreateDatabase(t.Context(), name))
	d := newDB(t, c, inDatabase(name), configured(func(cfg *readsplit.Config) {
		cfg.MaxLag, cfg.Health.SlowStart = readsplit.Off, -1
		cfg.Balancer = policy.RoundRobin()
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{
			Name: "itself", Dialector: postgres.Open(c.Primary().DSNFor(name)), AllowPrimaryAsReplica: true, Weight: 2,
		})
	}))
	eventually(t, "shares by weight", func() bool {
		return maps.Equal(servers(t, d, nobody(), 40), map[string]int{"replica1": 10, "replica2": 10, "primary": 20})
	})
	assert.Empty(t, d.log.matching("PRIMARY"), "it was meant")
	st := d.plugin.Status().Replicas[2]
	assert.Equal(t, policy.RolePrimary, st.Role)
	assert.GreaterOrEqual(t, st.Reads, uint64(20))
}
