package readsplit_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/testenv"
)

// fed is a primary with a physical replica, and a reporting database that is fed by
// logical replication.
type fed struct {
	*testDB
	reporting *testenv.Server
}

// lyingWriter writes, whatever the configuration says of it.
const lyingWriter = "CREATE FUNCTION writer() RETURNS text LANGUAGE plpgsql AS $$ BEGIN INSERT INTO other VALUES (1); RETURN 'written'; END $$"

// newFed starts both clusters. The view served_by tells them apart: both primaries call
// themselves so.
func newFed(t *testing.T) (publisher *testenv.Cluster, reporting *testenv.Server) {
	t.Helper()
	publisher = testenv.Start(t, testenv.Replicas(1), testenv.Setting("wal_level", "logical"))
	subscriber := testenv.Start(t, testenv.Replicas(0))
	reporting = subscriber.Primary()
	const schema = "CREATE TABLE orders (id int PRIMARY KEY, n int); CREATE TABLE other (n int);" + lyingWriter + ";"
	execOn(t, publisher.Primary(), schema+"CREATE VIEW served_by AS SELECT current_setting('cluster_name') AS server; INSERT INTO orders VALUES (1, 1); CREATE PUBLICATION orders FOR TABLE orders")
	execOn(t, reporting, schema+"CREATE VIEW served_by AS SELECT 'reporting'::text AS server")
	execOn(t, reporting, fmt.Sprintf("CREATE SUBSCRIPTION orders CONNECTION '%s' PUBLICATION orders", publisher.Primary().DSN()))
	require.NoError(t, publisher.WaitCaughtUp(limit(t)))
	eventually(t, "the first copy", func() bool { return ask[int](t, reporting, "SELECT count(*) FROM orders") == 1 })
	return publisher, reporting
}

// open opens the plugin over both.
func openFed(t *testing.T, publisher *testenv.Cluster, reporting *testenv.Server, options ...func(*readsplit.Config)) *fed {
	t.Helper()
	cfg := readsplit.Config{
		MaxLag:        readsplit.Off,
		ReadFunctions: []string{"writer"},
		Replicas: []readsplit.Replica{
			{Name: "reporting", Dialector: postgres.Open(reporting.DSN()), Logical: true, Groups: []string{"reports"}},
			{Name: "replica1", Dialector: postgres.Open(publisher.Replica(0).DSN())},
		},
	}
	calmly(&cfg)
	for _, o := range options {
		o(&cfg)
	}
	f := &fed{testDB: &testDB{cluster: publisher, log: &logRecorder{}}, reporting: reporting}
	var err error
	f.DB, err = gorm.Open(postgres.Open(publisher.Primary().DSN()), &gorm.Config{Logger: f.testDB.log})
	require.NoError(t, err)
	pool, err := f.DB.DB()
	require.NoError(t, err)
	f.plugin = readsplit.New(cfg)
	require.NoError(t, f.Use(f.plugin))
	t.Cleanup(func() {
		require.NoError(t, f.plugin.Close(context.Background()))
		require.NoError(t, pool.Close())
	})
	return f
}

func (f *fed) from(t testing.TB, ctx context.Context) answer {
	t.Helper()
	var server string
	tx := f.WithContext(ctx).Raw("SELECT server FROM served_by").Scan(&server)
	require.NoError(t, tx.Error)
	return answer{server, reason(t, tx)}
}

func (f *fed) known(t testing.TB) {
	t.Helper()
	eventually(t, "both to be known", func() bool {
		st := f.plugin.Status()
		return st.Replicas[0].Up && st.Replicas[1].Up && !st.Replicas[1].Position.Zero()
	})
}

