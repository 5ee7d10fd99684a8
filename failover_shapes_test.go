package readsplit_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/internal/heldup"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// asURL is the DSN of several servers as a URL.
func asURL(c *testenv.Cluster, database string, servers ...*testenv.Server) string {
	var hosts []string
	for _, s := range servers {
		hosts = append(hosts, s.Addr())
	}
	one := c.Primary().URLFor(database)
	return strings.Replace(one, c.Primary().Addr(), strings.Join(hosts, ","), 1) + "&target_session_attrs=read-write"
}

// writer returns the name of the server that a write of d ran on.
func (d *testDB) writer(t testing.TB) (name string) {
	t.Helper()
	require.NoError(t, d.Transaction(func(tx *gorm.DB) error {
		if err := tx.Exec("UPDATE counters SET n = n + 1").Error; err != nil {
			return err
		}
		return tx.Raw(whoSQL).Scan(&name).Error
	}))
	return name
}

// A DSN with several hosts finds the primary among them, in both forms, behind a
// host that nobody listens on and behind one that is frozen.
func TestFailoverHostsOfTheDSN(t *testing.T) {
	c := breakable(t)
	made := newDB(t, c)
	counters(t, made, 2)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, dead, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())

	open := func(t *testing.T, dsn string) *testDB {
		d := &testDB{cluster: c, name: made.name, log: &logRecorder{}}
		d.DB, err = gorm.Open(postgres.Open(dsn), &gorm.Config{DisableAutomaticPing: true, Logger: d.log})
		require.NoError(t, err)
		d.plugin = readsplit.New(readsplit.Config{})
		require.NoError(t, d.Use(d.plugin))
		t.Cleanup(func() {
			require.NoError(t, d.plugin.Close(limit(t)))
			require.Empty(t, d.log.matching(password(c.Primary().DSN())), "a password was logged")
		})
		return d
	}
	replica := c.Replica(0)
	t.Run("key=value", func(t *testing.T) {
		d := open(t, c.Primary().DSNFor(made.name)+" "+hostsOf(replica, c.Primary())+" target_session_attrs=read-write")
		assert.Equal(t, "primary", d.writer(t))
		assert.Equal(t, c.Primary().Addr(), d.plugin.Status().Primary.Host)
		assert.Equal(t, []string{replica.Addr(), c.Primary().Addr()}, []string{d.plugin.Status().Failover.Hosts[0].Name, d.plugin.Status().Failover.Hosts[1].Name})
	})
	t.Run("URL", func(t *testing.T) {
		d := open(t, asURL(c, made.name, replica, c.Primary()))
		assert.Equal(t, "primary", d.writer(t))
		assert.Equal(t, c.Primary().Addr(), d.plugin.Status().Primary.Host)
	})
	t.Run("a dead host first", func(t *testing.T) {
		d := open(t, c.Primary().DSNFor(made.name)+fmt.Sprintf(" host=127.0.0.1,127.0.0.1 port=%s,%d", dead, c.Primary().Port()))
		assert.Equal(t, "primary", d.writer(t))
	})
	t.Run("a frozen host first", func(t *testing.T) {
		undo := injected(t)(replica.Freeze(t.Context()))
		slow := heldup.Watch(t)
		began := time.Now()
		d := open(t, c.Primary().DSNFor(made.name)+" "+hostsOf(replica, c.Primary()))
		t.Logf("opened in %v", time.Since(began).Round(time.Millisecond))
		for range 10 {
			began := time.Now()
			assert.Equal(t, "primary", d.writer(t))
			assert.Less(t, time.Since(began), 900*time.Millisecond+10*slow(), "a write does not wait for it")
		}
		undone(t, undo)
	})
	t.Run("no primary among them", func(t *testing.T) {
		d := open(t, c.Primary().DSNFor(made.name)+" "+hostsOf(c.Replicas()...))
		err := d.Exec("UPDATE counters SET n = 0").Error
		require.ErrorIs(t, err, failover.ErrNoPrimary)
		assert.ErrorContains(t, err, "promote one of them, or correct the addresses")
		assert.Zero(t, d.plugin.Status().Unsure, "nothing was sent")
		assert.Equal(t, failover.Unknown, d.plugin.Status().Failover.State)
	})
	t.Run("another database cluster among them", func(t *testing.T) {
		foreign := testenv.Start(t, testenv.Replicas(0)).Primary()
		_, secret, _ := strings.Cut(foreign.DSN(), "password=")
		require.NotEmpty(t, secret)
		d := open(t, c.Primary().DSNFor(made.name)+" "+hostsOf(append(c.Servers(), foreign)...))
		assert.Equal(t, "primary", d.writer(t))
		// Its password is another one, so that it cannot even be asked.
		assert.True(t, d.plugin.Status().Failover.Hosts[3].Answered.IsZero())
	})
	t.Run("one host is not followed", func(t *testing.T) {
		d := open(t, c.Primary().DSNFor(made.name)+" "+hostsOf(c.Primary()))
		assert.Equal(t, "primary", d.writer(t))
		assert.Empty(t, d.plugin.Status().Failover.Hosts)
		assert.Empty(t, d.plugin.Status().Primary.Host)
	})
}

