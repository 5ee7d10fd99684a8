package readsplit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// cascaded opens the plugin over a primary, replica1 that receives from it and replica2
// that receives from replica1, as a user of the database.
func cascaded(t *testing.T, c *testenv.Cluster, user string, change func(*readsplit.Config)) *testDB {
	t.Helper()
	dsn := func(s *testenv.Server) string {
		if user == "" {
			return s.DSN()
		}
		before, after, _ := strings.Cut(s.DSN(), "user=postgres password="+password(s.DSN()))
		return before + "user=" + user + " password=" + user + after
	}
	cfg := readsplit.Config{MaxLag: time.Hour, StickyWindow: 2 * time.Hour}
	calmly(&cfg)
	cfg.StickyWindow, cfg.ForbidNudge = 0, false
	for _, s := range c.Replicas() {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: s.Name(), Dialector: postgres.Open(dsn(s)), Groups: []string{s.Name()}})
	}
	change(&cfg)
	d := &testDB{cluster: c, log: &logRecorder{}}
	var err error
	d.DB, err = gorm.Open(postgres.Open(dsn(c.Primary())), &gorm.Config{Logger: d.log})
	require.NoError(t, err)
	pool, err := d.DB.DB()
	require.NoError(t, err)
	d.plugin = readsplit.New(cfg)
	require.NoError(t, d.Use(d.plugin))
	t.Cleanup(func() {
		require.NoError(t, d.plugin.Close(context.Background()))
		require.NoError(t, pool.Close())
	})
	eventually(t, "both to be proven", func() bool {
		for _, r := range d.plugin.Status().Replicas {
			if r.Position.Zero() {
				return false
			}
		}
		return true
	})
	return d
}

// on returns who serves a read that is meant for one replica, and the newest row that it
// sees.
func on(ctx context.Context, t testing.TB, db *gorm.DB, replica string) (server string, n int) {
	t.Helper()
	var row struct {
		Server string
		N      int
	}
	require.NoError(t, db.WithContext(readsplit.Group(ctx, replica)).Raw("SELECT current_setting('cluster_name') AS server, max(n) AS n FROM steps").Scan(&row).Error)
	return row.Server, row.N
}

