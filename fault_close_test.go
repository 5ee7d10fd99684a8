package readsplit_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// ours returns the stacks of goroutines that run the plugin's code, or database/sql
// for a pool that it opened.
func ours() (stacks []string) {
	buf := make([]byte, 1<<20)
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "_test.") || strings.Contains(g, "testing.") {
			continue // a test, in whatever it calls
		}
		if strings.Contains(g, "readsplit/readsplit.") || strings.Contains(g, "readsplit/monitor.") ||
			strings.Contains(g, "database/sql.(*DB).connectionOpener") || strings.Contains(g, "gorm.io/") {
			stacks = append(stacks, g)
		}
	}
	return stacks
}

func TestCloseJoinsEverything(t *testing.T) {
	c := cluster(t)
	before := newDB(t, c) // its own goroutines stay
	counters(t, before, 1)
	for _, prepared := range []bool{false, true} {
		open := func() *gorm.DB {
			db, err := gorm.Open(postgres.Open(c.Primary().DSNFor(before.name)), &gorm.Config{PrepareStmt: prepared, Logger: &logRecorder{}})
			require.NoError(t, err)
			return db
		}
		db := open()
		const connections = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1"
		there := ask[int](t, c.Replica(0), connections, before.name)
		had := len(ours())
		p := readsplit.New(readsplit.Config{Replicas: []readsplit.Replica{
			{Name: "replica1", Dialector: postgres.Open(c.Replica(0).DSNFor(before.name))},
			{Name: "replica2", Dialector: postgres.Open(c.Replica(1).DSNFor(before.name))},
		}})
		require.NoError(t, db.Use(p))
		for range 10 {
			require.NotEqual(t, "", served(t, db.WithContext(readsplit.Stale(t.Context()))))
		}
		assert.Greater(t, len(ours()), had)
		require.NoError(t, p.Close(t.Context()))
		// database/sql ends its goroutine a moment after Close of a pool.
		eventually(t, "the pools' goroutines", func() bool { return len(ours()) <= had })
		eventually(t, "the replicas' connections", func() bool {
			return ask[int](t, c.Replica(0), connections, before.name) <= there
		})
		pool, err := db.DB()
		require.NoError(t, err)
		require.NoError(t, pool.Close())
	}
}

func TestCloseTwiceAndBeforeTheStart(t *testing.T) {
	c := cluster(t)
	never := readsplit.New(readsplit.Config{})
	require.NoError(t, never.Close(t.Context()))
	require.NoError(t, never.Close(t.Context()))
	assert.Equal(t, "primary", never.Status().Primary.Name)
	db, err := gorm.Open(postgres.Open(c.Primary().DSN()), &gorm.Config{Logger: &logRecorder{}})
	require.NoError(t, err)
	require.ErrorIs(t, db.Use(never), readsplit.ErrClosed)
	pool, err := db.DB()
	require.NoError(t, err)
	require.NoError(t, pool.Close())

	d := newDB(t, c)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { assert.NoError(t, d.plugin.Close(context.Background())) })
	}
	all.Wait()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.plugin.Close(ended); err != nil { // either is right: it is done, and nobody waits
		require.ErrorIs(t, err, context.Canceled)
	}
}

// Everything that comes after Close goes to the primary, and what is under way
// when it comes ends there.
func TestCloseUnderLoad(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(patient))
	counters(t, d, 16)
	d.eligible(t, "replica1", "replica2")
	u := startUsers(t, d, 16, nil)
	u.busy(t, c.Replica(0))
	require.NoError(t, d.plugin.Close(t.Context()))
	closed := time.Now()
	u.during(t, 100, func() bool { return true })
	assert.False(t, u.servedSince(c.Replica(0), closed))
	assert.False(t, u.servedSince(c.Replica(1), closed))
	u.right(t)
	assert.Zero(t, u.lost.Load())
	for name, ctx := range map[string]context.Context{
		"": t.Context(), "stale": readsplit.Stale(t.Context()), "any": readsplit.AnyReplica(t.Context()),
		"at most": readsplit.AtMost(t.Context(), time.Millisecond), "session": readsplit.WithSession(t.Context(), readsplit.NewSession()),
	} {
		assert.Equal(t, "primary", served(t, d.WithContext(ctx)), name)
	}
	require.NoError(t, d.Transaction(func(tx *gorm.DB) error { return tx.Exec("UPDATE counters SET n = n + 1").Error }))
	// A session that has something to say says it, or that it does not know.
	ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = n + 1").Error)
	_, err := readsplit.SessionFrom(ctx).Token(ctx)
	require.NoError(t, err)
}

// Close while a read waits for a replica does not keep it waiting, nor spinning.
func TestCloseEndsWaits(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(func(c *readsplit.Config) { c.MaxWait, c.MaxSampleAge = time.Hour, 20*time.Second }))
	counters(t, d, 1)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	var undo []func() error
	for _, r := range c.Replicas() {
		undo = append(undo, injected(t)(r.Delay(t.Context(), time.Minute)))
	}
	ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = 1").Error)
	var done atomic.Bool
	var server string
	go func() {
		defer done.Store(true)
		assert.NoError(t, d.WithContext(readsplit.Stale(ctx)).Raw(whoSQL).Scan(&server).Error)
	}()
	eventually(t, "it to wait", func() bool { return d.plugin.Status().Replicas[0].CatchUp > 0 })
	assert.False(t, done.Load())
	require.NoError(t, d.plugin.Close(limit(t)))
	closed := time.Now()
	eventually(t, "it to end", done.Load)
	assert.Less(t, time.Since(closed), 15*time.Second, "before the news is too old")
	assert.Equal(t, "primary", server)
	for _, u := range undo {
		undone(t, u)
	}
}
