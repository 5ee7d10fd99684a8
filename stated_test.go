package readsplit_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/testenv"
)

const (
	askReplay  = "pg_last_wal_replay_lsn(), pg_last_wal_receive_lsn(), pg_is_wal_replay_paused()"
	askPrimary = "pg_current_wal_flush_lsn(), pg_current_wal_insert_lsn()"
	askSystem  = "pg_control_system()"
)

var readers atomic.Int64

// reader makes a role for the plugin's own use that may not call these functions in
// the database, or is told NULL where they are empty, and returns what a DSN needs.
func reader(t testing.TB, c *testenv.Cluster, database string, functions string) (with string) {
	t.Helper()
	role := fmt.Sprintf("reader_%d", readers.Add(1))
	execOn(t, c.Primary(), "CREATE ROLE "+role+" LOGIN PASSWORD 'only-in-a-test' IN ROLE pg_read_all_data, pg_write_all_data")
	db := direct(t, c.Primary(), database)
	exec := func(statement string) {
		_, err := db.ExecContext(limit(t), statement)
		require.NoError(t, err)
	}
	if functions != "" {
		exec("REVOKE EXECUTE ON FUNCTION " + functions + " FROM PUBLIC")
	} else {
		// Found before those of the server: what is called without a schema is these.
		exec("CREATE SCHEMA nothing")
		exec("GRANT USAGE ON SCHEMA nothing TO PUBLIC")
		for _, name := range []string{"pg_last_wal_replay_lsn", "pg_last_wal_receive_lsn"} {
			exec("CREATE FUNCTION nothing." + name + "() RETURNS pg_lsn LANGUAGE sql STABLE AS 'SELECT NULL::pg_lsn'")
		}
		exec("ALTER ROLE " + role + " SET search_path = nothing, pg_catalog, public")
	}
	t.Cleanup(func() {
		_, _ = db.Exec("DROP OWNED BY " + role)
		_, _ = db.Exec("DROP ROLE " + role)
	})
	return " user=" + role + " password=only-in-a-test"
}

// window is for how long writes of these tests bind their sessions to the primary. It
// has to pass after a start as well.
const window = 2500 * time.Millisecond

// windowed takes lag out of the matter: what is stated counts from the primary's newest
// sample, which is late on a busy machine.
func windowed(c *readsplit.Config) {
	c.SampleTimeout, c.MaxSampleAge, c.StickyWindow, c.MaxLag = 10*time.Second, window-stated, window, readsplit.Off
}

const stated = 500 * time.Millisecond

// as connects the replicas so, and states how far they are behind.
func as(c *testenv.Cluster, database, with string, lag time.Duration) dbOption {
	return configured(func(cfg *readsplit.Config) {
		cfg.Replicas = nil
		for _, s := range c.Replicas() {
			cfg.Replicas = append(cfg.Replicas, readsplit.Replica{
				Name: s.Name(), Dialector: postgres.Open(s.DSNFor(database) + with), StatedLag: lag,
			})
		}
	})
}

// primaryAs connects to the primary so.
func primaryAs(with string) dbOption { return func(o *dbOptions) { o.dsn += with } }

// decided runs a read and returns by whom it was served, and why.
func decided(t testing.TB, db *gorm.DB, id int) (n int, server string, why policy.Reason) {
	t.Helper()
	var row struct {
		N      int
		Server string
	}
	tx := db.Table("counters").Select(readersSelect).Where("id = ?", id).Take(&row)
	require.NoError(t, tx.Error)
	d, ok := readsplit.DecisionOf(tx)
	require.True(t, ok)
	return row.N, row.Server, d.Reason
}

func sessionContext() context.Context {
	return readsplit.WithSession(context.Background(), readsplit.NewSession())
}

// replicaServes waits until reads of ctx are served by a replica, for this reason.
func replicaServes(t testing.TB, d *testDB, ctx context.Context, id, want int, why policy.Reason) {
	t.Helper()
	eventually(t, "a replica to serve", func() bool {
		n, server, because := decided(t, d.WithContext(ctx), id)
		require.Equal(t, want, n)
		return isReplica(server) && because == why
	})
}

// bound runs a read of a session that wrote after sent. Only after the window may a
// replica serve it; it reports whether the primary did because of that.
func bound(t testing.TB, d *testDB, ctx context.Context, id, want int, sent time.Time) bool {
	t.Helper()
	n, server, why := decided(t, d.WithContext(ctx), id)
	assert.Equal(t, want, n)
	if isReplica(server) {
		assert.GreaterOrEqual(t, time.Since(sent), window)
	}
	return server == "primary" && why == policy.ReasonStickyWindow
}