// Every way in which a plugin comes to a primary follows it, with prepared statements
// and with settings of a context.
func TestFailoverOfEveryShape(t *testing.T) {
	c := breakable(t)
	made := newDB(t, c)
	counters(t, made, 2)
	require.NoError(t, made.Exec("CREATE TABLE tenants (id int PRIMARY KEY, tenant text DEFAULT current_setting('app.tenant', true))").Error)
	require.NoError(t, made.Exec("CREATE TABLE visits (id int PRIMARY KEY, n int NOT NULL)").Error)
	require.NoError(t, made.Exec("INSERT INTO visits VALUES (1, 0)").Error)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	all := hostsOf(c.Servers()...)
	dsn := c.Primary().DSNFor(made.name) + " " + all
	type shape struct {
		d     *testDB
		write func() (server string)
	}
	shapes := map[string]shape{}
	add := func(name string, write func(d *testDB) string, options ...dbOption) *testDB {
		d := newDB(t, c, append([]dbOption{inDatabase(made.name), unopened(), configured(quick)}, options...)...)
		if write == nil {
			write = func(d *testDB) string { return d.writer(t) }
		}
		shapes[name] = shape{d, func() string { return write(d) }}
		return d
	}
	following := func(o *dbOptions) { o.dsn = " " + all }
	add("the DSN of gorm.Open", nil, following)
	add("FollowPrimary", nil, configured(func(c *readsplit.Config) { c.FollowPrimary = true }))
	add("Config.Primary", nil, configured(func(c *readsplit.Config) { c.Primary = postgres.Open(dsn) }))
	add("prepared statements", nil, following, gormConfigured(func(c *gorm.Config) { c.PrepareStmt = true }))
	n := 0
	tenant := func(d *testDB) (server string) {
		n++
		ctx := context.WithValue(context.Background(), shapeTenant{}, fmt.Sprint("t", n))
		require.NoError(t, d.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			if err := tx.Exec("INSERT INTO tenants (id) VALUES (?)", n).Error; err != nil {
				return err
			}
			return tx.Raw(whoSQL).Scan(&server).Error
		}))
		var got string
		require.NoError(t, d.WithContext(readsplit.Fresh(ctx)).Raw("SELECT tenant FROM tenants WHERE id = ?", n).Scan(&got).Error)
		assert.Equal(t, fmt.Sprint("t", n), got)
		require.NoError(t, d.WithContext(readsplit.Fresh(context.Background())).Raw("SELECT coalesce(current_setting('app.tenant', true), '')").Scan(&got).Error)
		assert.Empty(t, got, "what one context wants is not set for another")
		return server
	}
	add("settings", tenant, following, configured(func(c *readsplit.Config) { c.Settings = tenantOf }))
	visits := func(d *testDB) (server string) {
		tx := d.Begin()
		require.NoError(t, tx.Table("visits").Where("id = 1").Update("n", gorm.Expr("n + 1")).Error)
		require.NoError(t, tx.Raw(whoSQL).Scan(&server).Error)
		require.NoError(t, tx.Commit().Error)
		return server
	}
	byTable := func(d *testDB) (server string) {
		require.NoError(t, d.Raw("UPDATE visits SET n = n + 1 WHERE id = 1 RETURNING current_setting('cluster_name')").Scan(&server).Error)
		return server
	}
	add("a resolver over the plugin's primary", byTable, following, configured(func(c *readsplit.Config) {
		c.Resolvers = []readsplit.Resolver{{Tables: []any{"visits"}}}
	}))
	own := add("a resolver's own primary", byTable, configured(func(c *readsplit.Config) {
		c.Resolvers = []readsplit.Resolver{{Tables: []any{"visits"}, Primary: postgres.Open(dsn)}}
	}))
	add("a default transaction", visits, following)
	for name, s := range shapes {
		assert.Equal(t, "primary", s.write(), name)
	}
	assert.Empty(t, own.plugin.Status().Failover.Hosts)
	assert.Len(t, own.plugin.Status().Resolvers[0].Failover.Hosts, 3)

	heir := c.Replica(0)
	injected(t)(c.Primary().Stop(t.Context())) // cleanly, so that nothing is lost
	injected(t)(heir.Promote(t.Context()))
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			st := s.d.plugin.Status()
			if name == "a resolver's own primary" {
				eventually(t, "it to be followed", func() bool { return s.d.plugin.Status().Resolvers[0].Failover.Timeline == 2 })
			} else {
				eventually(t, "it to be followed", func() bool { st = s.d.plugin.Status(); return st.Failover.Timeline == 2 })
				assert.Contains(t, []string{"replica1", heir.Addr()}, st.Primary.Host)
			}
			for range 5 {
				assert.Equal(t, heir.Name(), s.write())
			}
			seen := map[string]bool{}
			s.d.plugin.Pools(func(resolver, server string, _ *sql.DB) { seen[resolver+"/"+server] = true })
			assert.True(t, seen["/primary"])
			if name != "a resolver's own primary" {
				assert.True(t, seen["/gorm.Open"], "that pool is the application's, and another one")
			} else {
				assert.True(t, seen["visits/primary"])
			}
		})
	}
}

