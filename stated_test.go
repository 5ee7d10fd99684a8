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

// wide keeps a busy machine from making replicas seem old or down.
func wide(window time.Duration) dbOption {
	return configured(func(c *readsplit.Config) {
		c.SampleTimeout, c.StickyWindow = 10*time.Second, window
		if window > 10*time.Minute {
			c.MaxSampleAge, c.MaxLag = time.Minute, time.Minute
		}
	})
}

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

// Servers that do not tell where they are serve whoever has not written, and who has
// written reads from the primary as long as the window lasts, whatever the replicas do.
func TestStatedLag(t *testing.T) {
	c := cluster(t)
	for what, x := range map[string]struct {
		functions string
		primary   bool
	}{
		"refused": {askReplay, false}, "null": {"", false}, "without a system identifier": {askReplay + ", " + askSystem, false},
		"primary too": {askReplay + ", " + askPrimary, true}, "primary too, without a system identifier": {askReplay + ", " + askPrimary + ", " + askSystem, true},
	} {
		t.Run(what, func(t *testing.T) {
			database, in := onDatabase(t, c)
			past := direct(t, c.Primary(), database)
			for _, statement := range []string{
				"CREATE TABLE counters (id int PRIMARY KEY, n int)", "INSERT INTO counters SELECT i, 0 FROM generate_series(0, 7) i",
			} {
				_, err := past.ExecContext(limit(t), statement)
				require.NoError(t, err)
			}
			with := reader(t, c, database, x.functions)
			require.NoError(t, c.WaitCaughtUp(limit(t)))
			options := []dbOption{in, wide(time.Hour), as(c, database, with, time.Second)}
			if x.primary {
				options = append(options, primaryAs(with))
			}
			d := newDB(t, c, options...)
			reads := sessionContext()
			eventually(t, "replicas to serve", func() bool {
				_, server, _ := decided(t, d.WithContext(reads), 1)
				return isReplica(server)
			})
			writes := sessionContext()
			_, server, why := decided(t, d.WithContext(writes), 1)
			assert.True(t, isReplica(server))
			assert.Equal(t, policy.ReasonStatedLag, why)
			for i := 1; i <= 20; i++ {
				require.NoError(t, d.WithContext(writes).Exec("UPDATE counters SET n = ? WHERE id = 1", i).Error)
				n, server, why := decided(t, d.WithContext(writes), 1)
				assert.Equal(t, i, n)
				assert.Equal(t, "primary", server)
				assert.Equal(t, policy.ReasonStickyWindow, why)
				n, server, _ = decided(t, d.WithContext(readsplit.Stale(writes)), 1)
				assert.Equal(t, i, n, "Stale does not give up what the session wrote")
				assert.Equal(t, "primary", server)
			}
			token, err := readsplit.SessionFrom(writes).Token(limit(t))
			require.NoError(t, err)
			joined := sessionContext()
			require.NoError(t, readsplit.SessionFrom(joined).Join(limit(t), token))
			n, _, _ := decided(t, d.WithContext(joined), 1)
			assert.Equal(t, 20, n)
			_, server, _ = decided(t, d.WithContext(reads), 2)
			assert.True(t, isReplica(server), "others are not bound")
			_, server, why = decided(t, d.WithContext(readsplit.AtMost(reads, 900*time.Millisecond)), 2)
			assert.Equal(t, "primary", server, "it is stated to be up to 1 s behind: %v", why)

			monotonic := readsplit.NewSession()
			monotonic.SetGuarantee(session.MonotonicReads)
			ctx := readsplit.WithSession(context.Background(), monotonic)
			_, server, _ = decided(t, d.WithContext(ctx), 2)
			assert.True(t, isReplica(server))
			_, server, _ = decided(t, d.WithContext(ctx), 2)
			assert.Equal(t, "primary", server, "nothing but the primary is known not to go back")

			for _, r := range d.plugin.Status().Replicas {
				assert.True(t, r.NoPosition)
				assert.Equal(t, time.Second, r.StatedLag)
				assert.Len(t, d.log.matching("warn", fmt.Sprintf("replica %q does not tell its replay position: how old it is rests on Replica.StatedLag", r.Name)), 1)
			}
			want := 0
			if x.primary {
				want = 1
			}
			assert.Len(t, d.log.matching("warn", "primary does not tell its position"), want)
		})
	}
}

