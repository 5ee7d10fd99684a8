package readsplit_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/internal/waitdouble"
	"github.com/readsplit/readsplit/testenv"
)

// over19 opens the plugin over replicas that a double makes servers of PostgreSQL 19.
func over19(t testing.TB, c *testenv.Cluster, o waitdouble.Options, options ...dbOption) (*testDB, []*waitdouble.Server) {
	t.Helper()
	name := newDatabaseName(t)
	require.NoError(t, c.CreateDatabase(t.Context(), name))
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	var doubles []*waitdouble.Server
	for _, r := range c.Replicas() {
		d, err := waitdouble.Start(t.Context(), r.DSNFor(name), o)
		require.NoError(t, err)
		t.Cleanup(d.Close)
		doubles = append(doubles, d)
	}
	options = append([]dbOption{inDatabase(name), configured(waitsLong), configured(func(cfg *readsplit.Config) {
		for i, r := range c.Replicas() {
			cfg.Replicas[i].Dialector = postgres.Open(doubles[i].DSN(r.DSNFor(name)))
		}
	})}, options...)
	d := newDB(t, c, options...)
	counters(t, d, 4)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d.eligible(t, "replica1", "replica2")
	return d, doubles
}

// waitsLong has reads wait for their replica, however busy the machine is.
func waitsLong(c *readsplit.Config) {
	c.MaxWait, c.SampleTimeout, c.MaxSampleAge, c.MaxLag = 10*time.Second, 10*time.Second, 10*time.Second, time.Minute
}

// writesAndReads has one user write and read their write n times, and returns how many
// reads a replica served.
func writesAndReads(t testing.TB, d *testDB, n int) (onReplicas int) {
	t.Helper()
	ctx := nobody()
	for range n {
		var wrote int64
		require.NoError(t, d.WithContext(ctx).Raw("UPDATE counters SET n = n + 1 WHERE id = 1 RETURNING n").Scan(&wrote).Error)
		var read struct {
			N      int64
			Server string
		}
		require.NoError(t, d.WithContext(ctx).Raw("SELECT "+readersSelect+" FROM counters WHERE id = 1").Scan(&read).Error)
		require.GreaterOrEqual(t, read.N, wrote, "missing on %s", read.Server)
		if read.Server != "primary" {
			onReplicas++
		}
	}
	return onReplicas
}

type tally struct{ waits, questions int }

func tallied(doubles []*waitdouble.Server) (sum tally) {
	for _, d := range doubles {
		c := d.Counts()
		sum.waits += c.Waits
		sum.questions += c.Questions
	}
	return sum
}

// counted returns what f costs the replicas.
func counted(doubles []*waitdouble.Server, f func()) tally {
	before := tallied(doubles)
	f()
	after := tallied(doubles)
	return tally{after.waits - before.waits, after.questions - before.questions}
}

// Own writes are waited for by the server where it can, over real replication, and that
// takes fewer questions.
func TestServerWaitsForOwnWrites(t *testing.T) {
	c := cluster(t)
	waiting, doubles := over19(t, c, waitdouble.Options{})
	polling, polled := over19(t, c, waitdouble.Options{}, configured(func(c *readsplit.Config) { c.ForbidServerWait = true }))
	for _, r := range c.Replicas() {
		defer undone(t, injected(t)(r.Delay(t.Context(), 100*time.Millisecond)))
	}
	writesAndReads(t, waiting, 3) // connections are opened
	writesAndReads(t, polling, 3)
	const n = 10
	var served int
	with := counted(doubles, func() { served = writesAndReads(t, waiting, n) })
	without := counted(polled, func() { writesAndReads(t, polling, n) })
	t.Logf("%d reads, each of a write that shows after 100 ms: %+v; polled for: %+v", n, with, without)
	assert.Equal(t, n, served, "all on replicas")
	own := func(d *testDB) (own int) {
		for _, c := range d.plugin.Status().Connections {
			own += c.Own
		}
		return own
	}
	assert.Equal(t, 2, own(waiting)-own(polling), "one connection more for each replica")
	assert.Positive(t, with.waits)
	assert.Zero(t, tallied(polled).waits, "forbidden")
	assert.Less(t, with.questions, without.questions/2)
	for _, d := range doubles {
		counts := d.Counts()
		assert.LessOrEqual(t, counts.MostAway, 1)
		for _, text := range counts.Statements {
			assert.Regexp(t, `^WAIT FOR LSN '[0-9A-F]+/[0-9A-F]+' WITH \(MODE 'standby_replay', TIMEOUT '[1-9][0-9]*ms', NO_THROW\)$`, text)
		}
	}
}