// Servers that do not tell where they are serve whoever has not written, and who has
// written reads from the primary as long as the window lasts, whatever the replicas do.
func TestStatedLag(t *testing.T) {
	c := cluster(t)
	for what, x := range map[string]struct {
		functions string
		primary   bool
	}{
		"refused": {askReplay, false}, "null": {"", false}, "nameless": {askReplay + ", " + askSystem, false},
		"primary": {askReplay + ", " + askPrimary, true}, "primary, nameless": {askReplay + ", " + askPrimary + ", " + askSystem, true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel() // they wait for time to pass
			database, in := onDatabase(t, c)
			tableOfCounters(t, c, database)
			with := reader(t, c, database, x.functions)
			require.NoError(t, c.WaitCaughtUp(limit(t)))
			options := []dbOption{in, configured(windowed), as(c, database, with, stated)}
			if x.primary {
				options = append(options, primaryAs(with))
			}
			d := newDB(t, c, options...)
			others, writes := sessionContext(), sessionContext()
			replicaServes(t, d, others, 1, 0, policy.ReasonStatedLag)
			byWindow := 0
			for i := 1; i <= 20; i++ {
				sent := time.Now()
				require.NoError(t, d.WithContext(writes).Exec("UPDATE counters SET n = ? WHERE id = 1", i).Error)
				if bound(t, d, writes, 1, i, sent) && bound(t, d, readsplit.Stale(writes), 1, i, sent) {
					byWindow++
				}
			}
			assert.Positive(t, byWindow)
			token, err := readsplit.SessionFrom(writes).Token(limit(t))
			require.NoError(t, err)
			replicaServes(t, d, others, 2, 0, policy.ReasonStatedLag) // nobody else is bound
			_, server, _ := decided(t, d.WithContext(readsplit.AtMost(others, stated-time.Millisecond)), 2)
			assert.Equal(t, "primary", server, "it may be further behind")

			joined := sessionContext()
			readsplit.SessionFrom(joined).Join(token)
			require.NoError(t, c.WaitCaughtUp(limit(t)))
			replicaServes(t, d, joined, 1, 20, policy.ReasonStatedLag)
			replicaServes(t, d, readsplit.Stale(writes), 1, 20, policy.ReasonStatedLag)

			monotonic := readsplit.NewSession()
			monotonic.SetGuarantee(session.MonotonicReads)
			ctx := readsplit.WithSession(context.Background(), monotonic)
			shown := time.Now()
			_, err = direct(t, c.Primary(), database).ExecContext(limit(t), "UPDATE counters SET n = 1 WHERE id = 3")
			require.NoError(t, err)
			_, _, _ = decided(t, d.WithContext(ctx), 2)
			bound(t, d, ctx, 2, 0, shown)

			for _, r := range d.plugin.Status().Replicas {
				assert.True(t, r.NoPosition)
				assert.Equal(t, stated, r.StatedLag)
				assert.Len(t, d.log.matching("warn", fmt.Sprintf("replica %q does not tell its replay position: how old it is rests on Replica.StatedLag", r.Name)), 1)
			}
			told := d.log.matching("warn", "primary does not tell its position")
			if x.primary {
				assert.Len(t, told, 1)
			} else {
				assert.Empty(t, told)
			}
		})
	}
}

// tableOfCounters is counters past the plugin.
func tableOfCounters(t testing.TB, c *testenv.Cluster, database string) {
	t.Helper()
	_, err := direct(t, c.Primary(), database).ExecContext(limit(t), "CREATE TABLE counters AS SELECT i AS id, 0 AS n FROM generate_series(0, 7) i")
	require.NoError(t, err)
}

// Where nothing is stated, only those are served there who ask for nothing.
func TestNothingStated(t *testing.T) {
	c := cluster(t)
	database, in := onDatabase(t, c)
	with := reader(t, c, database, askReplay)
	d := newDB(t, c, in, configured(windowed), as(c, database, with, 0))
	counters(t, d, 2)
	ctx := sessionContext()
	eventually(t, "the replicas to be known", func() bool {
		_, server, why := decided(t, d.WithContext(ctx), 1)
		require.Equal(t, "primary", server)
		return why == policy.ReasonNoPosition
	})
	replicaServes(t, d, readsplit.AnyReplica(ctx), 1, 0, policy.ReasonAnyReplica)
	replicaServes(t, d, readsplit.Stale(sessionContext()), 1, 0, policy.ReasonStale)
	require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = 7 WHERE id = 1").Error)
	n, server, _ := decided(t, d.WithContext(readsplit.Stale(ctx)), 1)
	assert.Equal(t, 7, n)
	assert.Equal(t, "primary", server)
	assert.Len(t, d.log.matching("warn", `replica "replica1" does not tell its replay position, and is used for AnyReplica and Stale alone`), 1)
}

// Servers of that kind behind one name, also behind a pooler: a reader endpoint of such
// servers is what most people have of them.
func TestStatedLagBehindOneName(t *testing.T) {
	c := cluster(t)
	database, in := onDatabase(t, c)
	tableOfCounters(t, c, database)
	with := reader(t, c, database, askReplay)
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	name := newName(t, c.Replicas()...)
	pooler := pgBouncer(t, c.Replica(0), database, name.port(), with)
	for what, link := range map[string]struct {
		port int
		with string
		base int
	}{"direct": {name.port(), with, 0}, "pooled": {pooler, with + " default_query_exec_mode=exec", 4}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := newDB(t, c, in, configured(windowed), oneReplica(c.Replica(0), database, link.port, link.with, func(r *readsplit.Replica) {
				r.Balanced, r.StatedLag = true, stated
			}))
			others := sessionContext()
			replicaServes(t, d, others, link.base, 0, policy.ReasonStatedLag)
			byWindow := 0
			for i := 1; i <= 20; i++ {
				ctx, sent := sessionContext(), time.Now()
				require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = ? WHERE id = ?", i, link.base+1).Error)
				if bound(t, d, ctx, link.base+1, i, sent) {
					byWindow++
				}
			}
			assert.Positive(t, byWindow)
			replicaServes(t, d, others, link.base, 0, policy.ReasonStatedLag)
			status := d.plugin.Status().Replicas[0]
			assert.True(t, status.NoPosition)
			assert.Equal(t, link.base == 4, status.Pooled)
			require.NotEmpty(t, status.Backends)
			for _, b := range status.Backends {
				assert.True(t, b.NoPosition)
			}
		})
	}
}
