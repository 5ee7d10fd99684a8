package drivertest

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/sqlserver"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv/tdsenv"
)

// What is no proof: while redo stands still, the columns that seem to say that a
// secondary is current say so, and it does not have the row. Only last_commit_lsn tells.
func TestUnsafeProofs(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
	db := split(t, c, nil)
	primary, secondary := pool(t, c.Primary().DSN()), pool(t, c.Replica(0).ReadOnlyDSN())
	for what, inject := range map[string]func() (tdsenv.Undo, error){
		"redo paused": func() (tdsenv.Undo, error) { return c.Replica(0).PauseRedo(limit(t)) },
		"suspended":   func() (tdsenv.Undo, error) { return c.Replica(0).Suspend(limit(t)) },
		"cut off":     func() (tdsenv.Undo, error) { return c.Replica(0).Cut(limit(t)) },
	} {
		undo, err := inject()
		require.NoError(t, err)
		ctx := session(t)
		n := note{Text: what}
		require.NoError(t, db.WithContext(ctx).Create(&n).Error)
		one := func(on *sql.DB, query string, args ...any) (v any) {
			require.NoError(t, on.QueryRowContext(limit(t), query, args...).Scan(&v), query)
			return v
		}
		const of = " FROM sys.dm_hadr_database_replica_states WHERE database_id = DB_ID() AND is_local = 1"
		token := one(primary, "SELECT last_commit_lsn"+of)
		require.EqualValues(t, 0, one(secondary, "SELECT COUNT(*) FROM notes WHERE id = @p1", n.ID), "%s: the row is not there", what)
		require.EqualValues(t, 0, one(secondary, "SELECT secondary_lag_seconds"+of), "%s: secondary_lag_seconds is no proof", what)
		require.EqualValues(t, 0, one(secondary, "SELECT log_send_queue_size"+of), "%s: log_send_queue_size is no proof", what)
		if what == "redo paused" {
			hardened := position(t, one(secondary, "SELECT CONVERT(varchar(30), last_hardened_lsn)"+of))
			require.GreaterOrEqual(t, hardened, position(t, one(primary, "SELECT CONVERT(varchar(30), last_commit_lsn)"+of)), "last_hardened_lsn is no proof")
		} else {
			require.EqualValues(t, 0, one(secondary, "SELECT redo_queue_size"+of), "%s: redo_queue_size is no proof", what)
		}
		require.NotEqual(t, token, one(secondary, "SELECT last_commit_lsn"+of))
		// The session never misses it, whatever the window.
		for end := time.Now().Add(window + window/2); time.Now().Before(end); {
			var found int64
			require.NoError(t, db.WithContext(ctx).Model(&note{}).Where("id = ?", n.ID).Count(&found).Error)
			require.EqualValues(t, 1, found, what)
		}
		require.NoError(t, undo())
		require.NoError(t, c.WaitCaughtUp(limit(t)))
	}
}

func position(t *testing.T, v any) lsn.LSN {
	t.Helper()
	text, ok := v.(string)
	require.True(t, ok, "%T", v)
	at, err := lsn.ParseSQLServerLSN(text)
	require.NoError(t, err)
	return at
}

// A lag is measured against the primary: it grows while nothing arrives, whatever the
// secondary says.
func TestMaxLag(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
	db := split(t, c, func(cfg *readsplit.Config) {
		cfg.MaxLag, cfg.MaxSampleAge, cfg.StickyWindow = 2*time.Second, 20*time.Second, 30*time.Second
	})
	reader := session(t)
	until(t, reader, db.DB, policy.ReasonCaughtUp)
	undo, err := c.Replica(0).Suspend(limit(t))
	require.NoError(t, err)
	require.NoError(t, db.WithContext(session(t)).Create(&note{Text: "one"}).Error)
	require.Equal(t, c.Primary().Name(), until(t, reader, db.DB, policy.ReasonLagUnknown), "a secondary that is suspended proves nothing")
	require.NoError(t, undo())
	require.Equal(t, c.Replica(0).Name(), until(t, reader, db.DB, policy.ReasonCaughtUp))
	_, err = c.Replica(0).PauseRedo(limit(t))
	require.NoError(t, err)
	require.NoError(t, db.WithContext(session(t)).Create(&note{Text: "two"}).Error)
	require.Equal(t, c.Primary().Name(), until(t, reader, db.DB, policy.ReasonLagging))
	require.Less(t, db.plugin.Status().Replicas[0].BehindBytes, uint64(1<<20), "bytes of log, not numbers of records")
}

