package readsplit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// Servers behind a name die, hang, come back, and are taken out by whoever balances,
// while users write and read: nobody notices, whether or not a pooler is in between.
func TestBalancedNameUnderFaults(t *testing.T) {
	c := breakable(t)
	database, in := onDatabase(t, c)
	name := newName(t, c.Replicas()...)
	pooler := pgBouncer(t, c.Replica(0), database, name.port())
	for what, link := range map[string]struct {
		port int
		with string
	}{"direct": {name.port(), ""}, "pooled": {pooler, " default_query_exec_mode=exec"}} {
		t.Run(what, func(t *testing.T) {
			d := newDB(t, c, in, configured(patient), configured(impatient), oneReplica(c.Replica(0), database, link.port, link.with, declared))
			require.NoError(t, d.Exec("DROP TABLE IF EXISTS counters").Error)
			counters(t, d, 8)
			spread(t, d, "replica1", "replica2")
			u := startUsers(t, d, 8, nil)
			faults := []func(*testenv.Server) (testenv.Undo, error){
				func(s *testenv.Server) (testenv.Undo, error) { return s.Kill(t.Context()) },
				func(s *testenv.Server) (testenv.Undo, error) { return s.CrashBackend(t.Context()) },
				func(s *testenv.Server) (testenv.Undo, error) { return s.Freeze(t.Context()) },
				func(s *testenv.Server) (testenv.Undo, error) { return s.Stop(t.Context()) },
			}
			if what == "pooled" && testing.Short() {
				faults = faults[:2] // PgBouncer takes its time to leave a frozen server
			}
			for i, inject := range faults {
				hit, other := c.Replica(i%2), c.Replica((i+1)%2)
				u.busy(t, hit)
				undo, err := inject(hit)
				require.NoError(t, err)
				name.lead(other) // as a health check does, a moment later
				u.busy(t, other)
				u.during(t, 60, func() bool { return true })
				undone(t, undo)
			}
			u.right(t)
			assert.Zero(t, u.lost.Load())
			name.lead(c.Replicas()...)
		})
	}
}

// A server behind the name is promoted: it is no replica of this primary any more, and
// nobody reads there what the primary does not have.
func TestBalancedNameOneIsPromoted(t *testing.T) {
	c := testenv.Start(t)
	database, in := onDatabase(t, c)
	name := newName(t, c.Replicas()...)
	d := newDB(t, c, in, configured(patient), oneReplica(c.Replica(0), database, name.port(), "", declared))
	counters(t, d, 8)
	spread(t, d, "replica1", "replica2")
	require.NoError(t, func() error { _, err := c.Replica(0).Promote(t.Context()); return err }())
	eventually(t, "no connection to be left to what is a primary now", func() bool {
		ownReads(t, d, 8, 40, nil)
		spreadOnce(d)
		return ask[int](t, c.Replica(0), "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name <> 'testenv' AND query LIKE '%default_transaction_read_only%'", database) == 0 &&
			len(d.log.matching("warn", `behind replica "ro" there is a PRIMARY`)) == 1
	})
	_, err := direct(t, c.Replica(0), database).ExecContext(t.Context(), "UPDATE counters SET n = -1")
	require.NoError(t, err)
	by, missing := ownReads(t, d, 8, 400, nil)
	t.Logf("%v", by)
	assert.Zero(t, missing)
	assert.Zero(t, by["replica1"])
	assert.Positive(t, by["replica2"])
	for _, r := range d.plugin.Status().Replicas {
		assert.Equal(t, policy.RoleStandby, r.Role)
	}
}

// A server of another cluster behind the name is not read from, not even by those who
// ask for any replica, and it is said.
func TestBalancedNameLeadsToAnotherCluster(t *testing.T) {
	c, other := breakable(t), cluster(t)
	database, in := onDatabase(t, c)
	require.NoError(t, other.CreateDatabase(t.Context(), database))
	role := fmt.Sprintf("reader_%d", readers.Add(1)) // of both
	for _, x := range []*testenv.Cluster{c, other} {
		execOn(t, x.Primary(), "CREATE ROLE "+role+" LOGIN PASSWORD 'only-in-a-test' IN ROLE pg_read_all_data")
		require.NoError(t, x.WaitCaughtUp(t.Context()))
	}
	name := newName(t, c.Replica(0), other.Replica(0))
	d := newDB(t, c, in, configured(patient), oneReplica(c.Replica(0), database, name.port(), " user="+role+" password=only-in-a-test", declared))
	counters(t, d, 8)
	system := ask[int64](t, c.Primary(), "SELECT system_identifier FROM pg_control_system()")
	replicasServe(t, d.DB)
	eventually(t, "it to be said", func() bool {
		spreadOnce(d)
		return len(d.log.matching("warn", `behind replica "ro" there is a server that follows ANOTHER HISTORY`)) == 1
	})
	by, missing := ownReads(t, d, 8, 200, nil)
	t.Logf("%v", by)
	assert.Zero(t, missing)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				var at int64
				err := d.WithContext(readsplit.AnyReplica(context.Background())).Raw("SELECT system_identifier FROM pg_control_system()").Scan(&at).Error
				assert.NoError(t, err)
				assert.Equal(t, system, at)
			}
		})
	}
	all.Wait()
}

// Nobody has the primary any more: the servers behind the name go on serving, and each
// user what they wrote.
func TestBalancedNameWhileThePrimaryIsLost(t *testing.T) {
	c := breakable(t)
	database, in := onDatabase(t, c)
	name := newName(t, c.Replicas()...)
	d := newDB(t, c, in, configured(patient), oneReplica(c.Replica(0), database, name.port(), "", declared))
	counters(t, d, 8)
	spread(t, d, "replica1", "replica2")
	ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
	require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = 7 WHERE id = 1").Error)
	replicasServe(t, d.WithContext(ctx))
	undo := injected(t)(c.Primary().Stop(t.Context()))
	eventually(t, "the primary to be lost", func() bool { return !d.plugin.Status().Primary.Up })
	for range 20 {
		var n int
		tx := d.WithContext(ctx).Raw("SELECT n FROM counters WHERE id = 1").Scan(&n)
		require.NoError(t, tx.Error)
		require.Equal(t, 7, n)
	}
	undone(t, undo)
	eventually(t, "the primary to be back", func() bool { return d.plugin.Status().Primary.Up })
}

// spreadOnce runs reads at the same time, so that new connections are opened.
func spreadOnce(d *testDB) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			var name string
			_ = d.WithContext(readsplit.Stale(context.Background())).Raw(whoSQL + " FROM (SELECT sum(i) AS s FROM generate_series(1, 100000) i) g WHERE s > 0").Scan(&name).Error
		})
	}
	all.Wait()
}