// A standby of a standby is a replica like any other: its position is compared with the
// primary's, whoever it came through.
func TestCascadingReplicas(t *testing.T) {
	c := testenv.Start(t)
	_, err := c.Cascade(limit(t))
	require.NoError(t, err)
	execOn(t, c.Primary(), "CREATE TABLE steps (n int); INSERT INTO steps VALUES (0); CREATE ROLE app LOGIN PASSWORD 'app'; GRANT ALL ON steps TO app")
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	assert.EqualValues(t, "replica2", ask[string](t, c.Replica(0), "SELECT application_name FROM pg_stat_replication"), "it is a cascade")
	step := func(db *gorm.DB, ctx context.Context, n int) {
		require.NoError(t, db.WithContext(ctx).Exec("INSERT INTO steps VALUES (?)", n).Error)
	}

	t.Run("own writes", func(t *testing.T) {
		d := cascaded(t, c, "", func(cfg *readsplit.Config) { cfg.MaxWait = 5 * time.Second })
		for n := 1; n <= 20; n++ {
			ctx := nobody()
			step(d.DB, ctx, n)
			server, saw := on(ctx, t, d.DB, "replica2")
			require.Equal(t, n, saw)
			if n > 1 {
				continue
			}
			require.NoError(t, c.WaitCaughtUp(limit(t)))
			eventually(t, "the second one to serve who wrote", func() bool { server, saw = on(ctx, t, d.DB, "replica2"); return server == "replica2" })
			require.Equal(t, n, saw)
		}
	})

	t.Run("the upstream stands still", func(t *testing.T) {
		// What has come to the first one goes on to the second, replayed or not.
		d := cascaded(t, c, "", func(*readsplit.Config) {})
		undo := injected(t)(c.Replica(0).PauseReplay(limit(t)))
		ctx := nobody()
		step(d.DB, ctx, 100)
		eventually(t, "the second one to have it", func() bool { server, _ := on(ctx, t, d.DB, "replica2"); return server == "replica2" })
		_, n := on(ctx, t, d.DB, "replica2")
		assert.Equal(t, 100, n)
		server, n := on(ctx, t, d.DB, "replica1")
		assert.Equal(t, "primary", server)
		assert.Equal(t, 100, n)
		undone(t, undo)
	})

	t.Run("cut off in the middle", func(t *testing.T) {
		d := cascaded(t, c, "", func(cfg *readsplit.Config) { cfg.MaxLag = 2 * time.Second })
		undo := injected(t)(c.Replica(0).Cut(limit(t)))
		step(d.DB, nobody(), 200)
		for _, r := range []string{"replica1", "replica2"} {
			eventually(t, r+" to be out of bounds", func() bool { server, _ := on(nobody(), t, d.DB, r); return server == "primary" })
			_, n := on(nobody(), t, d.DB, r)
			assert.Equal(t, 200, n)
		}
		lags := d.plugin.Status().Replicas
		assert.True(t, lags[0].Up && lags[1].Up)
		undone(t, undo)
		for _, r := range []string{"replica1", "replica2"} {
			eventually(t, r+" to be back", func() bool { server, n := on(nobody(), t, d.DB, r); return server == r && n == 200 })
		}
	})

	t.Run("the upstream restarts", func(t *testing.T) {
		d := cascaded(t, c, "", func(*readsplit.Config) {})
		undo := injected(t)(c.Replica(0).Kill(limit(t)))
		ctx := nobody()
		step(d.DB, ctx, 300)
		server, n := on(ctx, t, d.DB, "replica2")
		assert.Equal(t, 300, n, "%s", server)
		eventually(t, "the second one to serve others alone", func() bool { server, _ := on(nobody(), t, d.DB, "replica2"); return server == "replica2" })
		undone(t, undo)
		eventually(t, "it to have what was written meanwhile", func() bool {
			server, n := on(ctx, t, d.DB, "replica2")
			require.Equal(t, 300, n)
			return server == "replica2"
		})
	})

	t.Run("the one in the middle is promoted", func(t *testing.T) {
		d := cascaded(t, c, "", func(*readsplit.Config) {})
		ordinary := cascaded(t, c, "app", func(*readsplit.Config) {})
		both := map[string]*testDB{"a role that sees receivers": d, "an ordinary role": ordinary}
		_ = injected(t)(c.Replica(0).Promote(limit(t)))
		// The second one goes to the new timeline, and shows what was never true here, at
		// positions that the primary has passed.
		execOn(t, c.Primary(), "SELECT pg_logical_emit_message(true, 'other', repeat('x', 1000000))")
		for _, d := range both {
			eventually(t, "the promoted one to be seen", func() bool { return d.plugin.Status().Replicas[0].Role == policy.RolePrimary })
		}
		execOn(t, c.Replica(0), "INSERT INTO steps VALUES (1000)")
		eventually(t, "the second one to follow", func() bool { return ask[int](t, c.Replica(1), "SELECT max(n) FROM steps") == 1000 })
		for _, d := range both {
			eventually(t, "a sample from after that", func() bool { return d.plugin.Status().Replicas[1].Position.Zero() })
		}
		for who, d := range both {
			for range 50 {
				for _, r := range []string{"replica1", "replica2"} {
					server, n := on(nobody(), t, d.DB, r)
					require.Equal(t, []any{"primary", 300}, []any{server, n}, "%s, %s", who, r)
				}
			}
			// And whoever writes on.
			ctx := nobody()
			step(d.DB, ctx, 300)
			server, _ := on(ctx, t, d.DB, "replica2")
			require.Equal(t, "primary", server, who)
			st := d.plugin.Status().Replicas
			assert.Equal(t, policy.RolePrimary, st[0].Role, who)
			assert.True(t, st[1].Position.Zero(), who)
		}
	})
}