// Where the login may not see positions it is said once, and a replica is used by what is
// stated of it.
func TestNoPermission(t *testing.T) {
	for what, stated := range map[string]time.Duration{"nothing stated": 0, "stated": 100 * time.Millisecond} {
		t.Run(what, func(t *testing.T) {
			c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
			for _, s := range c.Servers() {
				_, err := s.DenyView(limit(t))
				require.NoError(t, err)
			}
			db := split(t, c, func(cfg *readsplit.Config) {
				cfg.Replicas[0].StatedLag = stated
				cfg.MaxSampleAge, cfg.StickyWindow = 500*time.Millisecond, window
			})
			ctx := session(t)
			n := note{Text: "mine"}
			if stated == 0 {
				until(t, ctx, db.DB, policy.ReasonNoPosition)
				until(t, readsplit.AnyReplica(ctx), db.DB, policy.ReasonAnyReplica)
			} else {
				until(t, ctx, db.DB, policy.ReasonStatedLag)
				began := time.Now()
				require.NoError(t, db.WithContext(ctx).Create(&n).Error)
				sticks(t, ctx, db.DB, began)
				until(t, ctx, db.DB, policy.ReasonStatedLag)
			}
			said := 0
			for _, line := range db.log.all() {
				if strings.Contains(line, "SQL Server gives no positions (the login has no permission VIEW SERVER STATE") {
					said++
				}
			}
			require.Equal(t, 1, said, "%q", db.log.all())
			st := db.plugin.Status()
			require.True(t, st.Replicas[0].NoPosition)
			const why = "the login has no permission VIEW SERVER STATE, from SQL Server 2022 on VIEW SERVER PERFORMANCE STATE"
			require.Equal(t, why, st.Replicas[0].NoPositionWhy)
			require.Equal(t, why, st.Primary.NoPositionWhy)
		})
	}
}

// A replica that alone tells no position says why, until it tells one.
func TestNoPermissionOnOne(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{})
	_, err := c.Server("SQL3").DenyView(limit(t))
	require.NoError(t, err)
	db := split(t, c, nil)
	require.Eventually(t, func() bool {
		rs := db.plugin.Status().Replicas
		return rs[0].Up && !rs[0].NoPosition && rs[1].NoPosition
	}, limitFor, tick)
	st := db.plugin.Status()
	require.Empty(t, st.Primary.NoPositionWhy)
	require.Empty(t, st.Replicas[0].NoPositionWhy)
	require.Equal(t, "the login has no permission VIEW SERVER STATE, from SQL Server 2022 on VIEW SERVER PERFORMANCE STATE", st.Replicas[1].NoPositionWhy)
}

// A marker table proves by itself what a replica shows: no window, no permission.
func TestMarker(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
	for _, s := range c.Servers() {
		_, err := s.DenyView(limit(t))
		require.NoError(t, err)
	}
	admin := pool(t, c.Primary().DSN())
	_, err := admin.ExecContext(limit(t), lsn.SQLServerMarkerTable("dbo.marker"))
	require.NoError(t, err)
	db := split(t, c, func(cfg *readsplit.Config) { cfg.SQLServer.Marker = "dbo.marker" })
	ctx := session(t)
	until(t, ctx, db.DB, policy.ReasonCaughtUp)
	n := note{Text: "mine"}
	undo, err := c.Replica(0).PauseRedo(limit(t))
	require.NoError(t, err)
	require.NoError(t, db.WithContext(ctx).Create(&n).Error)
	require.Equal(t, c.Primary().Name(), until(t, ctx, db.DB, policy.ReasonBehindSession))
	require.Zero(t, db.plugin.Status().Replicas[0].BehindBytes, "markers are no bytes")
	require.NoError(t, undo())
	require.Equal(t, c.Replica(0).Name(), until(t, ctx, db.DB, policy.ReasonCaughtUp))
	var found int64
	require.NoError(t, db.WithContext(ctx).Model(&note{}).Where("id = ?", n.ID).Count(&found).Error)
	require.EqualValues(t, 1, found)
	require.Empty(t, db.log.all())
}