type shapeTenant struct{}

func tenantOf(ctx context.Context) (map[string]string, error) {
	if name, ok := ctx.Value(shapeTenant{}).(string); ok {
		return map[string]string{"app.tenant": name}, nil
	}
	return nil, nil
}

// What a plugin leaves behind when it is closed leads to the application's own pool.
func TestFailoverAfterClose(t *testing.T) {
	c := cluster(t)
	for _, settings := range []bool{false, true} {
		before := runtime.NumGoroutine()
		d := newFollowing(t, c, configured(func(c *readsplit.Config) {
			if settings {
				c.Settings = tenantOf
			}
		}))
		counters(t, d, 2)
		require.NoError(t, d.plugin.Close(limit(t)))
		ctx := context.WithValue(context.Background(), shapeTenant{}, "later")
		var tenant string
		require.NoError(t, d.WithContext(ctx).Raw("UPDATE counters SET n = 5 WHERE id = 0 RETURNING coalesce(current_setting('app.tenant', true), '')").Scan(&tenant).Error)
		if settings {
			assert.Equal(t, "later", tenant)
		}
		// What is left are one of database/sql for the application's pool, and one for
		// what borrows from it.
		eventually(t, "its goroutines to end", func() bool { return runtime.NumGoroutine() <= before+2 })
		eventually(t, "its connections to end", func() bool {
			return ask[int](t, c.Primary(), "SELECT count(*) FROM pg_stat_activity WHERE datname = $1", d.name) <= 1
		})
	}
}

