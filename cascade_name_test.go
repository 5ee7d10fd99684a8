package readsplit_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// A cascade behind one name, the one in the middle of which is promoted, seen by a role
// that may not see what a standby streams: the other one goes with it to its new
// timeline, and nobody is shown what was never true here.
func TestCascadeBehindOneName(t *testing.T) {
	c := testenv.Start(t)
	_, err := c.Cascade(limit(t))
	require.NoError(t, err)
	execOn(t, c.Primary(), "CREATE TABLE steps (n int); INSERT INTO steps VALUES (0); CREATE ROLE app LOGIN PASSWORD 'app'; GRANT ALL ON steps TO app")
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	name := newName(t, c.Replicas()...)
	d := &testDB{cluster: c, log: &logRecorder{}}
	as := " user=app password=app"
	d.DB, err = gorm.Open(postgres.Open(c.Primary().DSN()+as), &gorm.Config{Logger: d.log})
	require.NoError(t, err)
	pool, err := d.DB.DB()
	require.NoError(t, err)
	d.plugin = readsplit.New(readsplit.Config{
		MaxLag: time.Hour, MaxSampleAge: 2 * time.Second, StickyWindow: 2 * time.Hour, SampleTimeout: 10 * time.Second,
		Replicas: []readsplit.Replica{{Name: "ro", Balanced: true, Dialector: postgres.Open(fmt.Sprintf("%s host=127.0.0.1 port=%d", c.Primary().DSN()+as, name.port()))}},
	})
	require.NoError(t, d.Use(d.plugin))
	t.Cleanup(func() {
		require.NoError(t, d.plugin.Close(context.Background()))
		require.NoError(t, pool.Close())
	})
	spread(t, d, "replica1", "replica2")

	_ = injected(t)(c.Replica(0).Promote(limit(t)))
	// At positions that the primary has passed.
	execOn(t, c.Primary(), "SELECT pg_logical_emit_message(true, 'other', repeat('x', 1000000))")
	execOn(t, c.Replica(0), "INSERT INTO steps VALUES (1000)")
	eventually(t, "the second one to follow", func() bool { return ask[int](t, c.Replica(1), "SELECT max(n) FROM steps") == 1000 })
	read := func(ctx context.Context) (n int) {
		require.NoError(t, d.WithContext(ctx).Raw("SELECT max(n) FROM steps").Scan(&n).Error)
		return n
	}
	promoted := func() bool {
		return slices.ContainsFunc(d.plugin.Status().Replicas[0].Backends, func(b monitor.Backend) bool { return b.Role == policy.RolePrimary })
	}
	eventually(t, "the promoted one to be seen", func() bool {
		read(nobody())
		spreadOnce(d)
		return promoted()
	})
	known := time.Now()
	eventually(t, "what connections have shown to be too old", func() bool {
		read(nobody())
		return time.Since(known) > 2*time.Second
	})
	for range 200 {
		require.Zero(t, read(nobody()))
	}
}