// A primary that was forced into its place goes on from what it had, and gives numbers
// out again that were lost with the old one. A secondary that still shows those does not
// show what was written since, also to a process that begins when the new primary is
// about to give out the last of them.
func TestMarkerGivenOutTwice(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{})
	sql1, sql2, sql3 := c.Primary(), c.Server("SQL2"), c.Server("SQL3")
	require.NoError(t, open(t, sql1.DSN()).AutoMigrate(&note{}))
	_, err := pool(t, sql1.DSN()).ExecContext(limit(t), lsn.SQLServerMarkerTable("dbo.marker"))
	require.NoError(t, err)
	takes := func(on *sql.DB) {
		var text string
		require.NoError(t, on.QueryRowContext(limit(t), lsn.SQLServerMarkSQL("dbo.marker")).Scan(&text))
	}
	shown := func(on *sql.DB) (n int64) {
		require.NoError(t, on.QueryRowContext(limit(t), "SELECT n FROM dbo.marker").Scan(&n))
		return n
	}
	takes(pool(t, sql1.DSN()))
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	undo, err := sql2.Cut(limit(t))
	require.NoError(t, err)
	on := pool(t, sql1.DSN())
	for range 500 { // these will be lost
		takes(on)
	}
	left, last := pool(t, sql3.ReadOnlyDSN()), shown(on)
	require.Eventually(t, func() bool { return shown(left) == last }, limitFor, tick)
	_, err = c.ForceFailover(limit(t), sql2)
	require.NoError(t, err)
	require.NoError(t, undo())

	process := func() *gorm.DB {
		db := open(t, sql2.DSN())
		plugin := readsplit.New(readsplit.Config{
			Replicas:      []readsplit.Replica{{Name: "SQL3", Dialector: sqlserver.Open(sql3.ReadOnlyDSN())}},
			SampleTimeout: 10 * time.Second, MaxSampleAge: 20 * time.Second, MaxLag: readsplit.Off, SampleEvery: 20 * time.Millisecond,
			SQLServer: lsn.SQLServer{Marker: "dbo.marker"},
		})
		require.NoError(t, db.Use(plugin))
		t.Cleanup(func() { require.NoError(t, plugin.Close(limit(t))) })
		return db
	}
	wrote := readsplit.NewSession()
	ctx := readsplit.WithSession(limit(t), wrote)
	one := process()
	require.NoError(t, one.WithContext(ctx).Create(&note{Text: "mine"}).Error)
	token, err := wrote.Token(ctx)
	require.NoError(t, err)
	for on = pool(t, sql2.DSN()); shown(on) < last-1; {
		takes(on)
	}

	other := process()
	joined := readsplit.NewSession()
	joined.Join(token)
	there := readsplit.WithSession(limit(t), joined)
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		var found int64
		tx := other.WithContext(there).Model(&note{}).Where(&note{Text: "mine"}).Count(&found)
		require.NoError(t, tx.Error)
		d, _ := readsplit.DecisionOf(tx)
		require.EqualValues(t, 1, found, "%v", d)
	}
	require.NoError(t, sql3.Resume(limit(t)))
	require.Equal(t, "SQL3", until(t, there, other, policy.ReasonCaughtUp), "it serves when it follows")
}