// A reporting database that is fed by logical replication serves reads of its group that
// ask for nothing that it cannot prove, and nothing else ever gets there.
func TestLogicalReplica(t *testing.T) {
	publisher, reporting := newFed(t)
	both := func(ctx context.Context) context.Context { return readsplit.Stale(reports(ctx)) }

	t.Run("which reads go there", func(t *testing.T) {
		f := openFed(t, publisher, reporting, func(c *readsplit.Config) {
			c.Groups = []groups.Group{{Name: "reports", Tables: []any{"orders"}}}
		})
		f.known(t)
		assert.Equal(t, answer{"reporting", policy.ReasonStale}, f.from(t, both(nobody())))
		assert.Equal(t, answer{"reporting", policy.ReasonAnyReplica}, f.from(t, readsplit.AnyReplica(reports(nobody()))))
		assert.Equal(t, answer{"reporting", policy.ReasonStale}, f.from(t, both(context.Background())), "Stale without a session gives up the process's writes")

		assert.Equal(t, answer{"primary", policy.ReasonGroupOnPrimary}, f.from(t, reports(nobody())), "not Stale")
		assert.Equal(t, answer{"primary", policy.ReasonGroupOnPrimary}, f.from(t, readsplit.AtMost(both(nobody()), 1<<40)), "a bound takes Stale back")
		assert.Equal(t, answer{"replica1", policy.ReasonStale}, f.from(t, readsplit.Stale(nobody())), "no group")
		assert.Equal(t, answer{"replica1", policy.ReasonAnyReplica}, f.from(t, readsplit.AnyReplica(nobody())), "no group")
		assert.Equal(t, "replica1", f.from(t, nobody()).server)
		assert.Equal(t, answer{"primary", policy.ReasonFresh}, f.from(t, readsplit.Fresh(reports(nobody()))))
		var n int
		tx := f.WithContext(readsplit.Stale(nobody())).Raw("SELECT n FROM orders").Scan(&n)
		require.NoError(t, tx.Error)
		d, _ := readsplit.DecisionOf(tx)
		assert.Equal(t, "reporting", d.Server, "by its table, and Stale")

		ctx := nobody()
		require.NoError(t, f.WithContext(ctx).Exec("INSERT INTO other VALUES (0)").Error)
		_ = tokenOf(t, ctx) // which waits for the write's position: until then that is the reason
		assert.Equal(t, answer{"primary", policy.ReasonGroupOnPrimary}, f.from(t, both(ctx)), "who wrote cannot be shown it there")
		assert.Equal(t, "reporting", f.from(t, readsplit.AnyReplica(reports(ctx))).server)

		monotonic := readsplit.NewSession()
		monotonic.SetGuarantee(session.MonotonicReads)
		ctx = readsplit.WithSession(context.Background(), monotonic)
		assert.Equal(t, answer{"primary", policy.ReasonGroupOnPrimary}, f.from(t, both(ctx)), "it could go back in time there")
		assert.Equal(t, "reporting", f.from(t, readsplit.AnyReplica(reports(ctx))).server)

		require.NoError(t, f.WithContext(both(nobody())).Transaction(func(tx *gorm.DB) error {
			var server string
			require.NoError(t, tx.Raw("SELECT server FROM served_by").Scan(&server).Error)
			assert.Equal(t, "reporting", server)
			return nil
		}, &sql.TxOptions{ReadOnly: true}))

		s := explained(t, reports(nobody()), f.DB, func(tx *gorm.DB) *gorm.DB { return tx.Raw("SELECT server FROM served_by").Scan(new(string)) })
		assert.Equal(t, []string{"primary"}, s[0].Servers)
		assert.Contains(t, s[0].String(), "logical logical (neither Stale nor AnyReplica)")
	})

	t.Run("no write gets there", func(t *testing.T) {
		f := openFed(t, publisher, reporting)
		f.known(t)
		there := func() int { return ask[int](t, reporting, "SELECT count(*) FROM other") }
		before := ask[int](t, publisher.Primary(), "SELECT count(*) FROM other")
		ctx := readsplit.AnyReplica(reports(nobody()))
		require.NoError(t, f.WithContext(ctx).Exec("INSERT INTO other VALUES (7)").Error)
		// A function that the configuration takes for a read.
		var said string
		tx := f.WithContext(ctx).Raw("SELECT writer()").Scan(&said)
		require.NoError(t, tx.Error)
		assert.Equal(t, "written", said)
		assert.Equal(t, policy.ReasonRefusedByReplica, reason(t, tx))
		require.Error(t, f.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			require.NoError(t, tx.Raw("SELECT server FROM served_by").Scan(&said).Error)
			require.Equal(t, "reporting", said)
			return tx.Exec("INSERT INTO other VALUES (8)").Error
		}, &sql.TxOptions{ReadOnly: true}))
		f.plugin.Pools(func(_, server string, pool *sql.DB) {
			if server == "reporting" || server == "reporting@reports" {
				_, err := pool.ExecContext(limit(t), "INSERT INTO other VALUES (9)")
				require.ErrorContains(t, err, "read-only transaction", server)
			}
		})
		assert.Zero(t, there())
		assert.Equal(t, before+2, ask[int](t, publisher.Primary(), "SELECT count(*) FROM other"))
	})

	t.Run("what is known of it", func(t *testing.T) {
		f := openFed(t, publisher, reporting)
		f.known(t)
		eventually(t, "its subscription to be told of", func() bool {
			s := f.plugin.Status().Replicas[0].Subscription
			return s != nil && s.Count == 1 && s.Running == 1 && s.HeardKnown && s.BehindKnown
		})
		r := f.plugin.Status().Replicas[0]
		assert.Equal(t, policy.RoleLogical, r.Role)
		assert.True(t, r.Logical && r.Up && !r.LagKnown && r.Position.Zero())
		assert.Nil(t, f.plugin.Status().Replicas[1].Subscription)
		assert.Empty(t, f.testDB.log.matching("reporting"), "nothing is wrong with it")
	})

	t.Run("a table that is not there", func(t *testing.T) {
		execOn(t, publisher.Primary(), "CREATE TABLE newer AS SELECT 5 AS n")
		require.NoError(t, publisher.WaitCaughtUp(limit(t)))
		for otherwise, want := range map[groups.Otherwise]string{groups.Primary: "primary", groups.AnyReplica: "replica1", groups.Refuse: ""} {
			f := openFed(t, publisher, reporting, func(c *readsplit.Config) {
				c.Groups = []groups.Group{{Name: "reports", Otherwise: otherwise}}
			})
			f.known(t)
			known(t, f.plugin)
			var n int
			tx := f.WithContext(both(nobody())).Raw("SELECT n FROM newer").Scan(&n)
			st := f.plugin.Status()
			assert.EqualValues(t, 1, st.Retries[retry.CauseSchemaBehind])
			assert.EqualValues(t, 1, f.groupOf(t, "reports").Because[policy.ReasonSchemaBehind])
			if want == "" {
				require.ErrorIs(t, tx.Error, groups.ErrRefused)
				require.ErrorContains(t, tx.Error, `relation "newer" does not exist`)
				continue
			}
			require.NoError(t, tx.Error)
			assert.Equal(t, 5, n)
			d, _ := readsplit.DecisionOf(tx)
			assert.Equal(t, want, d.Server)
		}
	})

	t.Run("declared wrongly", func(t *testing.T) {
		for name, s := range map[string]*testenv.Server{"the primary": publisher.Primary(), "a physical replica": publisher.Replica(0)} {
			f := openFed(t, publisher, s)
			eventually(t, "the other to be known", func() bool { return f.from(t, nobody()).server == "replica1" })
			assert.Equal(t, answer{"primary", policy.ReasonGroupOnPrimary}, f.from(t, readsplit.AnyReplica(reports(nobody()))), name)
			assert.Zero(t, f.plugin.Status().Replicas[0].Reads, name)
			assert.Len(t, f.testDB.log.matching("is declared Logical", "the primary's own database cluster"), 1, name)
		}
	})

	t.Run("it is no candidate for the primary", func(t *testing.T) {
		f := openFed(t, publisher, reporting, func(c *readsplit.Config) { c.FollowPrimary = true })
		var names []string
		for _, h := range f.plugin.Status().Failover.Hosts {
			names = append(names, h.Name)
		}
		assert.Equal(t, []string{publisher.Primary().Addr(), "replica1"}, names)
	})

	t.Run("down and back", func(t *testing.T) {
		f := openFed(t, publisher, reporting)
		f.known(t)
		undo := injected(t)(reporting.Stop(limit(t)))
		eventually(t, "its reads to go elsewhere", func() bool {
			return f.from(t, both(nobody())) == answer{"primary", policy.ReasonGroupOnPrimary}
		})
		assert.Equal(t, "replica1", f.from(t, readsplit.Stale(nobody())).server)
		undone(t, undo)
		eventually(t, "it to serve again", func() bool { return f.from(t, both(nobody())).server == "reporting" })
		assert.Empty(t, f.testDB.log.matching("PRIMARY"))
	})
}
