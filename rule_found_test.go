package readsplit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// What the history checker of verify/ has found, each reduced to a few steps.

// A session whose first statement is a write that returns rows, which the
// application closes, has a token.
func TestTokenOfAFirstWriteThroughRows(t *testing.T) {
	d := newDB(t, cluster(t), configured(boundless))
	counters(t, d, 1)
	require.NoError(t, d.cluster.WaitCaughtUp(t.Context()))
	replicasServe(t, d.WithContext(nobody()))
	ctx := nobody()
	rows, err := d.WithContext(ctx).Raw("UPDATE counters SET n = 7 WHERE id = 1 RETURNING n").Rows()
	require.NoError(t, err)
	for rows.Next() {
		require.NoError(t, rows.Scan(new(int)))
	}
	defer still(t, d.cluster)()
	require.NoError(t, rows.Close())
	token, err := readsplit.SessionFrom(ctx).Token(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, token)
	var n int
	require.NoError(t, d.WithContext(elsewhere(t, token)).Raw("SELECT n FROM counters WHERE id = 1").Scan(&n).Error)
	require.Equal(t, 7, n)
}

type parcel struct {
	ID     int64
	Server string `gorm:"->;-:migration"`
	Items  []item
}

type item struct {
	ID       int64
	ParcelID int64
	Server   string `gorm:"->;-:migration"`
}

// A preload is not older than its parent, when the parent's replica is gone before
// it: another one that is within MaxLag may lack what the parent has seen.
func TestPreloadIsNotOlderThanItsParent(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(quick), configured(func(c *readsplit.Config) { c.MaxLag, c.StickyWindow = 30*time.Second, time.Minute }))
	require.NoError(t, d.AutoMigrate(&parcel{}, &item{}))
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d.eligible(t, "replica1", "replica2")
	gone := c.Server("replica1")
	_, err := c.Server("replica2").PauseReplay(limit(t)) // behind, within MaxLag
	require.NoError(t, err)
	p := parcel{Items: []item{{}}}
	require.NoError(t, d.WithContext(nobody()).Create(&p).Error)
	eventually(t, "the replica to have it", func() bool {
		return ask[int](t, gone, "SELECT count(*) FROM pg_stat_activity") > 0 && found(t, d, gone.Name(), p.ID)
	})
	from := "*, current_setting('cluster_name') AS server"
	stopped := false
	require.NoError(t, d.Callback().Query().Before("gorm:preload").Register("stop", func(tx *gorm.DB) {
		if tx.Statement.Table == "parcels" && tx.RowsAffected == 1 && !stopped {
			stopped = true
			_, err := gone.Stop(limit(t))
			require.NoError(t, err)
			eventually(t, "it to be down", func() bool { return !d.plugin.Status().Replicas[0].Up })
		}
	}))
	var got parcel
	eventually(t, "a read to be served by the replica that has it", func() bool {
		got = parcel{}
		// Another session, which asks for nothing: it may see either state, not half of one.
		tx := d.WithContext(readsplit.Stale(nobody())).Select(from).
			Preload("Items", func(db *gorm.DB) *gorm.DB { return db.Select(from) }).Limit(1).Find(&got, p.ID)
		require.NoError(t, tx.Error)
		return got.ID != 0 && got.Server == gone.Name()
	})
	require.True(t, stopped)
	require.Len(t, got.Items, 1)
	require.Equal(t, "primary", got.Items[0].Server)
}

// found reports whether a read that a replica serves has a parcel.
func found(t *testing.T, d *testDB, server string, id int64) bool {
	t.Helper()
	var got parcel
	require.NoError(t, d.WithContext(readsplit.Stale(nobody())).Select("*, current_setting('cluster_name') AS server").Limit(1).Find(&got, id).Error)
	return got.Server == server
}

// A write without a session whose position is known binds reads after the primary
// is lost, whatever came after it and is not known.
func TestKnownWriteBindsWhileThePrimaryIsLost(t *testing.T) {
	c := breakable(t)
	const window = 3 * time.Second
	d := newDB(t, c, configured(func(c *readsplit.Config) {
		c.SampleEvery, c.StickyWindow = 900*time.Millisecond, window
	}))
	counters(t, d, 1)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d.eligible(t, "replica1", "replica2")
	defer still(t, c)()
	read := func() (n int, err error) {
		err = d.Raw("SELECT n FROM counters WHERE id = 1").Scan(&n).Error
		return n, err
	}
	require.NoError(t, d.Exec("UPDATE counters SET n = 1 WHERE id = 1").Error)
	eventually(t, "its position to be known", func() bool {
		tx := d.Raw("SELECT 1").Scan(new(int))
		require.NoError(t, tx.Error)
		// A read that no capture has answered within MaxWait settles nothing.
		return reason(t, tx) == policy.ReasonBehindSession || reason(t, tx) == policy.ReasonWaitExpired
	})
	require.NoError(t, d.Exec("UPDATE counters SET n = 2 WHERE id = 1").Error)
	wrote := time.Now()
	_, err := c.Primary().Kill(limit(t))
	require.NoError(t, err)
	eventually(t, "the window to be over, and the primary lost", func() bool {
		return time.Since(wrote) > window && !d.plugin.Status().Primary.Up
	})
	for range 5 {
		if n, err := read(); err == nil {
			require.GreaterOrEqual(t, n, 1)
		}
	}
}