// R3: positions of a lost history. A replica that lacks an acknowledged write is
// promoted, and then another one takes over from that.
func TestR03FailoverToTheLaggier(t *testing.T) {
	c := breakable(t)
	heir, second := c.Replica(0), c.Replica(1)
	d := newFollowing(t, c)
	counters(t, d, 4)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d.follows(t, c.Primary())
	cut := injected(t)(heir.Cut(t.Context()))
	lost := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.NoError(t, d.WithContext(lost).Exec("UPDATE counters SET n = 77 WHERE id = 1").Error)
	eventually(t, "the session to be settled", func() bool { return served(t, d.WithContext(lost)) == second.Name() })
	token := tokenOf(t, lost)
	quietly := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.NoError(t, d.WithContext(quietly).Exec("UPDATE counters SET n = 78 WHERE id = 2").Error)

	judge := func(what string, ctx context.Context) {
		var n int
		tx := d.WithContext(ctx).Raw("SELECT n FROM counters WHERE id = 1").Scan(&n)
		require.NoError(t, tx.Error)
		decision, _ := readsplit.DecisionOf(tx)
		assert.Contains(t, []policy.Reason{policy.ReasonOtherHistory, policy.ReasonUnsure}, decision.Reason, what)
		assert.Equal(t, "primary", decision.Server, what)
	}
	injected(t)(c.Primary().Kill(t.Context()))
	injected(t)(heir.Promote(t.Context()))
	undone(t, cut)
	follow := injected(t)(second.Follow(t.Context(), heir))
	t.Cleanup(func() { undone(t, follow) })
	d.follows(t, heir)
	eventually(t, "its history to be known", func() bool { return d.plugin.Status().Primary.Position.Timeline == 2 })
	judge("a session that was settled", lost)
	judge("a token", elsewhere(t, token))
	judge("a session that nobody had asked about", quietly)
	others := d.plugin.Status().OtherHistory
	assert.GreaterOrEqual(t, others, uint64(2))
	assert.EqualValues(t, 1, d.plugin.Status().Tokens.Foreign)
	eventually(t, "the second to serve", func() bool { return served(t, d.WithContext(nobody())) == second.Name() })

	after := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.NoError(t, d.WithContext(after).Exec("UPDATE counters SET n = 79 WHERE id = 3").Error)
	eventually(t, "the session to be settled", func() bool { return served(t, d.WithContext(after)) == second.Name() })
	token2 := tokenOf(t, after)
	injected(t)(heir.Kill(t.Context()))
	injected(t)(second.Promote(t.Context()))
	d.follows(t, second)
	eventually(t, "its history to be known", func() bool { return d.plugin.Status().Primary.Position.Timeline == 3 })
	judge("a session of the second history", after)
	judge("a token of the second history", elsewhere(t, token2))
	judge("a token of the first history", elsewhere(t, token))
	assert.EqualValues(t, 3, d.plugin.Status().Tokens.Foreign)
}

// A transaction that was begun on the old primary ends with it, and is not taken for
// one whose outcome is unknown: its COMMIT was never sent.
func TestFailoverEndsTransactions(t *testing.T) {
	c := breakable(t)
	d := newFollowing(t, c)
	counters(t, d, 4)
	require.NoError(t, c.WaitCaughtUp(t.Context())) // or the heir may know no table
	d.follows(t, c.Primary())
	tx, idle := d.Begin(), d.Begin()
	require.NoError(t, tx.Exec("UPDATE counters SET n = 5 WHERE id = 1").Error)
	heir := c.Replica(0)
	injected(t)(heir.Promote(t.Context()))
	d.follows(t, heir)
	eventually(t, "the connections to be closed", func() bool { return d.pooled(t, c.Primary()) == 0 })
	require.Error(t, idle.Exec("UPDATE counters SET n = 6 WHERE id = 2").Error)
	_ = idle.Rollback() // of a connection that is gone
	err := tx.Commit().Error
	assert.ErrorContains(t, err, "it was not committed; run it again")
	assert.Zero(t, d.plugin.Status().Unsure)
	assert.Zero(t, d.sum(t, c.Primary()))
	assert.Equal(t, heir.Name(), d.writer(t))
}

