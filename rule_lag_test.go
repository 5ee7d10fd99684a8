package readsplit_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// quick makes bounds short, so that a test need not wait long for them to break.
func quick(c *readsplit.Config) {
	c.SampleEvery = 50 * time.Millisecond
	c.MaxSampleAge = 500 * time.Millisecond
	c.MaxLag = 500 * time.Millisecond
	c.StickyWindow = time.Second
	c.MaxWait = 50 * time.Millisecond
}

// ownFormula is the lag that a replica says it has, by the formula that everybody
// uses, in seconds.
const ownFormula = `SELECT CASE WHEN pg_last_wal_receive_lsn() IS NULL OR pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()
	THEN 0 ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp()) END::float8`

func cutOff(t testing.TB, s *testenv.Server) bool {
	t.Helper()
	return ask[int](t, s, "SELECT count(*) FROM pg_stat_wal_receiver") == 0
}

// R5: a replica that is cut off from its primary says that its lag is 0. It gets no
// reads once it may be older than MaxLag, except those that do without a bound, and
// comes back by itself.
func TestR05CutOffReplica(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(quick))
	counters(t, d, 16)
	r := c.Replica(0)
	undo := injected(t)(r.Cut(t.Context()))
	cut := time.Now()
	u := startUsers(t, d, 16, nil)
	inForce := func() bool { return cutOff(t, r) && ask[float64](t, r, ownFormula) == 0 }

	// Who wrote nothing has only the bound between them and an old state.
	reader := d.WithContext(readsplit.WithSession(context.Background(), readsplit.NewSession()))
	eventually(t, "MaxLag to pass", func() bool { return time.Since(cut) > 600*time.Millisecond })
	u.during(t, 300, inForce)
	for range 100 {
		require.NotEqual(t, "replica1", served(t, reader))
	}
	require.True(t, inForce())
	stale := d.WithContext(readsplit.Stale(context.Background()))
	eventually(t, "a read that does without a bound to be served by it", func() bool { return served(t, stale) == "replica1" })
	lag := d.plugin.Status().Replicas[0]
	assert.True(t, !lag.LagKnown || lag.Lag > 500*time.Millisecond, "%v", lag.Lag)
	assert.True(t, lag.Up)

	undone(t, undo)
	eventually(t, "it to come back", func() bool { return served(t, reader) == "replica1" })
	u.right(t)
	assert.Zero(t, u.lost.Load())
}

// R5: what a session reads within MaxLag is never older than that, judged by a
// clock that the primary keeps in a row.
func TestR05NothingOlderThanTheBound(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(quick))
	require.NoError(t, d.Exec("CREATE TABLE clocks (id int, at timestamptz)").Error)
	require.NoError(t, d.Exec("INSERT INTO clocks VALUES (1, clock_timestamp())").Error)
	stop, stopped := make(chan struct{}), make(chan struct{})
	db := direct(t, c.Primary(), d.name) // another application
	began := time.Now()
	var acknowledged, longest atomic.Int64 // its last commit, and how long one took at most
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := db.ExecContext(context.Background(), "UPDATE clocks SET at = clock_timestamp()"); !assert.NoError(t, err) {
					return
				}
				now := int64(time.Since(began))
				longest.Store(max(longest.Load(), now-acknowledged.Swap(now)))
			}
		}
	}()
	reader := readsplit.WithSession(t.Context(), readsplit.NewSession())
	d.eligible(t, "replica1", "replica2")
	var undo testenv.Undo
	by := map[string]int{}
	over := limit(t)
	for i := 0; i < 600 || by["replica2"] <= 150 && over.Err() == nil; i++ {
		switch i {
		case 100:
			undo = injected(t)(c.Replica(0).PauseReplay(t.Context()))
		case 400:
			undone(t, undo)
		}
		var row struct {
			Age    float64 // seconds; all servers have the clock of this machine
			Server string
		}
		asked := time.Now()
		ctx, bound := reader, 500*time.Millisecond
		if i%3 == 0 {
			bound = 60 * time.Millisecond
			ctx = readsplit.AtMost(reader, bound)
		}
		require.NoError(t, d.WithContext(ctx).Raw("SELECT extract(epoch FROM clock_timestamp() - at)::float8 AS age, current_setting('cluster_name') AS server FROM clocks").Scan(&row).Error)
		// The writer itself may be held up, and so may this read after its decision:
		// both by a busy machine, and by as much as they say.
		now := time.Since(began)
		slack := 5*time.Millisecond + time.Since(asked) +
			2*max(time.Duration(longest.Load()), now-time.Duration(acknowledged.Load()))
		require.LessOrEqual(t, time.Duration(row.Age*float64(time.Second)), bound+slack, "read %d on %s", i, row.Server)
		by[row.Server]++
	}
	close(stop)
	<-stopped
	assert.Greater(t, by["replica2"], 150, "%v", by)
}