// The window ends: what was written before it is read from replicas again.
func TestStatedLagAfterTheWindow(t *testing.T) {
	c := cluster(t)
	database, in := onDatabase(t, c)
	with := reader(t, c, database, askReplay+", "+askPrimary)
	past := direct(t, c.Primary(), database)
	_, err := past.ExecContext(limit(t), "CREATE TABLE counters AS SELECT i AS id, 0 AS n FROM generate_series(0, 7) i")
	require.NoError(t, err)
	d := newDB(t, c, in, configured(func(c *readsplit.Config) {
		c.SampleTimeout, c.MaxSampleAge, c.MaxLag, c.StickyWindow = 10*time.Second, time.Second, time.Second, 2*time.Second
	}), as(c, database, with, 200*time.Millisecond), primaryAs(with))
	ctx := sessionContext()
	require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = 7 WHERE id = 1").Error)
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	eventually(t, "a replica to be trusted with the write", func() bool {
		n, server, why := decided(t, d.WithContext(ctx), 1)
		require.Equal(t, 7, n)
		return isReplica(server) && why == policy.ReasonStatedLag
	})
}

// Where nothing is stated, only those are served there who ask for nothing.
func TestNothingStated(t *testing.T) {
	c := cluster(t)
	database, in := onDatabase(t, c)
	with := reader(t, c, database, askReplay)
	d := newDB(t, c, in, wide(time.Hour), as(c, database, with, 0))
	counters(t, d, 2)
	ctx := sessionContext()
	eventually(t, "the replicas to be known", func() bool {
		_, _, why := decided(t, d.WithContext(ctx), 1)
		return why == policy.ReasonNoPosition
	})
	_, server, _ := decided(t, d.WithContext(ctx), 1)
	assert.Equal(t, "primary", server)
	_, server, why := decided(t, d.WithContext(readsplit.AnyReplica(ctx)), 1)
	assert.True(t, isReplica(server))
	assert.Equal(t, policy.ReasonAnyReplica, why)
	_, server, _ = decided(t, d.WithContext(readsplit.Stale(sessionContext())), 1)
	assert.True(t, isReplica(server))
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
	with := reader(t, c, database, askReplay)
	name := newName(t, c.Replicas()...)
	pooler := pgBouncer(t, c.Replica(0), database, name.port(), with)
	for what, link := range map[string]struct {
		port int
		with string
	}{"direct": {name.port(), with}, "pooled": {pooler, with + " default_query_exec_mode=exec"}} {
		t.Run(what, func(t *testing.T) {
			d := newDB(t, c, in, wide(time.Hour), oneReplica(c.Replica(0), database, link.port, link.with, func(r *readsplit.Replica) {
				r.Balanced, r.StatedLag = true, time.Second
			}))
			require.NoError(t, d.Exec("DROP TABLE IF EXISTS counters").Error)
			counters(t, d, 8)
			require.NoError(t, c.WaitCaughtUp(limit(t)))
			d.plugin.Status()
			e := newDB(t, c, in, wide(time.Hour), oneReplica(c.Replica(0), database, link.port, link.with, func(r *readsplit.Replica) {
				r.Balanced, r.StatedLag = true, time.Second
			}))
			eventually(t, "replicas to serve", func() bool {
				_, server, why := decided(t, e.WithContext(sessionContext()), 1)
				return isReplica(server) && why == policy.ReasonStatedLag
			})
			by, missing := ownReads(t, e, 8, 160, nil)
			t.Logf("%v", by)
			assert.Zero(t, missing)
			assert.Equal(t, map[string]int{"primary": 160}, by)
			_, server, _ := decided(t, e.WithContext(sessionContext()), 1)
			assert.True(t, isReplica(server), "others are not bound")
			status := e.plugin.Status().Replicas[0]
			assert.True(t, status.NoPosition)
			require.NotEmpty(t, status.Backends)
			for _, b := range status.Backends {
				assert.True(t, b.NoPosition)
			}
		})
	}
}
