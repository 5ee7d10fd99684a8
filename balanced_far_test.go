package readsplit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// farName is a replica 200 ms away behind a name of several servers: to connect to it
// takes longer than a question may take.
func farName(t *testing.T, c *testenv.Cluster, change func(c *readsplit.Config)) (*testDB, *testenv.Away) {
	t.Helper()
	database, in := onDatabase(t, c)
	away, err := c.Replica(0).Away(0)
	require.NoError(t, err)
	t.Cleanup(away.Close) // after the database is closed
	name := newName(t, c.Replica(0))
	name.by(away.Port())
	d := newDB(t, c, in, configured(func(cfg *readsplit.Config) {
		cfg.MaxLag, cfg.MaxSampleAge, cfg.StickyWindow = time.Minute, 20*time.Second, 2*time.Minute
		change(cfg)
	}), oneReplica(c.Replica(0), database, name.port(), "", declared))
	counters(t, d, 1)
	return d, away
}

// A name that is so far away that to connect takes longer than a question may take
// serves reads all the same.
func TestBalancedNameFarAway(t *testing.T) {
	d, away := farName(t, cluster(t), func(c *readsplit.Config) { c.SampleTimeout = 700 * time.Millisecond })
	away.Set(100 * time.Millisecond)
	eventually(t, "the far replica to serve", func() bool { return served(t, d.WithContext(readsplit.UseReplica(nobody()))) == "replica1" })
	away.Set(0)
}

// A read that waits for a server behind a name, for longer than a question may take,
// does not break off what others read there.
func TestBalancedNameWaitsForAFarServer(t *testing.T) {
	c := breakable(t)
	d, away := farName(t, c, func(c *readsplit.Config) { c.SampleTimeout, c.MaxWait = 700*time.Millisecond, 3*time.Second })
	eventually(t, "the replica to serve", func() bool { return served(t, d.WithContext(readsplit.UseReplica(nobody()))) == "replica1" })
	undo := injected(t)(c.Replica(0).Delay(limit(t), time.Hour))
	defer undone(t, undo)
	rows, err := d.WithContext(readsplit.AnyReplica(nobody())).Raw("SELECT generate_series(1, 200000)").Rows()
	require.NoError(t, err)
	defer func() { assert.NoError(t, rows.Close()) }()
	require.True(t, rows.Next())
	away.Set(100 * time.Millisecond)
	ctx := sessionContext()
	require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = 7 WHERE id = 0").Error)
	n, server, why := decided(t, d.WithContext(ctx), 0)
	assert.Equal(t, 7, n)
	assert.Equal(t, "primary", server, why)
	away.Set(0)
	read := 1
	for rows.Next() {
		read++
	}
	require.NoError(t, rows.Err(), "after %d rows", read)
	assert.Equal(t, 200000, read)
}
