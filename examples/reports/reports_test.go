package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/readonlyguard"
	"github.com/readsplit/readsplit/testenv"
)

var (
	cluster *testenv.Cluster
	shared  *office
)

// TestMain starts a primary and two replicas, and the office over them.
func TestMain(m *testing.M) { os.Exit(tests(m)) }

func tests(m *testing.M) (code int) {
	ctx := context.Background()
	err := func() (err error) {
		if cluster, err = testenv.New(ctx, testenv.Config{}); err != nil {
			return err
		}
		if shared, err = open(servers{cluster.Primary().DSN(), cluster.Replica(0).DSN(), cluster.Replica(1).DSN()}, patient); err != nil {
			return err
		}
		// thinks takes its time, on whichever server it runs; the catalogue says that it only reads.
		err = shared.db.Exec("CREATE FUNCTION thinks(seconds float) RETURNS text LANGUAGE plpgsql STABLE AS $$ BEGIN PERFORM pg_sleep(seconds); RETURN 'done'; END $$").Error
		if err == nil {
			err = shared.db.AutoMigrate(&Order{})
		}
		return err
	}()
	if err == nil {
		code = m.Run()
		err = shared.close()
	}
	if cluster != nil {
		if cerr := cluster.Close(ctx); cerr != nil {
			err = cerr
		}
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}

// patient is for a machine that does other things as well: a replica that answers late is
// not down.
func patient(c *readsplit.Config) { c.SampleTimeout, c.MaxSampleAge = 10*time.Second, 10*time.Second }

// begin empties the table, puts some orders into it, and returns when the replicas have them
// and both are known.
func begin(t *testing.T, orders int) *office {
	t.Helper()
	require.NoError(t, shared.db.Exec("TRUNCATE orders").Error)
	require.NoError(t, shared.db.Exec("INSERT INTO orders (customer, cents, created_at) SELECT 'ada', 100, now() FROM generate_series(1, ?)", orders).Error)
	require.NoError(t, cluster.WaitCaughtUp(t.Context()))
	t.Cleanup(func() {
		require.NoError(t, cluster.UndoAll())
		require.NoError(t, cluster.WaitCaughtUp(context.Background()))
	})
	await(t, func() bool {
		st := shared.plugin.Status()
		return st.Replicas[0].Up && st.Replicas[1].Up && st.Catalog.Current
	})
	return shared
}

func await(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); !done(); <-tick.C {
		require.True(t, time.Now().Before(limit))
	}
}

// user is the context of somebody who has written nothing.
func user(t *testing.T) context.Context {
	return readsplit.WithSession(t.Context(), readsplit.NewSession())
}

// TestWhoServesWhat: heavy reads go to the replica for reports by their mark, their table or
// their estimate, and nothing else does. A replica that is out for a moment (a busy machine)
// is asked again.
func TestWhoServesWhat(t *testing.T) {
	o := begin(t, 3)
	for name, tt := range map[string]struct {
		want string
		read func() (readsplit.Decision, error)
	}{
		"a report":            {"reports", func() (by readsplit.Decision, err error) { _, by, err = o.Sales(user(t)); return by, err }},
		"a dashboard":         {"site", func() (by readsplit.Decision, err error) { _, by, err = o.Dashboard(user(t)); return by, err }},
		"a statement":         {"site", func() (by readsplit.Decision, err error) { _, by, err = o.Statement(user(t), "ada"); return by, err }},
		"a small estimate":    {"site", func() (by readsplit.Decision, err error) { _, by, err = o.Best(user(t), 7, 3); return by, err }},
		"a large estimate":    {"reports", func() (by readsplit.Decision, err error) { _, by, err = o.Best(user(t), 7, 2_000_000); return by, err }},
		"what is not marked":  {"primary", func() (readsplit.Decision, error) { return o.plain(user(t), "orders") }},
		"a table of reports'": {"reports", func() (readsplit.Decision, error) { return o.plain(user(t), "audit_log") }},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, o.db.Exec("CREATE TABLE IF NOT EXISTS audit_log (id bigint)").Error)
			require.NoError(t, cluster.WaitCaughtUp(t.Context()))
			var by readsplit.Decision
			await(t, func() bool {
				var err error
				by, err = tt.read()
				if err != nil {
					require.ErrorIs(t, err, groups.ErrRefused)
				}
				return err == nil && by.Server == tt.want
			})
		})
	}
	days, _, err := o.Sales(user(t))
	require.NoError(t, err)
	require.Len(t, days, 1)
	assert.Equal(t, Day{days[0].Day, 3, 300}, days[0])
}

