package readsplit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// While the primary is gone nobody's staleness can be bounded. What is read then is
// without a bound, refused, or a session's own.
func TestFaultPrimaryGone(t *testing.T) {
	c := breakable(t)
	serve := newDB(t, c, configured(quick))
	counters(t, serve, 4)
	ring := observe.NewRing(1)
	refuse := newDB(t, c, configured(quick), configured(func(c *readsplit.Config) {
		c.PrimaryLost, c.Observers = readsplit.Refuse, []any{ring}
	}), inDatabase(serve.name))
	// No sample settles what this one writes.
	slow := newDB(t, c, configured(quick), configured(func(c *readsplit.Config) {
		c.SampleEvery, c.MaxSampleAge, c.StickyWindow = time.Hour, time.Hour, 2*time.Hour
	}), inDatabase(serve.name))

	newcomer := readsplit.WithSession(context.Background(), readsplit.NewSession())
	settled := readsplit.WithSession(context.Background(), readsplit.NewSession())
	require.NoError(t, serve.WithContext(settled).Exec("UPDATE counters SET n = 1 WHERE id = 1").Error)
	replicasServe(t, serve.WithContext(settled))
	replicasServe(t, serve.DB)
	behind := readsplit.WithSession(context.Background(), readsplit.NewSession())
	unsettled := readsplit.WithSession(context.Background(), readsplit.NewSession())
	undoStill := still(t, c)
	require.NoError(t, serve.WithContext(behind).Exec("UPDATE counters SET n = 1 WHERE id = 2").Error)
	require.Equal(t, "primary", served(t, serve.WithContext(behind)))
	require.NoError(t, slow.WithContext(unsettled).Exec("UPDATE counters SET n = 1 WHERE id = 3").Error)

	undo := injected(t)(c.Primary().Kill(t.Context()))
	gone := time.Now()
	down := func() bool { return refuses(c.Primary()) }
	require.True(t, down())
	for _, d := range []*testDB{serve, refuse} {
		eventually(t, "the primary to be given up", func() bool { return !d.plugin.Status().Primary.Up })
	}
	eventually(t, "MaxLag to pass", func() bool { return time.Since(gone) > 600*time.Millisecond })
	type result struct {
		n      int
		reason policy.Reason
		err    error
	}
	read := func(d *testDB, ctx context.Context, id int) (r result) {
		tx := d.WithContext(ctx).Raw("SELECT n FROM counters WHERE id = ?", id).Scan(&r.n)
		decision, _ := readsplit.DecisionOf(tx)
		r.reason, r.err = decision.Reason, tx.Error
		return r
	}
	for range 60 {
		// Without a bound, and with its own reason.
		assert.Equal(t, result{n: 1, reason: policy.ReasonPrimaryLost}, read(serve, settled, 1))
		assert.Equal(t, policy.ReasonPrimaryLost, read(serve, newcomer, 1).reason)
		// Refused, unless the read asks for less.
		before := refuse.plugin.Status()
		require.ErrorIs(t, read(refuse, newcomer, 1).err, readsplit.ErrPrimaryLost)
		told, after := ring.Decisions()[0], refuse.plugin.Status()
		told.At = time.Time{}
		require.Equal(t, observe.Decision{Reason: policy.ReasonPrimaryLostRefused, Read: true, Refused: true}, told)
		require.Equal(t, before.RefusedReasons[policy.ReasonPrimaryLostRefused]+1, after.RefusedReasons[policy.ReasonPrimaryLostRefused])
		require.Equal(t, before.PrimaryReads, after.PrimaryReads, "nobody has served it")
		assert.Equal(t, result{n: 1, reason: policy.ReasonStale}, read(refuse, readsplit.Stale(newcomer), 1))
		assert.Equal(t, result{n: 1, reason: policy.ReasonAnyReplica}, read(refuse, readsplit.AnyReplica(newcomer), 1))
		// A bound of the read's own is kept even then.
		require.ErrorIs(t, read(serve, readsplit.AtMost(newcomer, 300*time.Millisecond), 1).err, readsplit.ErrPrimaryLost)
		require.ErrorIs(t, read(serve, readsplit.AtMost(newcomer, 10*time.Millisecond), 1).err, readsplit.ErrPrimaryLost)
		// Nobody's own write is given up: the replicas lack it, so the primary is tried.
		for _, own := range []result{read(serve, behind, 2), read(slow, unsettled, 3), read(serve, readsplit.Stale(behind), 2), read(slow, readsplit.Stale(unsettled), 3)} {
			require.Error(t, own.err)
			require.NotErrorIs(t, own.err, readsplit.ErrPrimaryLost)
		}
	}
	// A token that needs a position says that it is unsure.
	began := time.Now()
	token, err := readsplit.SessionFrom(unsettled).Token(t.Context())
	require.NoError(t, err)
	assert.Less(t, time.Since(began), 10*time.Second)
	content, err := readsplit.Config{}.ParseToken(token)
	require.NoError(t, err)
	assert.True(t, content.Unsure.After(time.Now()))
	require.True(t, down())

	undone(t, undo)
	undoStill()
	for name, own := range map[string]struct {
		d   *testDB
		ctx context.Context
		id  int
	}{"settled": {serve, settled, 1}, "behind": {serve, behind, 2}, "unsettled": {slow, unsettled, 3}, "newcomer": {refuse, newcomer, 1}} {
		eventually(t, "the primary to be back", func() bool { return read(own.d, own.ctx, own.id).err == nil })
		for range 30 {
			assert.Equal(t, 1, read(own.d, own.ctx, own.id).n, name)
		}
	}
	for _, d := range []*testDB{serve, refuse} {
		for _, ctx := range []context.Context{settled, behind, newcomer, context.Background()} {
			replicasServe(t, d.WithContext(ctx))
		}
	}
	assert.Positive(t, serve.plugin.Status().OtherHistory, "a restart is another history")
}