// A primary whose view is out of date right after a write, by no more than the window:
// its position then does not hold the write, and another is taken after the window.
func TestViewOutOfDateWithinTheWindow(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
	db := split(t, c, func(cfg *readsplit.Config) { cfg.StickyWindow = 4 * time.Second }) // long enough for a late goroutine
	until(t, session(t), db.DB, policy.ReasonCaughtUp)
	_, err := c.Replica(0).PauseRedo(limit(t))
	require.NoError(t, err)
	undo, err := c.Primary().HoldView(limit(t))
	require.NoError(t, err)
	ctx := session(t)
	n := note{Text: "mine"}
	require.NoError(t, db.WithContext(ctx).Create(&n).Error)
	captures := db.plugin.Status().Captures
	require.Eventually(t, func() bool { return db.plugin.Status().Captures >= captures+2 }, 30*time.Second, time.Millisecond,
		"one that began after the write, and was answered with what is out of date")
	require.NoError(t, undo())
	require.Eventually(t, func() bool {
		var found int64
		tx := db.WithContext(ctx).Model(&note{}).Where("id = ?", n.ID).Count(&found)
		require.NoError(t, tx.Error)
		d, _ := readsplit.DecisionOf(tx)
		require.EqualValues(t, 1, found, "%v", d)
		return d.Reason == policy.ReasonBehindSession
	}, 30*time.Second, time.Millisecond, "the window to be over")
}

// One name for several secondaries: the window alone, whether that was said or not.
func TestListener(t *testing.T) {
	for what, said := range map[string]bool{"said": true, "found out": false} {
		t.Run(what, func(t *testing.T) {
			c := tdsenv.Start(t, tdsenv.Config{})
			db := split(t, c, func(cfg *readsplit.Config) {
				cfg.Replicas = []readsplit.Replica{{
					Name: "secondaries", Dialector: sqlserver.Open(c.Listener().ReadOnlyDSN()), Balanced: said, StatedLag: 100 * time.Millisecond,
				}}
				cfg.MaxSampleAge, cfg.StickyWindow = 500*time.Millisecond, window
			})
			ctx := session(t)
			until(t, ctx, db.DB, policy.ReasonStatedLag)
			began := time.Now()
			require.NoError(t, db.WithContext(ctx).Create(&note{Text: "mine"}).Error)
			sticks(t, ctx, db.DB, began)
			until(t, ctx, db.DB, policy.ReasonStatedLag)
			require.True(t, db.plugin.Status().Replicas[0].NoPosition)
			require.Equal(t, "its name leads to several servers", db.plugin.Status().Replicas[0].NoPositionWhy)
			require.False(t, db.plugin.Status().Replicas[0].Balanced)
		})
	}
}

// What the driver would take for no intent, without a word, is an error at the start.
func TestIntent(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
	open := func(primary, replica string) error {
		db, err := gorm.Open(sqlserver.New(sqlserver.Config{Conn: pool(t, primary)}), &gorm.Config{Logger: logger.Discard})
		require.NoError(t, err)
		return db.Use(readsplit.New(readsplit.Config{Replicas: []readsplit.Replica{{Name: "SQL2", Dialector: sqlserver.Open(replica)}}}))
	}
	for _, intent := range []string{"readonly", "READONLY", "Readonly"} {
		err := open(c.Primary().DSN(), c.Replica(0).DSN()+"&ApplicationIntent="+intent)
		require.ErrorContains(t, err, `ApplicationIntent is "`+intent+`"`)
		require.ErrorContains(t, err, "SQL2")
		require.NotContains(t, err.Error(), c.Password())
	}
	require.ErrorContains(t, open(c.Primary().DSN(), c.Replica(0).DSN()), "add ApplicationIntent=ReadOnly")
	require.ErrorContains(t, open(c.Primary().DSN(), c.Replica(0).ReadOnlyDSNFor("")), "names no database")
}

// A secondary that freezes costs nobody an error.
func TestReplicaFrozen(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
	db := split(t, c, func(cfg *readsplit.Config) { cfg.SampleTimeout = 500 * time.Millisecond })
	ctx := session(t)
	until(t, ctx, db.DB, policy.ReasonCaughtUp)
	undo, err := c.Replica(0).Freeze(limit(t))
	require.NoError(t, err)
	for range 20 {
		server, _ := readBy(t, ctx, db.DB)
		require.Equal(t, c.Primary().Name(), server)
	}
	require.NoError(t, undo())
	require.Equal(t, c.Replica(0).Name(), until(t, ctx, db.DB, policy.ReasonCaughtUp))
}