// A primary that restarts is another run of the same server: its connections are
// gone, and what a new one reaches is asked before it is used.
func TestFailoverRestart(t *testing.T) {
	c := breakable(t)
	d := newFollowing(t, c)
	counters(t, d, 2)
	assert.Equal(t, "primary", d.writer(t))
	for range 2 {
		undo := injected(t)(c.Primary().Kill(t.Context()))
		require.Error(t, d.Exec("UPDATE counters SET n = n + 1").Error)
		undone(t, undo)
		began := time.Now()
		eventually(t, "writes to succeed", func() bool { return d.Exec("UPDATE counters SET n = n + 1").Error == nil })
		t.Logf("writes %v after the server was back", time.Since(began).Round(time.Millisecond))
	}
	st := d.plugin.Status()
	assert.EqualValues(t, 2, st.Failover.Moves)
	assert.EqualValues(t, 1, st.Failover.Timeline)
	assert.Equal(t, c.Primary().Addr(), st.Primary.Host)
}

// A COMMIT that the old primary has not acknowledged when another one takes over has
// an unknown outcome: its caller gets an error at once, and its session reads from
// the primary.
func TestFailoverOfAWriteUnderWay(t *testing.T) {
	c := breakable(t)
	d := newFollowing(t, c)
	counters(t, d, 4)
	require.NoError(t, c.WaitCaughtUp(t.Context())) // or the heir may know no table
	d.follows(t, c.Primary())
	sync := func(standbys string) {
		for _, s := range []string{"ALTER SYSTEM SET synchronous_standby_names = '" + standbys + "'", "SELECT pg_reload_conf()"} {
			execOn(t, c.Primary(), s)
		}
		eventually(t, "the setting", func() bool { return ask[string](t, c.Primary(), "SHOW synchronous_standby_names") == standbys })
	}
	sync("nobody")
	t.Cleanup(func() { sync("") })
	commitsWait(t, c)
	ways := map[string]func(db *gorm.DB) error{
		"autocommit": func(db *gorm.DB) error { return db.Exec("UPDATE counters SET n = 5 WHERE id = 0").Error },
		"returning": func(db *gorm.DB) error {
			var n int
			return db.Raw("UPDATE counters SET n = 5 WHERE id = 1 RETURNING n").Scan(&n).Error
		},
		"transaction": func(db *gorm.DB) error {
			return db.Transaction(func(tx *gorm.DB) error { return tx.Exec("UPDATE counters SET n = 5 WHERE id = 2").Error })
		},
	}
	type end struct {
		name string
		err  error
		ctx  context.Context
	}
	ends := make(chan end, len(ways))
	for name, way := range ways {
		ctx := nobody()
		go func() { ends <- end{name, way(d.WithContext(ctx)), ctx} }()
	}
	eventually(t, "all to wait", func() bool {
		return ask[int](t, c.Primary(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = $1", d.name) == len(ways)
	})
	heir := c.Replica(0)
	slow := heldup.Watch(t)
	injected(t)(heir.Promote(t.Context()))
	promoted := time.Now()
	for range ways {
		e := <-ends
		require.Error(t, e.err, e.name)
		assert.Less(t, time.Since(promoted), 2*time.Second+20*slow(), e.name)
		var server string
		tx := d.WithContext(e.ctx).Raw(whoSQL).Scan(&server)
		require.NoError(t, tx.Error)
		assert.Equal(t, heir.Name(), server, e.name)
		assert.Equal(t, policy.ReasonUnsure, reason(t, tx), e.name)
	}
	assert.EqualValues(t, len(ways), d.plugin.Status().Unsure)
}