// plain reads a table without a mark.
func (o *office) plain(ctx context.Context, table string) (readsplit.Decision, error) {
	var n int64
	read := o.db.WithContext(ctx).Table(table).Count(&n)
	by, _ := readsplit.DecisionOf(read)
	return by, read.Error
}

// TestNoReportOnThePrimary: without their replica reports are refused, and all else goes on.
func TestNoReportOnThePrimary(t *testing.T) {
	o := begin(t, 3)
	require.NoError(t, o.plugin.Drain(t.Context(), "reports"))
	t.Cleanup(func() { require.NoError(t, o.plugin.Resume("reports")) })
	_, _, err := o.Sales(user(t))
	require.ErrorIs(t, err, groups.ErrRefused)
	assert.ErrorContains(t, err, "reports")
	require.ErrorIs(t, o.Export(user(t), func([]Order) error { return nil }), groups.ErrRefused)
	n, by, err := o.Dashboard(user(t))
	require.NoError(t, err)
	assert.EqualValues(t, 3, n)
	assert.NotEqual(t, "reports", by.Server)
	require.NoError(t, o.Order(user(t), "ada", 1))
}

// TestReportsEndInTime: a report that takes longer than it may ends for its caller, and on
// its server.
func TestReportsEndInTime(t *testing.T) {
	o := begin(t, 1)
	// Once it is at work: a cancel that comes between two messages of a statement does nothing.
	running := func() (n int) {
		require.NoError(t, cluster.Replica(1).DB().QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE 'SELECT thinks(%'").Scan(&n))
		return n
	}
	ctx, cancel := heavy(user(t), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		var done string
		ended <- o.db.WithContext(ctx).Raw("SELECT thinks(20)").Find(&done).Error
	}()
	await(t, func() bool { return running() == 1 })
	cancel() // as the deadline would
	require.ErrorIs(t, <-ended, context.Canceled)
	await(t, func() bool { return running() == 0 })

	expired, cancel := heavy(user(t), 0)
	defer cancel()
	require.ErrorIs(t, o.db.WithContext(expired).Raw("SELECT thinks(20)").Find(new(string)).Error, context.DeadlineExceeded)

	var bound string
	ctx, cancel = heavy(user(t), time.Minute)
	defer cancel()
	require.NoError(t, o.db.WithContext(ctx).Raw("SELECT current_setting('statement_timeout')").Find(&bound).Error)
	assert.Equal(t, "10min", bound, "of the DSN, for whoever forgets the context")
}

func TestReportsDoNotWrite(t *testing.T) {
	o := begin(t, 1)
	ctx, cancel := heavy(user(t), time.Minute)
	defer cancel()
	var refused *readonlyguard.Error
	require.ErrorAs(t, o.Order(ctx, "ada", 1), &refused)
	n, _, err := o.Dashboard(user(t))
	require.NoError(t, err)
	assert.EqualValues(t, 1, n)
}

// TestExportIsOfOneMoment: what is written and replayed while it runs is not in it.
func TestExportIsOfOneMoment(t *testing.T) {
	o := begin(t, 1200)
	rows := 0
	require.NoError(t, o.Export(user(t), func(batch []Order) error {
		if rows == 0 {
			if err := o.Order(t.Context(), "eve", 1); err != nil {
				return err
			}
			if err := cluster.WaitCaughtUp(t.Context()); err != nil {
				return err
			}
		}
		rows += len(batch)
		return nil
	}))
	assert.Equal(t, 1200, rows)
}

// TestOwnOrdersAreThere: a statement may use a replica, and has what its customer ordered
// although replay stands still.
func TestOwnOrdersAreThere(t *testing.T) {
	o := begin(t, 1)
	_, err := cluster.Replica(0).PauseReplay(t.Context())
	require.NoError(t, err)
	ctx := user(t)
	require.NoError(t, o.Order(ctx, "ada", 7))
	orders, by, err := o.Statement(ctx, "ada")
	require.NoError(t, err)
	assert.Len(t, orders, 2)
	assert.Equal(t, "primary", by.Server)
	assert.NotEqual(t, policy.ReasonPreferPrimary, by.Reason, "a replica would have served it")
}

func TestTour(t *testing.T) {
	begin(t, 1)
	var out bytes.Buffer
	require.NoError(t, show(t.Context(), cluster, &out, patient), "%s", &out)
	assert.Regexp(t, `(?m)^sales +refused, not sent to the primary$`, out.String())
}
