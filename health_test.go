package readsplit_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// sick opens connections to one server until it is told to refuse: the monitor's
// connection is there then, and goes on answering.
type sick struct {
	driver.Connector
	refuses atomic.Bool
	asked   atomic.Int64 // connections that were refused
}

func (s *sick) Connect(ctx context.Context) (driver.Conn, error) {
	if s.refuses.Load() {
		s.asked.Add(1)
		return nil, fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	}
	return s.Connector.Connect(ctx)
}

// ailing opens a database whose replicas can be made to refuse connections while
// they answer the monitor. Strikes and times are the test's.
func ailing(t *testing.T, c *testenv.Cluster, h monitor.Health) (*testDB, []*sick) {
	t.Helper()
	var all []*sick
	name := newDatabaseName(t)
	require.NoError(t, c.CreateDatabase(t.Context(), name))
	d := newDB(t, c, inDatabase(name), configured(func(cfg *readsplit.Config) {
		cfg.Health = h
		// A probe that a busy machine answers late ends ejections: the server was down.
		cfg.MaxLag, cfg.MaxSampleAge, cfg.SampleTimeout = readsplit.Off, 10*time.Second, 5*time.Second
		for i := range cfg.Replicas {
			parsed, err := pgx.ParseConfig(c.Replica(i).DSNFor(name))
			require.NoError(t, err)
			s := &sick{Connector: stdlib.GetConnector(*parsed)}
			all = append(all, s)
			pool := sql.OpenDB(s)
			t.Cleanup(func() { require.NoError(t, pool.Close()) })
			cfg.Replicas[i].Dialector = postgres.New(postgres.Config{Conn: pool})
		}
	}))
	d.eligible(t, "replica1", "replica2")
	return d, all
}

// fallIll makes a replica refuse connections, and ends those of its pool.
func fallIll(t *testing.T, d *testDB, s *sick, replica string) {
	t.Helper()
	s.refuses.Store(true)
	require.NoError(t, d.plugin.Drain(limit(t), replica))
	require.NoError(t, d.plugin.Resume(replica))
}

// A server that answers its probes and fails reads is not asked by every read.
func TestFailingServerIsLeftAlone(t *testing.T) {
	d, all := ailing(t, cluster(t), monitor.Health{Eject: time.Hour, MaxEject: time.Hour, SlowStart: -1})
	fallIll(t, d, all[0], "replica1")
	var readers sync.WaitGroup
	var elsewhere atomic.Int64
	var others sync.Map // why
	for range 8 {
		readers.Go(func() {
			for range 100 {
				var server string
				tx := d.Raw(whoSQL).Find(&server)
				decision, _ := readsplit.DecisionOf(tx)
				if assert.NoError(t, tx.Error) && server != "replica2" {
					// On a busy machine there may be a moment when nothing is known of it.
					assert.Equal(t, "primary", server)
					others.Store(decision.Reason, true)
					elsewhere.Add(1)
				}
			}
		})
	}
	readers.Wait()
	others.Range(func(reason, _ any) bool { t.Logf("on the primary: %v", reason); return true })
	assert.Less(t, elsewhere.Load(), int64(400), "of 800 reads the other replica serves most")
	// Three strikes, and whatever the other seven had under way.
	assert.LessOrEqual(t, all[0].asked.Load(), int64(3+7)*3, "of 800 reads")
	st := d.plugin.Status().Replicas[0]
	assert.True(t, st.Up, "it answers its probes")
	assert.True(t, time.Now().Before(st.EjectedUntil))
	assert.NotEmpty(t, d.log.matching("replica1", "answers its probes"))
}

// All replicas are ejected: the primary serves, and one read at a time tries each
// of them, so that the first that succeeds brings it back.
func TestAllAreEjected(t *testing.T) {
	d, all := ailing(t, cluster(t), monitor.Health{Eject: time.Hour, MaxEject: time.Hour, SlowStart: -1})
	for i, s := range all {
		fallIll(t, d, s, d.cluster.Replica(i).Name())
	}
	// After a read that has failed a server is not tried before it has answered a probe,
	// which takes its time on a busy machine.
	eventually(t, "both to be ejected", func() bool {
		require.Equal(t, "primary", served(t, d.DB))
		st := d.plugin.Status().Replicas
		return time.Now().Before(st[0].EjectedUntil) && time.Now().Before(st[1].EjectedUntil)
	})
	for range 30 {
		require.Equal(t, "primary", served(t, d.DB))
	}
	var server string
	tx := d.Raw(whoSQL).Scan(&server)
	require.NoError(t, tx.Error)

	all[1].refuses.Store(false)
	eventually(t, "the one that is well to be back", func() bool { return served(t, d.DB) == "replica2" })
	assert.False(t, time.Now().Before(d.plugin.Status().Replicas[1].EjectedUntil))
	assert.NotEmpty(t, d.log.matching("replica2", "readmitted"))
	asked := all[0].asked.Load()
	for range 30 {
		require.Equal(t, "replica2", served(t, d.DB))
	}
	assert.Equal(t, asked, all[0].asked.Load(), "nobody tries the other while one serves")
}

// untilCancelled runs for a second or more unless it is cancelled, and not for ever: a
// request to cancel that overtakes its statement does nothing, and the server does not
// notice that nobody waits any more. The planner does not think it worth compiling,
// which nothing would interrupt: what is left of a test would keep replay waiting.
const untilCancelled = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 2000000) SELECT count(*) FROM r"

// What is wrong with the statement says nothing about the server.
func TestStatementsDoNotEject(t *testing.T) {
	x := newTrap(t)
	for range 20 {
		require.Error(t, x.Raw("SELECT 1/0").Scan(new(int)).Error)
		require.Error(t, x.Raw("SELECT FROM nowhere").Scan(new(int)).Error)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		require.Error(t, x.WithContext(ctx).Raw(untilCancelled).Scan(new(int)).Error)
		cancel()
		require.Error(t, x.Raw("SELECT 'x'::int").Scan(new(int)).Error)
	}
	for _, st := range x.plugin.Status().Replicas {
		assert.True(t, st.EjectedUntil.IsZero(), st.Name)
	}
	for _, r := range x.cluster.Replicas() {
		eventually(t, "the servers to have stopped what was cancelled", func() bool {
			return ask[int](t, r, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = $1", untilCancelled) == 0
		})
	}
	eventually(t, "reads go to a replica", func() bool { return isReplica(served(t, x.DB)) })
}

// Without the primary, replicas that are ejected are tried by every read.
func TestEjectedServeWithoutThePrimary(t *testing.T) {
	c := breakable(t)
	d, all := ailing(t, c, monitor.Health{Eject: time.Hour, MaxEject: time.Hour})
	for i, s := range all {
		fallIll(t, d, s, c.Replica(i).Name())
	}
	for range 30 {
		require.Equal(t, "primary", served(t, d.DB))
	}
	undo := injected(t)(c.Primary().Stop(t.Context()))
	defer undone(t, undo)
	eventually(t, "the primary to be lost", func() bool { return !d.plugin.Status().Primary.Up })
	for _, s := range all {
		s.refuses.Store(false)
	}
	for range 10 {
		tx := d.WithContext(readsplit.Stale(t.Context())).Raw(whoSQL).Scan(new(string))
		require.NoError(t, tx.Error)
		assert.Equal(t, policy.ReasonStale, reason(t, tx))
	}
	now := time.Now()
	for _, st := range d.plugin.Status().Replicas {
		assert.True(t, now.Before(st.EjectedUntil), "%s is tried, and nothing more is known", st.Name)
	}
}
