package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session/jobs"
	"github.com/readsplit/readsplit/testenv"
)

var (
	cluster      *testenv.Cluster
	shop, worker *process
)

// TestMain starts the servers and both processes.
func TestMain(m *testing.M) { os.Exit(tests(m)) }

func tests(m *testing.M) (code int) {
	ctx := context.Background()
	var err error
	if cluster, err = testenv.New(ctx, testenv.Config{}); err == nil {
		if shop, worker, err = openBoth(cluster, unbounded); err == nil {
			code = m.Run()
			err = errors.Join(shop.close(), worker.close())
		}
		err = errors.Join(err, cluster.Close(ctx))
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}

// unbounded lets replicas serve however old they are, so that nothing but what a job must
// see keeps it from reading there.
func unbounded(c *readsplit.Config) {
	c.MaxLag, c.SampleTimeout, c.MaxSampleAge = readsplit.Off, 10*time.Second, 10*time.Second
}

// begin undoes what a test before has done to the servers, and waits for both processes to
// know the replicas.
func begin(t *testing.T) *Queue {
	t.Helper()
	require.NoError(t, cluster.UndoAll())
	require.NoError(t, cluster.WaitCaughtUp(t.Context()))
	for _, p := range []*process{shop, worker} {
		await(t, func() bool {
			st := p.plugin.Status()
			return st.Replicas[0].Up && st.Replicas[1].Up
		})
	}
	t.Cleanup(func() { require.NoError(t, cluster.UndoAll()) })
	return &Queue{}
}

func await(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); !done(); <-tick.C {
		require.True(t, time.Now().Before(limit))
	}
}

func place(t *testing.T, q *Queue) Message {
	t.Helper()
	ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.NoError(t, shop.Place(ctx, q, &Order{Customer: "ada", Cents: 100}))
	m, ok := q.Take()
	require.True(t, ok)
	return m
}

func confirmed(t *testing.T, order int64) (n int) {
	t.Helper()
	require.NoError(t, cluster.Primary().DB().QueryRowContext(t.Context(), "SELECT count(*) FROM confirmations WHERE order_id = $1 AND customer = 'ada'", order).Scan(&n))
	return n
}

// TestJobFindsItsOrder on another process, while no replica has it; also where a message has
// lost its token, or has one that is damaged.
func TestJobFindsItsOrder(t *testing.T) {
	q := begin(t)
	require.NoError(t, pauseAll(t.Context(), cluster))
	for name, change := range map[string]func(m *Message){
		"with its token":  func(*Message) {},
		"without a token": func(m *Message) { m.Headers = nil },
		"a damaged token": func(m *Message) { m.Headers[jobs.Header] = "v9.nonsense" },
	} {
		t.Run(name, func(t *testing.T) {
			m := place(t, q)
			change(&m)
			r, err := worker.Work(t.Context(), q, m, jobs.Sticky())
			require.NoError(t, err)
			assert.Equal(t, "primary", r.By.Server)
			assert.Equal(t, name == "without a token", r.Begun.NoToken)
			assert.Equal(t, 1, confirmed(t, m.OrderID))
			_, err = worker.Work(t.Context(), q, m, jobs.Sticky())
			require.NoError(t, err)
			assert.Equal(t, 1, confirmed(t, m.OrderID), "it came twice")
		})
	}
}

// TestTheTokenIsWhatDoesIt: a worker with a session of its own, and nothing else, misses
// the order.
func TestTheTokenIsWhatDoesIt(t *testing.T) {
	q := begin(t)
	require.NoError(t, pauseAll(t.Context(), cluster))
	m := place(t, q)
	var o Order
	ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.ErrorIs(t, worker.db.WithContext(ctx).First(&o, m.OrderID).Error, gorm.ErrRecordNotFound)
	ctx, _ = jobs.Begin(t.Context(), jobs.Take(m.Headers), jobs.Sticky())
	require.NoError(t, worker.db.WithContext(ctx).First(&o, m.OrderID).Error)
}

// TestDelayedSparesThePrimary: it is put back while no replica has the order, and finds it on
// one later. The second time it does not wait for ever.
func TestDelayedSparesThePrimary(t *testing.T) {
	q := begin(t)
	require.NoError(t, pauseAll(t.Context(), cluster))
	place := func() Message { return place(t, q) }
	m := place()
	r, err := worker.Work(t.Context(), q, m, jobs.Delayed(20*time.Millisecond))
	require.NoError(t, err)
	require.True(t, r.Back)
	assert.Zero(t, confirmed(t, m.OrderID))
	_, ok := q.Take()
	require.False(t, ok)
	q.Due()
	m, ok = q.Take()
	require.True(t, ok)
	require.Equal(t, 2, m.Attempt)
	r, err = worker.Work(t.Context(), q, m, jobs.Delayed(20*time.Millisecond))
	require.NoError(t, err)
	assert.False(t, r.Back)
	assert.Equal(t, "primary", r.By.Server)

	m = place()
	require.NoError(t, cluster.UndoAll())
	require.NoError(t, cluster.WaitCaughtUp(t.Context()))
	r, err = worker.Work(t.Context(), q, m, jobs.Delayed(time.Minute))
	require.NoError(t, err)
	assert.True(t, r.By.Replica, "%+v", r)
	assert.Equal(t, 1, confirmed(t, m.OrderID))
}

// TestOutbox: what was committed is published once, by whichever relay, and its job sees it;
// what was rolled back is not.
func TestOutbox(t *testing.T) {
	q := begin(t)
	require.NoError(t, pauseAll(t.Context(), cluster))
	const orders = 5
	for range orders {
		require.NoError(t, shop.PlaceWithOutbox(readsplit.WithSession(t.Context(), readsplit.NewSession()), &Order{Customer: "ada"}))
	}
	failed := errors.New("the card was refused")
	require.ErrorIs(t, shop.db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&Outbox{OrderID: -1}).Error; err != nil {
			return err
		}
		return failed
	}), failed)

	var sent [2]int
	var errs [2]error
	var all sync.WaitGroup
	for i, p := range []*process{shop, worker} {
		all.Go(func() { sent[i], errs[i] = p.Relay(t.Context(), q) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs[:]...))
	assert.Equal(t, orders, sent[0]+sent[1])
	seen := map[int64]bool{}
	for m, ok := q.Take(); ok; m, ok = q.Take() {
		_, err := worker.Work(t.Context(), q, m, jobs.Sticky())
		require.NoError(t, err)
		assert.Equal(t, 1, confirmed(t, m.OrderID))
		seen[m.OrderID] = true
	}
	assert.Len(t, seen, orders)
	again, err := shop.Relay(t.Context(), q)
	require.NoError(t, err)
	assert.Zero(t, again)
}

// TestNotInsideATransaction: a token would be too early there, and says so.
func TestNotInsideATransaction(t *testing.T) {
	begin(t)
	ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.NoError(t, shop.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&Order{Customer: "eve"}).Error; err != nil {
			return err
		}
		assert.ErrorIs(t, jobs.Put(ctx, map[string]string{}), readsplit.ErrTokenInTransaction)
		return nil
	}))
}

func TestTour(t *testing.T) {
	begin(t)
	var out bytes.Buffer
	require.NoError(t, show(t.Context(), cluster, &out, unbounded), "%s", &out)
	assert.Regexp(t, `(?m)^  sticky   attempt 1: found its order on primary \([a-z_]+\)$`, out.String())
	assert.Regexp(t, `(?m)^  always   attempt 1: found its order on primary \([a-z_]+\)$`, out.String())
}