// A primary that restarts under load: writes fail, and nobody who was told that a
// write was made misses it.
func TestFaultPrimaryRestarts(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(quick), configured(func(c *readsplit.Config) {
		// The primary must be given up before MaxLag has passed, also on a slow machine.
		c.MaxLag, c.MaxSampleAge, c.StickyWindow = 5*time.Second, 5*time.Second, 10*time.Second
	}))
	counters(t, d, 16)
	for name, inject := range map[string]func(context.Context) (testenv.Undo, error){"killed": c.Primary().Kill, "stopped": c.Primary().Stop} {
		t.Run(name, func(t *testing.T) {
			// All have sessions: a write without one, of which nobody knows what became of
			// it, would bind everybody.
			u := newUsers(d)
			for id := range 12 {
				ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
				u.done.Go(func() { u.use(ctx, ctx, id) })
			}
			defer u.end()
			readers := newUsers(d)
			for range 4 { // they write nothing, and are served all the time
				ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
				readers.done.Go(func() { readers.only(ctx) })
			}
			defer readers.end()
			u.during(t, 100, func() bool { return true })
			d.eligible(t, "replica1", "replica2")
			// What was written without a session before the primary went last time binds
			// everybody to it for the window.
			eventually(t, "replicas to serve newcomers", func() bool {
				for range 20 {
					if served(t, d.WithContext(nobody())) == "primary" {
						return false
					}
				}
				return true
			})
			undo := injected(t)(inject(t.Context()))
			readers.during(t, 100, func() bool { return refuses(c.Primary()) })
			undone(t, undo)
			from := u.writes.Load()
			eventually(t, "writes to succeed again", func() bool { return u.writes.Load() > from+100 })
			d.eligible(t, "replica1", "replica2")
			u.end()
			assert.Zero(t, u.stale.Load(), "%q", u.first)
			assert.Positive(t, u.lost.Load(), "writes must have failed")
			readers.right(t)
		})
	}
}