// unfinished leaves an open transaction behind that has written so much that the
// primary has flushed a part of a record, which no replica can replay.
func unfinished(t *testing.T, c *testenv.Cluster, database string) (end func()) {
	t.Helper()
	db := direct(t, c.Primary(), database)
	_, err := db.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS notes (note text)")
	require.NoError(t, err)
	for range 200 {
		require.NoError(t, c.WaitCaughtUp(t.Context()))
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "INSERT INTO notes SELECT repeat(md5(i::text), 40) FROM generate_series(1, 50) i")
		require.NoError(t, err)
		// The WAL writer flushes whole pages, and with them half of a record.
		began, behind := time.Now(), false
		eventually(t, "the WAL writer", func() bool {
			flush := ask[string](t, c.Primary(), "SELECT pg_current_wal_flush_lsn()::text")
			behind = true
			for _, r := range c.Replicas() {
				behind = behind && ask[bool](t, r, "SELECT pg_last_wal_replay_lsn() < $1::text::pg_lsn AND pg_last_wal_receive_lsn() >= $1::text::pg_lsn", flush)
			}
			return behind && time.Since(began) > 400*time.Millisecond || time.Since(began) > 600*time.Millisecond
		})
		if behind {
			return func() { require.NoError(t, tx.Rollback()) }
		}
		require.NoError(t, tx.Rollback())
	}
	require.Fail(t, "no transaction left a record unfinished")
	return nil
}

// R5: on a quiet primary an idle transaction can leave a record unfinished for 20
// seconds, behind which healthy replicas seem to be. (TestConfigEveryField shows
// what becomes of them when nudges are forbidden.)
func TestR05IdleTransactionDoesNotThrowOutTheReplicas(t *testing.T) {
	c := cluster(t)
	const bound = 4 * time.Second // a nudge a second must do
	d := newDB(t, c, configured(func(c *readsplit.Config) { c.MaxLag = bound }))
	d.eligible(t, "replica1", "replica2")
	defer unfinished(t, c, d.name)()
	reader := d.WithContext(readsplit.WithSession(t.Context(), readsplit.NewSession()))
	began, primary, reads := time.Now(), 0, 0
	for time.Since(began) < bound+time.Second {
		if served(t, reader) == "primary" {
			primary++
		}
		reads++
	}
	assert.Greater(t, reads, 100)
	assert.Zero(t, primary, "of %d reads", reads)
}

// R5: right after a start, and after a restart of a replica, nothing is known of
// its lag, whatever it says itself.
func TestR05RestartedWhileCutOff(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(quick))
	counters(t, d, 1)
	r := c.Replica(0)
	undoCut := injected(t)(r.Cut(t.Context()))
	undoKill := injected(t)(r.Kill(t.Context()))
	undone(t, undoKill)
	other := direct(t, c.Primary(), d.name)
	for range 1000 {
		_, err := other.ExecContext(t.Context(), "UPDATE counters SET n = n + 1")
		require.NoError(t, err)
	}
	inForce := func() bool {
		flush := ask[string](t, c.Primary(), "SELECT pg_current_wal_flush_lsn()::text")
		return cutOff(t, r) && ask[float64](t, r, "SELECT ($1::text::pg_lsn - pg_last_wal_replay_lsn())::float8", flush) > 50_000
	}
	require.True(t, inForce())
	eventually(t, "it to be watched again", func() bool { return d.plugin.Status().Replicas[0].Up })
	old := newDB(t, c, configured(quick), inDatabase(d.name)) // a process that starts now
	eventually(t, "it to be watched there", func() bool { return old.plugin.Status().Replicas[0].Up })
	cut := time.Now()
	eventually(t, "MaxLag to pass", func() bool { return time.Since(cut) > 600*time.Millisecond })
	for _, db := range []*testDB{d, old} {
		reader := db.WithContext(readsplit.WithSession(t.Context(), readsplit.NewSession()))
		for range 100 {
			require.NotEqual(t, "replica1", served(t, reader))
		}
		assert.False(t, db == old && db.plugin.Status().Replicas[0].LagKnown)
	}
	require.True(t, inForce())
	undone(t, undoCut)
	d.eligible(t, "replica1", "replica2")
}
