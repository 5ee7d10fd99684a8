package readsplit_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// A job waits for the replicas: as long as they lack what its session wrote, and not
// where no waiting helps.
func TestAwait(t *testing.T) {
	x := newTrap(t, configured(steady))
	x.stale(t)
	nothing := readsplit.NewSession()
	require.True(t, nothing.Await(limit(t)), "it has nothing to wait for")

	job := joined(encoded(t, x.token(t), nil))
	db := x.WithContext(readsplit.WithSession(t.Context(), job))
	before := runtime.NumGoroutine()
	short, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	began := time.Now()
	require.False(t, job.Await(short))
	assert.GreaterOrEqual(t, time.Since(began), 150*time.Millisecond)
	assert.Less(t, time.Since(began), 10*time.Second)
	ended, end := context.WithCancel(t.Context())
	end()
	require.False(t, job.Await(ended))
	require.Equal(t, 2, seesBooks(t, db), "it may run all the same, on the primary")

	came := make(chan bool)
	go func() { came <- job.Await(limit(t)) }()
	select {
	case <-came:
		require.Fail(t, "no replica has it")
	case <-time.After(200 * time.Millisecond):
	}
	require.NoError(t, x.cluster.UndoAll())
	began = time.Now()
	require.True(t, <-came)
	assert.Less(t, time.Since(began), 5*time.Second)
	onReplica(t, served(t, db))
	require.Equal(t, 2, seesBooks(t, db))
	eventually(t, "its goroutines to end", func() bool { return runtime.NumGoroutine() <= before+1 })
}

// A doubt is waited for as well.
func TestAwaitTheEndOfADoubt(t *testing.T) {
	x := newTrap(t, configured(func(c *readsplit.Config) { c.StickyWindow, c.MaxLag = 1100*time.Millisecond, 100*time.Millisecond }))
	s := readsplit.NewSession()
	s.Doubt()
	began := time.Now()
	require.True(t, s.Await(limit(t)))
	assert.GreaterOrEqual(t, time.Since(began), 1100*time.Millisecond)
	onReplica(t, served(t, x.WithContext(readsplit.WithSession(t.Context(), s))))
}

// Under the kill switch, and without a replica, Await gives up at once.
func TestAwaitGivesUp(t *testing.T) {
	x := newTrap(t)
	x.stale(t)
	job := joined(encoded(t, x.token(t), nil))
	await := func() (bool, time.Duration) {
		began := time.Now()
		return job.Await(limit(t)), time.Since(began)
	}
	require.NoError(t, x.plugin.SetTraffic(policy.Traffic{KillSwitch: true}))
	ok, took := await()
	assert.False(t, ok)
	assert.Less(t, took, 10*time.Second)
	require.NoError(t, x.plugin.SetTraffic(policy.Traffic{Percent: 1}))
	require.NoError(t, x.cluster.UndoAll())
	ok, _ = await()
	assert.True(t, ok, "some of its reads may use them")
	require.NoError(t, x.plugin.SetTraffic(policy.Traffic{}))

	// It is thrown while somebody waits.
	x.stale(t)
	x.past(t, "INSERT INTO books_t (title) VALUES ('three')")
	job.Join(encoded(t, x.token(t), nil))
	came := make(chan bool)
	go func() { came <- job.Await(limit(t)) }()
	require.NoError(t, x.plugin.SetTraffic(policy.Traffic{KillSwitch: true}))
	assert.False(t, <-came)
	require.NoError(t, x.plugin.SetTraffic(policy.Traffic{}))

	// The plugin is closed while somebody waits: nothing of this process reads there.
	go func() { came <- job.Await(limit(t)) }()
	require.NoError(t, x.plugin.Close(limit(t)))
	<-came
}

// Where all replicas have been removed there is nothing to wait for, as where there never
// was one.
func TestAwaitWithoutReplicas(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(func(c *readsplit.Config) { c.Replicas = c.Replicas[:1] }))
	require.NoError(t, d.plugin.RemoveReplica(limit(t), "replica1"))
	ctx := limit(t)
	require.False(t, readsplit.NewSession().Await(ctx))
	require.NoError(t, ctx.Err(), "at once")
}