// However many wait, each replica is asked as if one did.
func TestManyWaitersAskOnce(t *testing.T) {
	for name, forbid := range map[string]bool{"WAIT FOR LSN": false, "polling": true} {
		t.Run(name, func(t *testing.T) {
			c := cluster(t)
			d, doubles := over19(t, c, waitdouble.Options{}, configured(func(c *readsplit.Config) {
				c.ForbidServerWait, c.Pool.MaxOpen = forbid, 8
			}))
			for _, r := range c.Replicas() {
				defer undone(t, injected(t)(r.Delay(t.Context(), 300*time.Millisecond)))
			}
			writesAndReads(t, d, 3) // connections are opened
			const readers = 1000
			var all sync.WaitGroup
			var took time.Duration
			sum := counted(doubles, func() {
				began := time.Now()
				ctx := nobody()
				require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = 7 WHERE id = 2").Error)
				for range readers {
					all.Go(func() {
						var n int64
						if assert.NoError(t, d.WithContext(ctx).Raw("SELECT n FROM counters WHERE id = 2").Scan(&n).Error) {
							assert.Equal(t, int64(7), n)
						}
					})
				}
				all.Wait()
				took = time.Since(began)
			})
			opened := 0 // new connections ask as well
			for _, double := range doubles {
				opened += double.Counts().Connections
			}
			t.Logf("%d readers in %v: %+v, of which the reads and about %d of new connections", readers, took.Round(time.Millisecond), sum, opened)
			// Of two replicas: a position a millisecond at most, five samples a second.
			polls := 2*int(took/time.Millisecond) + 20
			if !forbid {
				polls /= 10
			}
			assert.LessOrEqual(t, sum.questions, readers+3*opened+polls+20)
			assert.LessOrEqual(t, sum.waits, 4+2*int(took/(100*time.Millisecond)))
			if !forbid {
				assert.Positive(t, tallied(doubles).waits)
			}
		})
	}
}

// What the server says, or does not, is never what a read relies on.
func TestOwnWritesWhateverTheServerSays(t *testing.T) {
	c := cluster(t)
	t.Run("it does not know the statement", func(t *testing.T) {
		d, doubles := over19(t, c, waitdouble.Options{Old: true})
		for _, r := range c.Replicas() {
			defer undone(t, injected(t)(r.Delay(t.Context(), 40*time.Millisecond)))
		}
		writesAndReads(t, d, 20)
		waits := 0
		for _, double := range doubles {
			assert.LessOrEqual(t, double.Counts().Waits, 1, "and is asked once")
			waits += double.Counts().Waits
		}
		assert.Positive(t, waits)
	})
	d, doubles := over19(t, c, waitdouble.Options{})
	for _, r := range c.Replicas() {
		defer undone(t, injected(t)(r.Delay(t.Context(), 60*time.Millisecond)))
	}
	writesAndReads(t, d, 3)
	t.Run("nothing", func(t *testing.T) {
		for _, double := range doubles {
			double.Hold(true)
			defer double.Hold(false)
		}
		waits := tallied(doubles).waits
		writesAndReads(t, d, 5)
		assert.Greater(t, tallied(doubles).waits, waits)
	})
	t.Run("success at once, and it is not so", func(t *testing.T) {
		for _, double := range doubles {
			double.Lie(true)
			defer double.Lie(false)
		}
		writesAndReads(t, d, 10)
	})
	t.Run("its role defaults to REPEATABLE READ", func(t *testing.T) {
		execOn(t, c.Primary(), "ALTER DATABASE "+d.name+" SET default_transaction_isolation = 'repeatable read'")
		require.NoError(t, c.WaitCaughtUp(t.Context()))
		writesAndReads(t, d, 5)
	})
}

// A standby that crashes while it waits comes back in an older state: what it had said
// before, or says to the connection of before, counts for nothing.
func TestServerCrashesWhileItWaits(t *testing.T) {
	c := breakable(t)
	d, _ := over19(t, c, waitdouble.Options{})
	for _, r := range c.Replicas() {
		defer undone(t, injected(t)(r.Delay(t.Context(), 5*time.Millisecond)))
	}
	writesAndReads(t, d, 5)
	ctx, cancel := context.WithCancel(t.Context())
	var users sync.WaitGroup
	for id := range 3 {
		users.Go(func() {
			session := nobody()
			for ctx.Err() == nil {
				var wrote, read int64
				err := d.WithContext(session).Raw("UPDATE counters SET n = n + 1 WHERE id = ? RETURNING n", id).Scan(&wrote).Error
				if !assert.NoError(t, err) {
					return
				}
				err = d.WithContext(session).Raw("SELECT n FROM counters WHERE id = ?", id).Scan(&read).Error
				if !assert.NoError(t, err) || !assert.Equal(t, wrote, read) {
					return
				}
			}
		})
	}
	for i := range 2 {
		_, err := c.Replica(i).CrashBackend(t.Context())
		assert.NoError(t, err)
		before := d.plugin.Status().ReplicaReads
		eventually(t, "reads on replicas", func() bool { return d.plugin.Status().ReplicaReads > before+20 })
	}
	undo, err := c.Replica(0).Freeze(t.Context())
	assert.NoError(t, err)
	before := d.plugin.Status().ReplicaReads
	eventually(t, "reads on the other", func() bool { return d.plugin.Status().ReplicaReads > before+20 })
	assert.NoError(t, undo())
	cancel()
	users.Wait()
}
